package worktree

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestMergeCopy: a folder that is no repository is merged as one that is.
func TestMergeCopy(t *testing.T) {
	b := newBench(t)
	from := filepath.Join(b.home, "plain")
	put(t, filepath.Join(from, "a.txt"), "1\n2\n3\n4\n5\n")
	put(t, filepath.Join(from, ".gitignore"), "*.log\n")
	put(t, filepath.Join(from, "x.log"), "1\n")
	ws := b.copyOf(troupe.WorkspaceCopy, from)
	put(t, filepath.Join(ws.Top, "a.txt"), "one\n2\n3\n4\n5\n")
	put(t, filepath.Join(ws.Top, "new/n.txt"), "new\n")
	put(t, filepath.Join(ws.Top, "x.log"), "2\n")
	put(t, filepath.Join(from, "a.txt"), "1\n2\n3\n4\nfive\n")
	put(t, filepath.Join(from, "own.log"), "own\n")
	m := b.merge(ws, Into{})
	if len(m.Conflicts) > 0 || len(m.Changes) != 3 {
		t.Fatalf("%+v", m)
	}
	if _, err := Apply(from, m.Changes); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.txt": "one\n2\n3\n4\nfive\n", "new/n.txt": "new\n", "x.log": "2\n",
		"own.log": "own\n"} {
		if got := get(filepath.Join(from, name)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if there(filepath.Join(from, ".git")) {
		t.Error("it became a repository")
	}
	put(t, filepath.Join(ws.Top, "new/n.txt"), "theirs\n")
	put(t, filepath.Join(from, "new/n.txt"), "ours\n")
	if h := b.handBack(ws); len(h.Marked) != 1 {
		t.Errorf("handed back: %+v", h)
	}
	put(t, filepath.Join(ws.Top, "new/n.txt"), "ours\nboth\n")
	if m = b.merge(ws, Into{}); len(m.Conflicts) > 0 || len(m.Changes) != 1 {
		t.Errorf("resolved: %+v", m)
	}
	if diff, _, err := b.k.Diff(t.Context(), ws, ToRead); err != nil || !strings.Contains(diff, "+both\n") {
		t.Errorf("%v\n%s", err, diff)
	}
	b.fsck(filepath.Join(b.k.data, string(ws.Owner), "repo.git"))
	put(t, filepath.Join(from, "a.txt"), "uno\n2\n3\n4\nfive\n")
	put(t, filepath.Join(ws.Top, "a.txt"), "eins\n2\n3\n4\nfive\n")
	if res := b.close(ws); len(res.Conflicts) != 1 || res.Conflicts[0] != "a.txt" || res.Unmerged != "" {
		t.Errorf("at the end: %+v", res)
	}
}

// TestMergeEmpty: what was made from nothing overwrites nothing, and is merged again as it grows.
func TestMergeEmpty(t *testing.T) {
	b := newBench(t)
	from := filepath.Join(b.home, "plain")
	put(t, filepath.Join(from, "a.txt"), "mine\n")
	put(t, filepath.Join(from, "other.txt"), "other\n")
	ws := b.copyOf(troupe.WorkspaceEmpty, from)
	put(t, filepath.Join(ws.Top, "b.txt"), "b\n")
	for _, text := range []string{"b\n", "b\nand more\n"} {
		put(t, filepath.Join(ws.Top, "b.txt"), text)
		m := b.merge(ws, Into{})
		if len(m.Conflicts) > 0 || len(m.Changes) != 1 {
			t.Fatalf("%+v", m)
		}
		if _, err := Apply(from, m.Changes); err != nil || get(filepath.Join(from, "b.txt")) != text {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(ws.Top, "a.txt"), "theirs\n")
	if m := b.merge(ws, Into{}); len(m.Conflicts) != 1 || len(m.Changes) > 0 {
		t.Errorf("%+v", m)
	}
}
