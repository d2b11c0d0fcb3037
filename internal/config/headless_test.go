package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestGitWithoutHead: a .git that git itself would not take for one keeps its hooks; a folder
// without any is free to become a repository.
func TestGitWithoutHead(t *testing.T) {
	t.Parallel()
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	hooks := filepath.Join(project, ".git", "hooks")
	if slices.Contains(Protect([]string{project}, Dirs{}, nil).Paths(), hooks) {
		t.Error("a folder without a repository cannot become one")
	}
	if err := os.MkdirAll(hooks, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{hooks, filepath.Join(project, ".git", "config")} {
		if !slices.Contains(Protect([]string{project}, Dirs{}, nil).Paths(), name) {
			t.Errorf("%s is open", name)
		}
	}
}
