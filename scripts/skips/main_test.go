package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRead: failing tests and packages are shown, passing ones are not, each skip has its reason,
// and slow ones are named.
func TestRead(t *testing.T) {
	t.Parallel()
	var in strings.Builder
	for _, e := range []event{
		{"output", "p", "TestA", "=== RUN   TestA\n", 0}, {"output", "p", "TestA", "    a_test.go:1: quiet\n", 0},
		{"pass", "p", "TestA", "", 12},
		{"output", "p", "TestB", "    b_test.go:2: only root can\n", 0},
		{"output", "p", "TestB", "--- SKIP: TestB\n", 0},
		{"skip", "p", "TestB", "", 0},
		{"output", "p", "TestC", "    c_test.go:3: NOT tested: without rg\n", 0}, {"pass", "p", "TestC", "", 0},
		{"skip", "p", "TestD", "", 0},
		{"output", "p", "TestG", "    g_test.go:5: without -short it runs\n", 0}, {"skip", "p", "TestG", "", 0},
		{"output", "p", "TestE", "    e_test.go:4: wrong\n", 0}, {"fail", "p", "TestE", "", 0},
		{"output", "p", "TestF", "panic: oh\n", 0}, {"output", "p", "", "FAIL\tp\t1s\n", 0}, {"fail", "p", "", "", 40},
		{"output", "q", "", "PASS\n", 0}, {"output", "q", "", "ok  \tq\t1s\n", 0}, {"pass", "q", "", "", 0},
		{"skip", "r", "", "", 0}, // it has no tests
	} {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	in.WriteString("no JSON\n")
	var out strings.Builder
	skipped, err := read(strings.NewReader(in.String()), &out)
	want := []string{"only root can\tp TestB", "NOT tested: without rg\tp TestC", "no reason is given\tp TestD"}
	if err != nil || !slices.Equal(skipped, want) {
		t.Errorf("skipped %q, %v", skipped, err)
	}
	if got, want := out.String(), "    e_test.go:4: wrong\nFAIL\tp\t1s\npanic: oh\nok  \tq\t1s\nno "+
		"JSON\nTook longest:\n    12 s  p TestA\n"; got != want {
		t.Errorf("it prints %q, want %q", got, want)
	}
	file := filepath.Join(t.TempDir(), "skips")
	if err := os.WriteFile(file, []byte(strings.Join(append(want, "only root can\tq TestX", ""), "\n")),
		0o600); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := tell(&out, file); err != nil || !strings.Contains(out.String(),
		"  only root can (p TestB, and 1 more)\n") {
		t.Errorf("it tells %q, %v", out.String(), err)
	}
}
