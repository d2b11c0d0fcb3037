package cmd

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/cli/console"
)

// TestDocsAreNamed: what the program says names documents by the command that prints them, each of which there is, and
// no path that only this repository has.
func TestDocsAreNamed(t *testing.T) {
	t.Parallel()
	all, err := documents()
	if err != nil || len(all) < 10 {
		t.Fatal(all, err)
	}
	there := map[string]bool{}
	for _, d := range all {
		there[d.Name] = true
		if d.Title == "" {
			t.Errorf("%s has no title", d.Name)
		}
	}
	path, command := regexp.MustCompile(`docs/[a-z-]+\.md`), regexp.MustCompile("troupe docs ([a-z-]+)")
	found := 0
	err = filepath.WalkDir("../../..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "archtest" || d.Name() == "scripts" || d.Name() == "testdata" ||
			strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(name)
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue // for those who have the repository
			}
			if p := path.FindString(line); p != "" {
				t.Errorf("%s names %s: %s", name, p, line)
			}
			for _, m := range command.FindAllStringSubmatch(line, -1) {
				if found++; !there[m[1]] {
					t.Errorf("%s names the document %s: %s", name, m[1], line)
				}
			}
		}
		return err
	})
	if err != nil || found < 10 {
		t.Errorf("%d are named, %v", found, err)
	}
}

// TestDocs: a document is found by its name, and by the path that it has in the repository; another is a mistake in
// the use that names what there is.
func TestDocs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"hooks", "docs/hooks.md", "Hooks"} {
		var out bytes.Buffer
		cmd := newDocs(&console.Console{Out: &out})
		if cmd.SetArgs([]string{name}); cmd.Execute() != nil || !strings.HasPrefix(out.String(), "# Hooks\n") {
			t.Errorf("%s: %.40q", name, out.String())
		}
	}
	var out bytes.Buffer
	all, err := documents()
	if err != nil {
		t.Fatal(err)
	}
	if err := printDocument(&console.Console{Out: &out}, all, "hoks"); err == nil ||
		!strings.Contains(err.Error(), `"hoks"`) {
		t.Errorf("hoks: %v", err)
	}
}
