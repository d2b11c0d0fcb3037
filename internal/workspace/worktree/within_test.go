package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestWithin: an agent that is started from another one's folder begins with all that this one has, and its work merges
// back into it.
func TestWithin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outer := b.made("outer")
	put(t, filepath.Join(outer.Top, "a.txt"), "changed\n")
	put(t, filepath.Join(outer.Top, "new.txt"), "new\n")
	inner, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Name: "inner",
		From: outer.Top})
	if err != nil {
		t.Fatal(err)
	}
	b.open(inner)
	for name, want := range map[string]string{"a.txt": "changed\n", "new.txt": "new\n"} {
		if got := get(filepath.Join(inner.Top, name)); got != want {
			t.Errorf("%s is %q there, want %q", name, got, want)
		}
	}
	put(t, filepath.Join(inner.Top, "a.txt"), "changed\nand more\n")
	if m := b.merge(inner, Into{}); len(m.Conflicts) > 0 || len(m.Changes) != 1 {
		t.Errorf("merged: %+v", m)
	}
}

// TestWithinGone: what an agent did whose folder was made from another one's, and outlives that, goes to the tree that
// this was beside; what the other had taken by then counts as merged.
func TestWithinGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outer := b.made("outer")
	put(t, filepath.Join(outer.Top, "new.txt"), "new\n")
	inside := func(name string) troupe.Workspace {
		ws, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Name: name,
			From: outer.Top})
		if err != nil {
			t.Fatal(err)
		}
		b.open(ws)
		put(t, filepath.Join(ws.Top, name+".txt"), "its\n")
		b.close(ws)
		return ws
	}
	left, taken := inside("left"), inside("taken")
	m := b.merge(taken, Into{})
	if _, err := Apply(outer.Top, m.Changes); err != nil {
		t.Fatal(err)
	}
	if rows, err := b.k.List(t.Context(), b.dir, Listing{}); err != nil || len(rows) != 1 {
		t.Fatalf("while it is there: %+v %v", rows, err)
	}
	if res := b.close(outer); !res.Gone {
		t.Fatalf("%+v", res)
	}
	rows, err := b.k.List(t.Context(), b.dir, Listing{})
	if err != nil || len(rows) != 3 || !rows[1].Unmerged || rows[2].Unmerged || rows[1].Workspace.Of != b.dir ||
		rows[1].Workspace.From != b.dir {
		t.Fatalf("%+v %v", rows, err)
	}
	for _, ws := range []troupe.Workspace{outer, left} {
		if removed, why, err := b.k.Prune(t.Context(), ws.Owner, Ending{}); err != nil || removed || why == "" {
			t.Errorf("%s: it is nowhere else: %v %s %v", ws.Name, removed, why, err)
		}
	}
	if text, _, err := b.k.Diff(t.Context(), rows[1].Workspace, ToRead); err != nil ||
		!strings.Contains(text, "left.txt") {
		t.Errorf("%s %v", text, err)
	}
	m = b.merge(rows[1].Workspace, Into{})
	if len(m.Conflicts) > 0 || len(m.Changes) != 1 || m.Changes[0].Path != filepath.Join(b.dir, "left.txt") {
		t.Fatalf("merged: %+v", m)
	}
	if _, err := Apply(b.dir, m.Changes); err != nil {
		t.Fatal(err)
	}
	for _, ws := range []troupe.Workspace{taken, left} {
		if removed, why, err := b.k.Prune(t.Context(), ws.Owner, Ending{}); err != nil || !removed {
			t.Errorf("%s stays: %s %v", ws.Name, why, err)
		}
	}
}

// TestUnderWay: files of changes that are under way in the caller's folder are no part of it.
func TestUnderWay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(".troupe-17-merge3.tmp", "half\n")
	ws := b.made("fixer")
	if _, err := os.Lstat(filepath.Join(ws.Top, ".troupe-17-merge3.tmp")); err == nil {
		t.Error("an agent begins with a file of a merge that is under way")
	}
	put(t, filepath.Join(ws.Top, "a.txt"), "its\n")
	b.write("sub/.troupe-17-x.tmp", "half\n")
	if m := b.merge(ws, Into{}); len(m.Conflicts) > 0 || len(m.Changes) != 1 {
		t.Errorf("merged: %+v", m)
	}
}

// TestFileBecomesFolder: what an agent made of a file's name is merged.
func TestFileBecomesFolder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ws := b.made("fixer")
	if err := os.Remove(filepath.Join(ws.Top, "a.txt")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(ws.Top, "a.txt/x"), "x\n")
	m := b.merge(ws, Into{})
	if len(m.Conflicts) > 0 || len(m.Changes) != 2 {
		t.Fatalf("merged: %+v", m)
	}
	if _, err := Apply(b.dir, m.Changes); err != nil || get(filepath.Join(b.dir, "a.txt/x")) != "x\n" {
		t.Errorf("written: %v", err)
	}
}

// TestSubjectOfCommit: what a model called its work is the subject of a commit, and nothing else.
func TestSubjectOfCommit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ws := b.made("fixer")
	put(t, filepath.Join(ws.Top, "a.txt"), "its\n")
	res, err := b.k.Close(t.Context(), ws, Ending{Message: "Mend it\x1b[2J\n\nSigned-off-by: Ada <ada@x>"})
	if err != nil {
		t.Fatal(err)
	}
	text := b.git(b.dir, "log", "-1", "--format=%B", res.Tip)
	if strings.Contains(text, "\x1b") || strings.Count(strings.TrimSpace(text), "\n") > 0 {
		t.Errorf("the commit says %q", text)
	}
}

// TestPruneKeepsWithin: a worktree that is merged stays while what was made from its folder is nowhere else.
func TestPruneKeepsWithin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outer := b.made("outer")
	put(t, filepath.Join(outer.Top, "new.txt"), "new\n")
	inner, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Name: "inner",
		From: outer.Top})
	if err != nil {
		t.Fatal(err)
	}
	b.open(inner)
	put(t, filepath.Join(inner.Top, "its.txt"), "its\n")
	b.close(inner)
	b.git(b.dir, "merge", "-q", b.close(outer).Branch)
	if removed, why, err := b.k.Prune(t.Context(), outer.Owner, Ending{}); removed || err != nil ||
		!strings.Contains(why, "what its agents have left stays") {
		t.Errorf("the outer one: %v, %q, %v", removed, why, err)
	}
}

// TestPruneOfTheUnknown: where git cannot say whether the project has the work, it has not.
func TestPruneOfTheUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ws := b.made("lost")
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	b.close(ws)
	b.shell(b.dir, "git for-each-ref --format='delete %(refname)' refs/troupe refs/heads/troupe | "+
		"git update-ref --stdin; git reflog expire --expire=now --all; git gc -q --prune=now")
	if row, err := b.k.Look(t.Context(), ws, Listing{}); err == nil && !row.Unmerged {
		t.Errorf("it counts as merged: %+v", row)
	}
	if removed, why, _ := b.k.Prune(t.Context(), ws.Owner, Ending{}); removed {
		t.Errorf("it is gone: %q", why)
	}
}
