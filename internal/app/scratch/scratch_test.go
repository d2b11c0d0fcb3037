package scratch

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("TROUPE_SCRATCH_CHILD") != "" {
		f, err := Make("")
		if err != nil {
			panic(err)
		}
		fmt.Println(f.Path)
		select {}
	}
	os.Exit(m.Run())
}

// TestSweep: the folder of a killed process goes, that of a living one and what is not ours stay.
func TestSweep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	foreign := filepath.Join(os.TempDir(), "troupe-1000")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	living, err := Make("replay-")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := Make("demo-")
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Keep(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "TROUPE_SCRATCH_CHILD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := bufio.NewScanner(out)
	line.Scan()
	dead := line.Text()
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	Sweep()
	if dead == "" || !there(dead) {
		t.Errorf("the folder %q of a living process was removed", dead)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	Sweep()
	for path, want := range map[string]bool{dead: false, living.Path: true, kept.Path: true, foreign: true} {
		if there(path) != want {
			t.Errorf("%s is there: %v", path, !want)
		}
	}
	if err := living.Remove(); err != nil || there(living.Path) {
		t.Error(err)
	}
}

// TestOthers: other folders are those of this user that were made for no purpose in particular.
func TestOthers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	own, err := Make("")
	if err != nil {
		t.Fatal(err)
	}
	other, err := Make("")
	if err != nil {
		t.Fatal(err)
	}
	replay, err := Make("replay-")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(own.Path)
	theirs, file := filepath.Join(dir, prefix+"1"), filepath.Join(dir, prefix+"2")
	if err := os.Mkdir(theirs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{other.Path, theirs}
	if os.Geteuid() == 0 {
		want = want[:1]
		if err := os.Chown(theirs, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Log("NOT tested: that folders of other users are left out takes root, who can give one away")
	}
	got := Others(own.Path)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the others are %q, want %q", got, want)
	}
	for _, f := range []*Folder{own, other, replay} {
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	}
}
