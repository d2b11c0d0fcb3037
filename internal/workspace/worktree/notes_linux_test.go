package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNotesOfOurRefs: git appends to a note of a ref that is there already; one that is another file as well gets
// nothing.
func TestNotesOfOurRefs(t *testing.T) {
	for _, name := range []string{"refs/heads/troupe/fix", "refs/troupe/OWNER/tip"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			b := newBench(t)
			ws := b.made("fix")
			put(t, filepath.Join(ws.Top, "f1"), "L-1\n")
			outside := filepath.Join(b.home, "rc")
			put(t, outside, "mine\n")
			at := filepath.Join(b.dir, ".git/logs", strings.ReplaceAll(name, "OWNER", string(ws.Owner)))
			if name == "refs/heads/troupe/fix" {
				at = filepath.Join(b.dir, ".git/logs/refs/heads", ws.Branch)
			}
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(outside, at); err != nil {
				t.Fatal(err)
			}
			res, err := b.k.Close(t.Context(), ws, Ending{Message: "what it did"})
			if got := get(outside); got != "mine\n" {
				t.Errorf("written: %q", got)
			}
			if err != nil && !there(filepath.Join(ws.Top, "f1")) {
				t.Errorf("the work is gone: %+v, %v", res, err)
			}
		})
	}
}

// TestPipeWhileItIsWritten: a pipe that is put among the refs after the look is refused at the write.
func TestPipeWhileItIsWritten(t *testing.T) {
	b := newBench(t)
	ws := b.made("fix")
	c, err := b.k.callerOf(t.Context(), ws.Of)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(b.dir, ".git/refs/heads/f"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = c.update(t.Context(), []string{"update refs/troupe/x/y\x00" + c.head + "\x00\x00"})
	if err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := b.k.List(ctx, b.dir, Listing{}); err != nil {
		t.Error(err)
	}
}
