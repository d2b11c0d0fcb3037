package worktree

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLocksOfTheKilled: what git has locked in an agent's repository when its process was killed is free for the next
// one, and what is locked since stays.
func TestLocksOfTheKilled(t *testing.T) {
	b := newBench(t)
	ws := b.plan("locked")
	b.open(ws)
	put(t, filepath.Join(ws.Top, "mine.txt"), "line of the agent\n")
	b.git(ws.Top, "add", "-A")
	since := time.Now()
	for _, name := range []string{"index.lock", "HEAD.lock", "refs/heads/troupe/locked.lock"} {
		put(t, filepath.Join(ws.Top, ".git", name), "")
		if err := os.Chtimes(filepath.Join(ws.Top, ".git", name), since, since.Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	fresh := filepath.Join(ws.Top, ".git/refs/heads/other.lock")
	put(t, fresh, "")
	if err := os.Chtimes(fresh, since, since.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(b.home, "outside.lock")
	put(t, outside, "")
	if err := os.Symlink(outside, filepath.Join(ws.Top, ".git/link.lock")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.k.Open(t.Context(), ws, Making{Since: since}); err != nil {
		t.Fatal(err)
	}
	if !there(fresh) || !there(outside) {
		t.Error("a lock that is none of a killed process has gone")
	}
	b.git(ws.Top, "commit", "-qm", "one")
	if got := get(filepath.Join(ws.Top, "mine.txt")); got != "line of the agent\n" {
		t.Errorf("the agent's file: %s", got)
	}
}
