package git_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe/internal/workspace/git"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(frozen); path != "" {
		var out git.Capped
		g := git.Runner{Path: path, Dir: filepath.Dir(path), Env: os.Environ()}
		err := g.Stream(context.Background(), &out, "status")
		fmt.Print(out.String(), err)
		return
	}
	goleak.VerifyTestMain(m)
}

// frozen names the git that a process runs which that git has stand still.
const frozen = "TROUPE_TEST_FROZEN_GIT"

// TestFrozen: the time that a process stood still, as one that was stopped or whose machine slept, is not time that it
// had to read what git wrote.
func TestFrozen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "git")
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte("#!/bin/sh\n"+
		"(sleep 0.3; kill -STOP $PPID; sleep 2.5; kill -CONT $PPID; echo late) &\n"), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), frozen+"="+path)
	if out, err := cmd.Output(); err != nil || string(out) != "late\n<nil>" {
		t.Errorf("%q, %v", out, err)
	}
}

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

// A git that another program starts gets and gives what one does that runs by itself: its input, what it prints and
// what it complains of, its exit code, and the last value of each name. Both keep the file open that they are to.
func TestStartedIsTheSame(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "git")
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte("#!/bin/sh\ncat; echo $A $B; echo kept >&3; echo fatal: no >&2; exit 3\n"), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	held, err := os.Create(filepath.Join(t.TempDir(), "held"))
	if err != nil {
		t.Fatal(err)
	}
	ended := 0
	start := func(bin string, argv []string, attr *os.ProcAttr) (*os.Process, func(), error) {
		p, err := os.StartProcess(bin, argv, attr)
		return p, func() { ended++ }, err
	}
	for _, start := range []git.Start{nil, start} {
		g := git.Runner{Path: path, Dir: t.TempDir(), Env: append(os.Environ(), "A=1", "B=2", "A=3"),
			In: strings.NewReader("in\n"), Start: start}
		var out git.Capped
		err := g.Stream(git.Keeping(t.Context(), held), &out, "x")
		e, ok := errors.AsType[*git.Error](err)
		if out.String() != "in\n3 2\n" || !ok || e.Code != 3 || e.Text != "fatal: no" {
			t.Errorf("%v: printed %q, %v", start != nil, out.String(), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.Stream(ctx, &out, "x"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %v of one that was stopped", start != nil, err)
		}
		g.Dir = filepath.Join(g.Dir, "moved")
		err = g.Stream(t.Context(), &out, "x")
		if !errors.Is(err, fs.ErrNotExist) || err.Error() != "the folder "+g.Dir+" is not there any more" {
			t.Errorf("%v: %v where the folder is gone", start != nil, err)
		}
		g.Dir, g.Path = t.TempDir(), g.Dir
		err = g.Stream(t.Context(), &out, "x")
		if !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "folder") {
			t.Errorf("%v: %v where git is gone", start != nil, err)
		}
	}
	if said, err := os.ReadFile(held.Name()); string(said) != "kept\nkept\n" || held.Close() != nil {
		t.Errorf("what was written to the kept file: %q, %v", said, err)
	}
	if ended != 1 {
		t.Errorf("ended %d times", ended)
	}
}
