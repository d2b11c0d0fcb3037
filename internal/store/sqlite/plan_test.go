package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoBareLimit: SQLite looks at the value of a bare LIMIT ? when it plans, and compiles the statement anew
// whenever another one is bound. That cost reading a log more than the reading itself; see limit.
func TestNoBareLimit(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, "LIMIT ?") && !strings.Contains(line, "LIMIT ? + 0") &&
				!strings.Contains(line, "//") && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s:%d: %s", name, i+1, strings.TrimSpace(line))
			}
		}
	}
}
