package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	ended := errors.New("exit status 2")
	for out, want := range map[string]string{
		"--- FAIL: TestB (1s)\n    --- FAIL: TestB/x (0s)\n--- FAIL: TestA (0s)\nFAIL\tp\n": "FAILED TestA, TestB/x",
		"panic: test timed out\nFAIL\tp/q\t900s\nok  \tr\t1s\n":                             "FAILED p/q",
		"make: it went wrong\n": "exit status 2: make: it went wrong",
		"":                      "exit status 2: ",
	} {
		if got := verdict([]byte(out), ended); got != want {
			t.Errorf("%q is %q, want %q", out, got, want)
		}
	}
}

// TestSoak: each run has its line, green or not, and what a run with failures printed is kept.
func TestSoak(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "deep", "soak.txt")
	failed, err := soak(t.Context(), 2, file, []string{"sh", "-c", "mkdir " + dir + "/first && exit; " +
		"echo '--- FAIL: TestX (0s)'; exit 1"})
	if err != nil || failed != 1 {
		t.Fatal(failed, err)
	}
	data, err := os.ReadFile(file)
	text := string(data)
	if err != nil || !strings.Contains(text, " s: green\n") ||
		!strings.Contains(text, " s: FAILED TestX; see ") ||
		!strings.HasSuffix(text, "1 of 2 runs were green.\n") {
		t.Errorf("%s %v", text, err)
	}
	if kept, err := os.ReadFile(file + ".2"); err != nil || !strings.Contains(string(kept), "TestX") {
		t.Error(string(kept), err)
	}
}
