package worktree

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
)

// listing is all of a folder: names, modes, links and contents.
func listing(t testing.TB, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			text = "link " + to
		case e.Type().IsRegular():
			text += " " + get(path)
		}
		out[strings.TrimPrefix(path, folder+"/")] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// files is all of the caller's folder but its repository.
func (b *bench) files() map[string]string {
	all := listing(b.t, b.dir)
	maps.DeleteFunc(all, func(name, _ string) bool { return name == ".git" || strings.HasPrefix(name, ".git/") })
	return all
}

func (b *bench) copyOf(kind troupe.WorkspaceKind, from string) troupe.Workspace {
	b.t.Helper()
	ws, err := b.k.Plan(b.t.Context(), Wish{Owner: newID(b.t), Kind: kind, Title: "Copy this!", From: from})
	if err != nil {
		b.t.Fatal(err)
	}
	b.open(ws)
	return ws
}

// TestCopy: a copy is the folder as it is, what git would ignore or change included, and so is one that is rebuilt.
func TestCopy(t *testing.T) {
	b := newBench(t)
	dir := filepath.Join(b.home, "plain")
	put(t, filepath.Join(dir, "crlf.txt"), "a\r\nb\r\n")
	put(t, filepath.Join(dir, ".gitattributes"), "* text=auto eol=lf filter=lfs ident\n")
	put(t, filepath.Join(dir, ".gitignore"), "*\n")
	put(t, filepath.Join(dir, "id.txt"), "$Id$\n")
	put(t, filepath.Join(dir, "odd \"name\"\twith\nlines.txt"), "odd\n")
	put(t, filepath.Join(dir, "private.txt"), "p\n")
	put(t, filepath.Join(dir, "run.sh"), "#!/bin/sh\n")
	put(t, filepath.Join(dir, "nested/n.txt"), "n\n")
	b.git(filepath.Join(dir, "nested"), "init", "-q")
	b.git(filepath.Join(dir, "nested"), "add", "-A", "-f")
	b.git(filepath.Join(dir, "nested"), "commit", "-qm", "nested")
	put(t, filepath.Join(dir, "shut/in.txt"), "x\n")
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "shut"), 0o755) }) //nolint:errcheck // else the folder stays
	for name, mode := range map[string]fs.FileMode{"private.txt": 0o600, "run.sh": 0o755, "empty": 0o755, "shut": 0o555,
		"shut/in.txt": 0o444} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	want := listing(t, dir)
	ws := b.copyOf(troupe.WorkspaceCopy, dir)
	if !strings.HasPrefix(ws.Name, "copy-this-") || ws.Branch != "" || there(filepath.Join(ws.Top, ".git")) {
		t.Errorf("workspace: %+v", ws)
	}
	if diff := cmp.Diff(want, listing(t, ws.Top)); diff != "" {
		t.Errorf("the copy: %s", diff)
	}
	if diff := cmp.Diff(want, listing(t, dir)); diff != "" {
		t.Errorf("what it is of: %s", diff)
	}
	// The agent goes on in it, and a rebuilt folder is what was saved.
	put(t, filepath.Join(ws.Top, "nested/n2.txt"), "n2\n")
	b.git(filepath.Join(ws.Top, "nested"), "add", "-A", "-f")
	b.git(filepath.Join(ws.Top, "nested"), "commit", "-qm", "again")
	put(t, filepath.Join(ws.Top, "crlf.txt"), "changed\r\n")
	put(t, filepath.Join(ws.Top, "other/new.txt"), "new\n")
	b.git(filepath.Join(ws.Top, "other"), "init", "-q")
	if err := os.Chmod(filepath.Join(ws.Top, "id.txt"), 0o640); err != nil {
		t.Fatal(err)
	}
	want = listing(t, ws.Top)
	b.save(ws)
	if err := os.Rename(ws.Top, filepath.Join(b.home, "moved away")); err != nil {
		t.Fatal(err)
	}
	b.open(ws)
	if diff := cmp.Diff(want, listing(t, ws.Top)); diff != "" {
		t.Errorf("rebuilt: %s", diff)
	}
	res := b.close(ws)
	if !res.Gone || res.Files != 3 || res.Commits != 1 || there(ws.Top) {
		t.Errorf("result: %+v", res)
	}
	b.open(ws)
	if diff := cmp.Diff(want, listing(t, ws.Top)); diff != "" {
		t.Errorf("made again: %s", diff)
	}
	b.fsck(filepath.Join(b.k.data, string(ws.Owner), "repo.git"))
	if removed, why, err := b.k.Prune(t.Context(), ws.Owner, Ending{}); removed || why == "" || err != nil {
		t.Errorf("pruned: %v, %q, %v", removed, why, err)
	}
}

