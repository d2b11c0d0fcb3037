package git_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	g := script(t, "for i in 1 2 3 4 5 6 7 8 9; do l=$(sh -c 'ulimit -d'); [ $l = unlimited ] || break; sleep 1; done\n"+
		"echo $l\n")
	g.Memory = 1 << 30
	var out git.Capped
	if err := g.Stream(t.Context(), &out, "x"); err != nil || out.String() != "1048576\n" {
		t.Errorf("it may keep %q KB, %v", out.String(), err)
	}
}

// TestEndsTogether: with a git that is stopped ends what it has started.
func TestEndsTogether(t *testing.T) {
	t.Parallel()
	g := script(t, "sleep 60 & echo $! > child.new; mv child.new child; wait\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	child := 0
	go func() {
		defer cancel()
		for child == 0 && ctx.Err() == nil {
			text, _ := os.ReadFile(filepath.Join(g.Dir, "child"))
			child, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			time.Sleep(10 * time.Millisecond)
		}
	}()
	var out git.Capped
	if err := g.Stream(ctx, &out, "x"); err == nil {
		t.Fatal("it was not stopped")
	}
	if child == 0 {
		t.Fatal("it has started nothing")
	}
	for range 200 { // whoever is its parent by now may be slow to bury it
		state, err := os.ReadFile("/proc/" + strconv.Itoa(child) + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = syscall.Kill(child, syscall.SIGKILL)
	t.Error("what it has started is still there")
}
