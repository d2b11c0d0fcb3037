package config

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestKeep(t *testing.T) {
	t.Parallel()
	d := Dirs{Config: t.TempDir()}
	file := d.Kept("/src/.odd name")
	if other := d.Kept("/elsewhere/.odd name"); other == file || filepath.Dir(other) != filepath.Dir(file) {
		t.Errorf("two folders share %s", file)
	}
	if rules, err := KeptRules(file); err != nil || len(rules) != 0 {
		t.Errorf("no file: %v, %v", rules, err)
	}
	for _, rule := range []string{"Bash(go test ./... && echo '<ok>')", "Edit(//src/x)",
		"Bash(go test ./... && echo '<ok>')"} {
		if err := Keep(file, "/src/.odd name", rule); err != nil {
			t.Fatal(err)
		}
	}
	rules, err := KeptRules(file)
	if err != nil || len(rules) != 2 || rules[0] != (troupe.Rule{Effect: troupe.Allow,
		Text: "Bash(go test ./... && echo '<ok>')", Source: file}) {
		t.Errorf("%+v, %v", rules, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: others may read or write it", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".new-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if err := os.WriteFile(file, []byte(`{"folder":"/x","deny":["Bash"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	// A file that says more than can be followed is not half followed, nor written over.
	if rules, err := KeptRules(file); err == nil || len(rules) != 0 {
		t.Errorf("%v, %v", rules, err)
	}
	if err := Keep(file, "/x", "Edit"); err == nil {
		t.Error("a file that cannot be read was written over")
	}
}

// TestKeepTogether: of rules that are kept at the same moment none is lost.
func TestKeepTogether(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "folders", "x.json")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := Keep(file, "/src", fmt.Sprintf("Bash(make %d)", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if rules, err := KeptRules(file); err != nil || len(rules) != 20 {
		t.Errorf("%d of 20 rules are kept, %v", len(rules), err)
	}
}
