package git_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// script is a git that does what a shell does.
func script(t *testing.T, text string) git.Runner {
	t.Helper()
	path := filepath.Join(t.TempDir(), "git")
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return git.Runner{Path: path, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}}
}

// TestMemory: a git, and what it starts, may keep no more in memory than was said.
func TestMemory(t *testing.T) {
	t.Parallel()
	g := script(t, "for i in 1 2 3 4 5 6 7 8 9; do\nl=$(sh -c 'ulimit -d')\n[ $l = unlimited ] || break\nsleep 1\n"+
		"done\necho $l\n")
	g.Memory = 1 << 30
	var out git.Capped
	if err := g.Stream(t.Context(), &out, "x"); err != nil || out.String() != "1048576\n" {
		t.Errorf("it may keep %q KB, %v", out.String(), err)
	}
}

// TestEndsTogether: with a git that is stopped ends what it has started.
func TestEndsTogether(t *testing.T) {
	t.Parallel()
	g := script(t, "sleep 30 & echo up >&3; wait\n")
	r, w, err := os.Pipe() // whoever is alive has it open
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(git.Keeping(t.Context(), w))
	up := make([]byte, 3)
	go func() {
		defer cancel()
		_, _ = io.ReadFull(r, up)
	}()
	if err := g.Stream(ctx, io.Discard, "x"); err == nil || string(up) != "up\n" {
		t.Fatalf("it was not stopped: %v, it said %q", err, up)
	}
	if err := errors.Join(w.Close(), r.SetReadDeadline(time.Now().Add(10*time.Second))); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(up); !errors.Is(err, io.EOF) {
		t.Errorf("what it has started is still there: %v", err)
	}
}
