package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestDemoServer: the demo shows what it says, in less than a minute, and leaves nothing behind.
func TestDemoServer(t *testing.T) { //nolint:paralleltest // it looks at what is in the temporary folder
	binary := os.Getenv("TROUPE_E2E_BINARY")
	if binary == "" {
		t.Skip("no TROUPE_E2E_BINARY, which `make test` sets: the demo of a server was not run")
	}
	temp := t.TempDir()
	if err := os.Chmod(filepath.Dir(temp), 0o755); err != nil { //nolint:gosec // PostgreSQL runs as another user
		t.Fatal(err)
	}
	if err := os.Chmod(temp, 0o755); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	var out strings.Builder
	from := time.Now()
	err := show(t.Context(), binary, &out)
	if err != nil && strings.Contains(err.Error(), "PostgreSQL is not installed here") {
		t.Skip("no PostgreSQL: the demo of a server was not run")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, line := range []string{`Worker 2 is ready: process \d+`,
		`Worker [12] has the whole tree, and dies now: kill -9 \d+`,
		`\d\.\d s later worker [12] \(process \d+\) has it`, `The garden and the roof are done\.`,
		`house/garden .* completed`, `house/roof .* completed`, `when the worker died: [12]\.`} {
		if !regexp.MustCompile(line).MatchString(out.String()) {
			t.Errorf("it does not say %s:\n%s", line, out.String())
		}
	}
	if took := time.Since(from); took > time.Minute {
		t.Logf("it took %v", took) // on a machine with much else to do
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}
