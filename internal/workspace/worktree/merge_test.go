package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func (b *bench) merge(ws troupe.Workspace, in Into) Merged {
	b.t.Helper()
	m, err := b.k.Merge(b.t.Context(), ws, in)
	if err != nil {
		b.t.Fatal(err)
	}
	return m
}

// brought merges, and writes what that changes. It holds the caller's repository to being as it was.
func (b *bench) brought(ws troupe.Workspace) Merged {
	b.t.Helper()
	index, refs := get(filepath.Join(b.dir, ".git/index")), b.git(b.dir, "for-each-ref")
	m := b.merge(ws, Into{})
	if len(m.Conflicts) > 0 {
		b.t.Fatalf("conflicts: %+v", m.Conflicts)
	}
	if written, err := Apply(b.dir, m.Changes); err != nil || len(written) != len(m.Changes) {
		b.t.Fatalf("written: %v, %v", written, err)
	}
	if err := Brought(b.t.Context(), b.k, ws, m.Changes); err != nil {
		b.t.Fatal(err)
	}
	if get(filepath.Join(b.dir, ".git/index")) != index || b.git(b.dir, "for-each-ref") != refs {
		b.t.Error("the caller's index or refs changed")
	}
	return m
}

func TestMerge(t *testing.T) {
	b := newBench(t)
	b.write("gone.txt", "gone\n")
	b.write("run.sh", "#!/bin/sh\n")
	b.write("old/name.txt", "1\n2\n3\n4\n5\n6\n7\n8\n")
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "commit", "-qm", "second")
	b.write("dirty.txt", "dirty\n")
	ws := b.made("one")
	if m := b.merge(ws, Into{}); !m.Already || len(m.Changes)+len(m.Conflicts) > 0 {
		t.Errorf("nothing was done: %+v", m)
	}
	put(t, filepath.Join(ws.Top, "a.txt"), "one\ntwo\n3\n")
	put(t, filepath.Join(ws.Top, "deep/er/new.txt"), "new\n")
	b.git(ws.Top, "rm", "-q", "gone.txt")
	b.git(ws.Top, "mv", "old", "new")
	b.git(ws.Top, "commit", "-qam", "moved")
	if err := os.Chmod(filepath.Join(ws.Top, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.txt", filepath.Join(ws.Top, "link")); err != nil {
		t.Fatal(err)
	}
	// The caller goes on meanwhile, without a commit.
	b.write("a.txt", "1\ntwo\nthree\n")
	b.write("old/name.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
	b.write("other.txt", "other\n")
	m := b.merge(ws, Into{})
	if m.Files != 7 || m.Added != 12 || m.Removed != 11 {
		t.Errorf("merged: %+v", m)
	}
	if get(filepath.Join(b.dir, "gone.txt")) != "gone\n" {
		t.Error("it wrote something")
	}
	b.brought(ws)
	for name, want := range map[string]string{"a.txt": "1\ntwo\n3\n", "deep/er/new.txt": "new\n", "link": "1\ntwo\n3\n",
		"new/name.txt": "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", "other.txt": "other\n", "dirty.txt": "dirty\n"} {
		if got := get(filepath.Join(b.dir, name)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if there(filepath.Join(b.dir, "gone.txt")) || there(filepath.Join(b.dir, "old")) {
		t.Error("what was removed is there")
	}
	if info, err := os.Stat(filepath.Join(b.dir, "run.sh")); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("run.sh: %v, %v", info, err)
	}
	if m := b.merge(ws, Into{}); !m.Already {
		t.Errorf("merged again: %+v", m)
	}
	// What it changes of its own work afterwards is no conflict with that work.
	put(t, filepath.Join(ws.Top, "a.txt"), "one\ntwo\ndrei\n")
	b.write("deep/er/new.txt", "new\nand more\n")
	b.brought(ws)
	if got := get(filepath.Join(b.dir, "a.txt")); got != "1\ntwo\ndrei\n" {
		t.Errorf("second merge: %q", got)
	}
	// One who takes a merge back gets all of it offered again.
	b.write("a.txt", "1\ntwo\nthree\n")
	b.brought(ws)
	if got := get(filepath.Join(b.dir, "a.txt")); got != "1\ntwo\ndrei\n" {
		t.Errorf("merged after it was undone: %q", got)
	}
}

func TestDiff(t *testing.T) {
	b := newBench(t)
	ws := b.made("shown")
	put(t, filepath.Join(ws.Top, "a.txt"), "one\ntwo\n3\n")
	b.git(ws.Top, "commit", "-qam", "three")
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	for range 2 {
		diff, _, err := b.k.Diff(t.Context(), ws, ToRead)
		if err != nil || !strings.Contains(diff, "-three\n+3\n") || !strings.Contains(diff, "+new\n") {
			t.Errorf("%v\n%s", err, diff)
		}
		stat, _, err := b.k.Diff(t.Context(), ws, Stat)
		if err != nil || !strings.Contains(stat, "2 files changed, 2 insertions(+), 1 deletion(-)") {
			t.Errorf("%v\n%s", err, stat)
		}
		b.close(ws)
	}
	// A file that was moved counts as a list and a merge count it.
	moved := b.made("moved")
	b.git(moved.Top, "mv", "a.txt", "b.txt")
	m := b.merge(moved, Into{})
	sums := fmt.Sprintf("%d files changed, %d insertions(+), %d deletions(-)", m.Files, m.Added, m.Removed)
	if stat, _, err := b.k.Diff(t.Context(), moved, Stat); err != nil || m.Files != 2 || !strings.Contains(stat, sums) {
		t.Errorf("%v, not %s:\n%s", err, sums, stat)
	}
	big := b.made("big")
	put(t, filepath.Join(big.Top, "new.txt"), strings.Repeat("line\n", 1<<19))
	diff, cut, err := b.k.Diff(t.Context(), big, ToRead)
	if err != nil || len(diff) > diffMost || !cut {
		t.Errorf("%v: %d, cut %v", err, len(diff), cut)
	}
	// A patch is whole, and has what binary files hold.
	put(t, filepath.Join(big.Top, "bin.dat"), "\x00\x01\xff")
	patch, cut, err := b.k.Diff(t.Context(), big, ToApply)
	if err != nil || cut {
		t.Fatalf("%v, cut %v", err, cut)
	}
	put(t, filepath.Join(b.home, "big.patch"), patch)
	b.git(b.dir, "apply", filepath.Join(b.home, "big.patch"))
	for _, name := range []string{"new.txt", "bin.dat"} {
		if get(filepath.Join(b.dir, name)) != get(filepath.Join(big.Top, name)) {
			t.Errorf("%s is not what it was", name)
		}
	}
}

// TestPains27: two agents that change one file at once do not overwrite each other.
func TestPains27(t *testing.T) {
	b := newBench(t)
	b.write("shared.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	first, second, third := b.made("first"), b.made("second"), b.made("third")
	put(t, filepath.Join(first.Top, "shared.txt"), "uno\n2\n3\n4\n5\n6\n7\n8\n9\n")
	put(t, filepath.Join(second.Top, "shared.txt"), "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
	put(t, filepath.Join(third.Top, "shared.txt"), "1\n2\n3\nfour\n5\n6\n7\n8\nneun\n")
	if res := b.close(first); len(res.Conflicts) > 0 || res.Unmerged != "" {
		t.Errorf("closed: %+v", res)
	}
	// A merge that was only looked at has changed nothing.
	looked := b.made("looked")
	put(t, filepath.Join(looked.Top, "shared.txt"), "1\n2\n3\n4\n5\nsechs\n7\n8\n9\n")
	if m := b.merge(looked, Into{}); len(m.Changes) != 1 {
		t.Errorf("looked at: %+v", m)
	}
	b.brought(first)
	b.brought(second)
	if res := b.close(third); len(res.Conflicts) != 1 || res.Conflicts[0] != "shared.txt" {
		t.Errorf("closed: %+v", res)
	}
	m := b.merge(third, Into{})
	if len(m.Changes) > 0 || len(m.Conflicts) != 1 {
		t.Fatalf("third: %+v", m)
	}
	c := m.Conflicts[0]
	if c.Path != filepath.Join(b.dir, "shared.txt") || c.Ours != "second" ||
		c.Over != "first, second" || c.Theirs != "third" || len(c.Hunks) != 1 ||
		c.Hunks[0] != (Hunk{Lines{9, "nine\n"}, Lines{9, "9\n"}, Lines{9, "neun\n"}}) {
		t.Errorf("conflict: %+v", c)
	}
	if got := get(filepath.Join(b.dir, "shared.txt")); got != "uno\n2\n3\n4\n5\n6\n7\n8\nnine\n" {
		t.Errorf("the caller's: %q", got)
	}
}

// TestWhoseLines: a conflict names those whose lines conflict, and not one whose merge was taken back, or that changed
// other lines; what is no matter of lines names who has it so.
func TestWhoseLines(t *testing.T) {
	b := newBench(t)
	b.write("shared.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	b.write("bin.dat", "\x00\x01")
	agents := map[string]troupe.Workspace{}
	for _, a := range []struct {
		name  string
		files map[string]string
	}{
		{"first", map[string]string{"shared.txt": "uno\n2\n3\n4\n5\n6\n7\n8\n9\n", "bin.dat": "\x00\x02"}},
		{"second", map[string]string{"shared.txt": "1\n2\n3\n4\n5\n6\n7\n8\nnine\n"}},
		{"cuts", map[string]string{"shared.txt": "1\n2\n3\n4\n6\n7\n8\n9\n"}},
		{"third", map[string]string{"shared.txt": "eins\n2\n3\n4\nfive\n6\n7\n8\nneun\n", "bin.dat": "\x00\x03"}},
	} {
		agents[a.name] = b.made(a.name)
		for file, text := range a.files {
			put(t, filepath.Join(agents[a.name].Top, file), text)
		}
	}
	look := func() string {
		var said []string
		for _, c := range b.merge(agents["third"], Into{}).Conflicts {
			said = append(said, filepath.Base(c.Path)+": "+c.Ours+"; all: "+c.Over)
		}
		return strings.Join(said, " | ")
	}
	b.brought(agents["first"])
	b.close(agents["first"]) // what it had is in the caller's repository then
	b.brought(agents["second"])
	b.brought(agents["cuts"])
	if got := look(); got != "bin.dat: first; all: first | shared.txt: first, second, cuts; all: first, second, cuts" {
		t.Error(got)
	}
	// The merges of second and cuts are undone, and a person writes where second did.
	b.write("shared.txt", "uno\n2\n3\n4\n5\n6\n7\n8\nmine\n")
	if got := look(); got != "bin.dat: first; all: first | shared.txt: first; all: first" {
		t.Error(got)
	}
	b.write("shared.txt", "1\n2\nmine\n4\n5\n6\n7\n8\nmine\n")
	b.write("bin.dat", "\x00\x04")
	if got := look(); got != "bin.dat: ; all:  | shared.txt: ; all: " {
		t.Error(got)
	}
}

// TestMergeRefused: what was offered and not written is offered again, whatever became of the caller's files.
func TestMergeRefused(t *testing.T) {
	b := newBench(t)
	b.write("f.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	b.write("g.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n")
	ws := b.made("refused")
	put(t, filepath.Join(ws.Top, "f.txt"), "1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n")
	put(t, filepath.Join(ws.Top, "g.txt"), "one\n2\n3\n4\n5\n6\n7\n8\n9\nten\n")
	b.shell(b.dir, "mkdir moved; mv f.txt moved/f.txt")
	for range 2 {
		m := b.merge(ws, Into{})
		if len(m.Conflicts) > 0 || len(m.Changes) != 2 ||
			string(m.Changes[1].Content) != "1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n" {
			t.Errorf("a moved file: %+v", m)
		}
	}
	b.write("g.txt", "one\nand a half\n2\n3\n4\n5\n6\n7\n8\n9\n10\n")
	if got := b.blocked(ws, Into{}); got != "g.txt: both sides changed it in one place" {
		t.Errorf("a part of it: %s", got)
	}
}
