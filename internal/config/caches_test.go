package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFirstBuild: a project's first build finds a place for its cache; a cache that nothing
// here is built with is not made.
func TestFirstBuild(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(home, "src")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	caches := func() []Cache {
		all, _, err := Read(Places{Dirs: Dirs{Home: "/nowhere"}, Folder: project})
		if err != nil {
			t.Fatal(err)
		}
		return all.Caches([]string{"HOME=" + home}, "linux")
	}
	if got := caches(); len(got) != 0 {
		t.Errorf("nothing is built here, and there is %+v", got)
	}
	if err := os.WriteFile(filepath.Join(project, "go.mod"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := []Cache{
		{Name: "go", Folder: filepath.Join(home, ".cache", "go-build"), Missing: true},
		{Name: "go", Folder: filepath.Join(home, "go", "pkg", "mod"), Fetched: true, Missing: true},
	}
	for i := range want {
		want[i].Named = want[i].Folder
	}
	if got := caches(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if err := os.MkdirAll(want[0].Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := caches(); len(got) != 2 || got[0].Missing {
		t.Errorf("%+v", got)
	}
}
