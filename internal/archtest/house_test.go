package archtest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// repository is read once; it takes a moment and nothing changes it.
var repository = sync.OnceValues(func() (*tree, error) { return open(context.Background(), "../..") })

func TestHouse(t *testing.T) {
	t.Parallel()
	repo, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules(house(), libraries(), granted()) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if found := r.check(repo); len(found) > 0 {
				t.Errorf("%s\n\nWhy: %s.", strings.Join(found, "\n"), r.why)
			}
		})
	}
}

// The linter's configuration repeats the homes of the libraries.
func TestLinterKnowsTheHomes(t *testing.T) {
	t.Parallel()
	config, err := os.ReadFile("../../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range unlinted(libraries(), string(config)) {
		t.Error(f)
	}
	if len(unlinted(libraries(), "")) == 0 {
		t.Error("an empty configuration passes, so this test cannot fail")
	}
}

// A package that the go command builds and this test does not see would follow no rule.
func TestNoPackageIsMissed(t *testing.T) {
	t.Parallel()
	repo, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-e", "./...")
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	for imp := range strings.FieldsSeq(string(out)) {
		rel, ours := repo.local(imp)
		if !ours || !slices.ContainsFunc(repo.packages, func(p *pkg) bool { return p.path == rel }) {
			t.Errorf("%s is built but was not read", imp)
		}
	}
}

func TestWalkWithoutGit(t *testing.T) {
	t.Parallel()
	paths, err := walked(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"go.mod", "session.go", "internal/archtest/floors.go"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s was not found", want)
		}
	}
	if slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, ".git/") }) {
		t.Error("the walk went into .git")
	}
	if _, err := load(os.DirFS(t.TempDir()), nil); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder without a module was accepted: %v", err)
	}
}

// What a package leaves out with -short, as the run with the race detector does, has to run in the other one.
func TestShortRunsWhole(t *testing.T) {
	t.Parallel()
	repo, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, whole, _ := strings.Cut(strings.ReplaceAll(string(makefile), "\\\n", ""), "\nWHOLE ")
	whole, _, _ = strings.Cut(whole, "\n")
	seen := 0
	for _, p := range repo.packages {
		for _, f := range p.files {
			if !f.test || !bytes.Contains(f.data, []byte("testing.Short()")) || p.path == "internal/archtest" {
				continue
			}
			seen++
			if !slices.Contains(strings.Fields(whole), "./"+p.path) {
				t.Errorf("%s leaves something out with -short, and make test runs %s only so: add it to WHOLE in the "+
					"Makefile", f.path, p.path)
			}
		}
	}
	if seen < 5 {
		t.Errorf("only %d files with -short were found, so this test cannot fail", seen)
	}
}