// TestEmpty: an empty workspace has nothing in it, and is gone if nothing came to be there.
func TestEmpty(t *testing.T) {
	b := newBench(t)
	ws := b.copyOf(troupe.WorkspaceEmpty, b.dir)
	if got := listing(t, ws.Top); len(got) > 0 {
		t.Errorf("in it: %v", got)
	}
	if res := b.close(ws); !res.Gone || there(filepath.Join(b.k.data, string(ws.Owner))) {
		t.Errorf("result: %+v", res)
	}
	b.open(ws)
	put(t, filepath.Join(ws.Top, "made.txt"), "made\n")
	if res := b.close(ws); !res.Gone || res.Files != 1 || res.Added != 1 {
		t.Errorf("result: %+v", res)
	}
	b.open(ws)
	if got := get(filepath.Join(ws.Top, "made.txt")); got != "made\n" {
		t.Errorf("made again: %q", got)
	}
}

// TestNested: a repository that an agent makes in its worktree is kept with its content and its history.
func TestNested(t *testing.T) {
	b := newBench(t)
	ws := b.made("nested")
	sub := filepath.Join(ws.Top, "tools/own")
	put(t, filepath.Join(sub, "in.txt"), "in a nested repository\n")
	put(t, filepath.Join(sub, ".gitignore"), "*.tmp\n")
	b.git(sub, "init", "-q")
	b.git(sub, "add", "-A")
	b.git(sub, "commit", "-qm", "nested")
	put(t, filepath.Join(sub, "loose.txt"), "not committed there\n")
	head := b.git(sub, "rev-parse", "HEAD")
	res := b.close(ws)
	if !res.Gone || b.show(res.Tip, "tools/own/in.txt") != "in a nested repository\n" ||
		b.show(res.Tip, "tools/own/loose.txt") != "not committed there\n" {
		t.Errorf("result: %+v", res)
	}
	b.git(b.dir, "gc", "-q", "--prune=now")
	if got := b.git(b.dir, "for-each-ref", "--format=%(objecttype)", refOf(ws, "beside-repositories")); got != "blob" {
		t.Errorf("its history in the caller's: %q", got)
	}
	b.open(ws)
	if got := b.git(sub, "rev-parse", "HEAD"); got != head {
		t.Errorf("its history: %s, was %s", got, head)
	}
	if got := b.git(sub, "status", "--porcelain"); got != "?? loose.txt" {
		t.Errorf("its status: %s", got)
	}
	b.fsck(filepath.Join(sub, ".git"), filepath.Join(b.dir, ".git"))
	// What is too large to be kept is named, and fails neither a checkpoint nor the end.
	large := filepath.Join(sub, ".git/objects/pack/tmp.pack")
	put(t, large, "")
	if err := os.Truncate(large, nestedMost+1); err != nil {
		t.Fatal(err)
	}
	b.git(sub, "add", "-A")
	b.git(sub, "commit", "-qm", "more")
	for range 2 { // as it was seen, too
		b.save(ws)
	}
	if res := b.close(ws); res.Gone || res.Kept != "it has what git cannot keep: tools/own/.git/objects/pack/tmp.pack" {
		t.Errorf("with a large file: %+v", res)
	}
	if err := os.Remove(large); err != nil {
		t.Fatal(err)
	}
	if res := b.close(ws); !res.Gone {
		t.Errorf("without it: %+v", res)
	}
}
