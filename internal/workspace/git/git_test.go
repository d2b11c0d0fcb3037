package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe/internal/workspace/git"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What git wrote counts, however late it is read: a busy machine is played by a process that git
// leaves behind, which writes when git has ended.
func TestOutputIsReadLate(t *testing.T) {
	t.Parallel()
	late := filepath.Join(t.TempDir(), "git")
	// A process that another test forks meanwhile would have it open for writing, and it could not be started.
	syscall.ForkLock.RLock()
	err := os.WriteFile(late, []byte("#!/bin/sh\n(sleep 0.5; echo late) &\n"), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	g := git.Runner{Path: late, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}}
	var out git.Capped
	if err := g.Stream(t.Context(), &out, "status"); err != nil || out.String() != "late\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestRelativePathsAreLeftOut(t *testing.T) {
	t.Parallel()
	if got := git.Environ([]string{"PATH=:.:/usr/bin:rel/bin::/bin:"}); !slices.Contains(got, "PATH=/usr/bin:/bin") {
		t.Errorf("%q", got)
	}
}
