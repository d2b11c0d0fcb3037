package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func (b *bench) onto(ws troupe.Workspace, branch string) (int, *Conflict, error) {
	b.t.Helper()
	n, _, conflict, err := b.k.Onto(b.t.Context(), ws, branch)
	return n, conflict, err
}

// TestOntoLacks: what a branch cannot have of an agent's work is named, and counts as nowhere else until the caller's
// files show it.
func TestOntoLacks(t *testing.T) {
	b := newBench(t)
	b.write("notes.txt", "not committed\n")
	b.write("a.txt", "one\ntwo\nthree\nfour\n")
	ws := b.made("tidies")
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	if err := os.Remove(filepath.Join(ws.Top, "notes.txt")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(ws.Top, "a.txt"), "one\ntwo\nthree\n")
	b.close(ws)
	n, dropped, conflict, err := b.k.Onto(t.Context(), ws, "release")
	if n != 1 || conflict != nil || err != nil || strings.Join(dropped, " ") != "a.txt notes.txt" {
		t.Fatalf("%d %v %v %v", n, dropped, conflict, err)
	}
	if rows, err := b.k.List(t.Context(), b.dir, Listing{}); err != nil || len(rows) != 1 || !rows[0].Unmerged {
		t.Errorf("it counts as merged: %+v %v", rows, err)
	}
	b.git(b.dir, "merge", "-q", "release")
	if m := b.brought(ws); len(m.Changes) != 2 || !m.Changes[0].Uncommitted || m.Changes[1].Uncommitted ||
		there(filepath.Join(b.dir, "notes.txt")) {
		t.Errorf("%+v", m)
	}
	if rows, err := b.k.List(t.Context(), b.dir, Listing{}); err != nil || rows[0].Unmerged {
		t.Errorf("%+v %v", rows, err)
	}
}

func TestOnto(t *testing.T) {
	b := newBench(t)
	b.git(b.dir, "branch", "other")
	b.write("dirty.txt", "not committed\n")
	b.write("a.txt", "one\ntwo\nthree\nfour\n")
	ws := b.made("commits")
	put(t, filepath.Join(ws.Top, "a.txt"), "1\ntwo\nthree\nfour\n")
	b.git(ws.Top, "commit", "-qam", "say 1\n\nwith a body", "--author", "Zoë <zoe@example.com>")
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	status := b.git(b.dir, "status", "--porcelain")
	for _, branch := range []string{"other", "fresh/one"} {
		n, conflict, err := b.onto(ws, branch)
		if n != 2 || conflict != nil || err != nil {
			t.Fatalf("%s: %d, %+v, %v", branch, n, conflict, err)
		}
		if got := b.git(b.dir, "log", "--format=%an %s %b", branch); got !=
			"Troupe What commits left uncommitted \nZoë say 1 with a body\n\nA first" {
			t.Errorf("%s: %s", branch, got)
		}
		if got := b.show(branch, "a.txt"); got != "1\ntwo\nthree\n" {
			t.Errorf("%s: %q", branch, got)
		}
		if got := b.git(b.dir, "ls-tree", "-r", "--name-only", branch); strings.Contains(got, "dirty") {
			t.Errorf("%s has what was not committed: %s", branch, got)
		}
		if n, _, err := b.onto(ws, branch); n != 0 || err != nil {
			t.Errorf("%s again: %d, %v", branch, n, err)
		}
	}
	if got := b.git(b.dir, "status", "--porcelain"); got != status {
		t.Errorf("the caller's status: %s", got)
	}
	for _, bad := range []string{"main", "-x", "a..b", "HEAD", "x.lock", ""} {
		if _, _, err := b.onto(ws, bad); err == nil {
			t.Errorf("%q was taken", bad)
		} else if _, ok := errors.AsType[*troupe.UserError](err); !ok {
			t.Errorf("%q: %v", bad, err)
		}
	}
	b.git(b.dir, "gc", "-q", "--prune=now")
	b.fsck(filepath.Join(b.dir, ".git"))
}

func TestOntoConflict(t *testing.T) {
	b := newBench(t)
	b.git(b.dir, "checkout", "-qb", "other")
	b.write("a.txt", "uno\ntwo\nthree\n")
	b.git(b.dir, "commit", "-qam", "uno")
	b.git(b.dir, "checkout", "-q", "main")
	ws := b.made("conflicts")
	put(t, filepath.Join(ws.Top, "a.txt"), "1\ntwo\nthree\n")
	b.git(ws.Top, "commit", "-qam", "say 1")
	was := b.git(b.dir, "rev-parse", "other")
	n, conflict, err := b.onto(ws, "other")
	if n != 0 || err != nil || conflict == nil || len(conflict.Hunks) != 1 {
		t.Errorf("%d, %+v, %v", n, conflict, err)
	}
	if got := b.git(b.dir, "rev-parse", "other"); got != was {
		t.Error("the branch moved")
	}
	// An agent that went over to another history has one commit of it all.
	b.git(ws.Top, "checkout", "-q", "--orphan", "lone")
	put(t, filepath.Join(ws.Top, "sub/b.txt"), "B\n")
	b.git(ws.Top, "commit", "-qam", "alone")
	put(t, filepath.Join(ws.Top, "a.txt"), "one\ntwo\nthree\n")
	n, conflict, err = b.onto(ws, "other")
	if n != 1 || err != nil || conflict != nil || b.show("other", "sub/b.txt") != "B\n" ||
		b.show("other", "a.txt") != "uno\ntwo\nthree\n" {
		t.Errorf("%d, %+v, %v", n, conflict, err)
	}
}

// TestOntoAfterEnds: what an end committed is replayed as that commit, and so is what the agent commits after it.
func TestOntoAfterEnds(t *testing.T) {
	b := newBench(t)
	ws := b.made("ended")
	put(t, filepath.Join(ws.Top, "one.txt"), "1\n")
	b.git(ws.Top, "add", "-A")
	b.git(ws.Top, "commit", "-qm", "by the agent")
	put(t, filepath.Join(ws.Top, "two.txt"), "2\n")
	b.close(ws)
	log := func(branch, want string) {
		t.Helper()
		if _, conflict, err := b.onto(ws, branch); conflict != nil || err != nil {
			t.Fatalf("%+v, %v", conflict, err)
		}
		if got := b.git(b.dir, "log", "--format=%s", branch, "^main"); got != want {
			t.Errorf("%s: %q", branch, got)
		}
	}
	log("ended", "what it did\nby the agent")
	b.open(ws)
	put(t, filepath.Join(ws.Top, "three.txt"), "3\n")
	b.git(ws.Top, "add", "-A")
	b.git(ws.Top, "commit", "-qm", "after it")
	log("after", "after it\nwhat it did\nby the agent")
}

// TestOntoMoved: a branch that somebody moves while commits are brought to it stays where they have put it.
func TestOntoMoved(t *testing.T) {
	b := newBench(t)
	b.git(b.dir, "branch", "other")
	moved := b.git(b.dir, "commit-tree", "-p", "HEAD", "-m", "a person's", "HEAD^{tree}")
	ws := b.made("moved")
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	b.k.step = func(name string) error {
		if name == "transferred" {
			b.git(b.dir, "update-ref", "refs/heads/other", moved)
		}
		return nil
	}
	if _, conflict, err := b.onto(ws, "other"); err == nil || conflict != nil {
		t.Errorf("%v, %v", conflict, err)
	}
	if got := b.git(b.dir, "rev-parse", "other"); got != moved {
		t.Errorf("the branch is %s, and was moved to %s", got, moved)
	}
}
