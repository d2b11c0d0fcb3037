package worktree

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestUnresolved: an end with markers commits what its agent had before it was handed them, keeps the markers beside
// it, and goes on where it was. It counts as the agent's what the agent did.
func TestUnresolved(t *testing.T) {
	for _, old := range []bool{false, true} {
		b := newBench(t)
		ws := b.made("open")
		path := filepath.Join(ws.Top, "a.txt")
		put(t, path, "one\nzwei\nthree\n")
		b.close(ws)
		b.write("a.txt", "one\n2\nthree\n")
		b.write("callers.txt", "the caller's\n")
		b.open(ws)
		b.handBack(ws)
		if old { // as a version wrote it that did not note what was given
			p, err := b.k.place(ws)
			if err != nil {
				t.Fatal(err)
			}
			rec, err := readRecord(p.folder)
			if err != nil {
				t.Fatal(err)
			}
			rec.Handed[0].Given, rec.Handed[0].From = "", ""
			if err := b.k.write(p, rec); err != nil {
				t.Fatal(err)
			}
		}
		put(t, filepath.Join(ws.Top, "more.txt"), "more\n")
		res := b.close(ws)
		if res.Files != 2 || len(res.Conflicts) != 1 || res.Branch == "" {
			t.Errorf("the end: %+v", res)
		}
		if got := strings.TrimSpace(b.show(res.Branch, "a.txt")); got != "one\nzwei\nthree" {
			t.Errorf("committed: %q", got)
		}
		if got := b.show("refs/troupe/"+string(ws.Owner)+"/unresolved", "a.txt"); !strings.Contains(got, "<<<<<<<") {
			t.Errorf("the markers are not kept: %q", got)
		}
		m := b.merge(ws, Into{})
		if len(m.Changes) > 0 || len(m.Conflicts) != 1 || len(m.Conflicts[0].Hunks) != 1 ||
			m.Conflicts[0].Hunks[0].Theirs.Text != "zwei\n" || len(m.Unresolved) != 1 {
			t.Errorf("unresolved: %+v", m)
		}
		m = b.merge(ws, Into{Theirs: []string{filepath.Join(b.dir, "a.txt")}})
		if len(m.Changes) != 2 || len(m.Conflicts) > 0 || len(m.Unresolved) > 0 {
			t.Errorf("taken: %+v", m)
		}
		b.open(ws)
		if !strings.Contains(get(path), "<<<<<<<") {
			t.Errorf("it goes on with %q", get(path))
		}
		put(t, path, "one\nzwei, 2\nthree\n")
		if res = b.close(ws); res.Files != 2 || len(res.Conflicts) > 0 {
			t.Errorf("resolved: %+v", res)
		}
		b.brought(ws)
		if got := get(filepath.Join(b.dir, "a.txt")); got != "one\nzwei, 2\nthree\n" {
			t.Errorf("merged: %q", got)
		}
		b.fsck(filepath.Join(b.dir, ".git"))
	}
}

// TestUnresolvedMoved: a file that the caller moved, and one that the agent moves with its markers, are taken as they
// were before too.
func TestUnresolvedMoved(t *testing.T) {
	lines := func(first string) string { return first + "\n2\n3\n4\n5\n6\n7\n8\n9\n" }
	for _, by := range []string{"caller", "agent"} {
		b := newBench(t)
		b.write("f.txt", lines("1"))
		b.git(b.dir, "add", "-A")
		b.git(b.dir, "commit", "-qm", "more")
		ws := b.made("moved")
		put(t, filepath.Join(ws.Top, "f.txt"), lines("theirs"))
		b.write("f.txt", lines("ours"))
		if by == "caller" {
			b.shell(b.dir, "git mv f.txt g.txt")
		}
		h := b.handBack(ws)
		if len(h.Marked) != 1 {
			t.Fatalf("%s: %+v", by, h)
		}
		if by == "agent" {
			b.shell(ws.Top, "git mv -f f.txt g.txt")
		}
		m := b.merge(ws, Into{})
		if len(m.Changes) > 0 || len(m.Unresolved) != 1 {
			t.Errorf("%s: %+v", by, m)
		}
		var all []string
		for range 2 { // a file that one side moved is in two places
			for _, c := range m.Conflicts {
				all = append(all, c.Path)
			}
			m = b.merge(ws, Into{Theirs: all})
		}
		if len(m.Conflicts) > 0 {
			t.Errorf("%s: %+v", by, m)
		}
		if _, err := Apply(b.dir, m.Changes); err != nil {
			t.Fatal(err)
		}
		at := map[string]string{"caller": "f.txt", "agent": "g.txt"}[by] // where the agent has it
		if got := get(filepath.Join(b.dir, at)); got != lines("theirs") {
			t.Errorf("%s: %q", by, got)
		}
	}
}

// TestHandedSince: what was handed is no change that the agent made, in checkpoints and at an end.
func TestHandedSince(t *testing.T) {
	b := newBench(t)
	ws := b.made("since")
	put(t, filepath.Join(ws.Top, "a.txt"), "one\nzwei\nthree\n")
	last := b.save(ws)
	b.write("a.txt", "one\n2\nthree\n")
	b.write("callers.txt", "the caller's\n")
	b.handBack(ws)
	put(t, filepath.Join(ws.Top, "mine.txt"), "mine\n")
	c, err := b.k.Save(t.Context(), ws, nil, last.Tree)
	if err != nil || c.Files != 1 || c.Changed[0].Path != "mine.txt" {
		t.Errorf("saved: %v %+v", err, c)
	}
	res, err := b.k.Close(t.Context(), ws, Ending{Began: last.Tree})
	if err != nil || res.Run == nil || res.Run.Files != 1 || res.Files != 2 {
		t.Errorf("ended: %v %+v", err, res)
	}
}
