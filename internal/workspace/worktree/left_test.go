package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestUnreadStays: what git was not let read is in no checkpoint, so the folder stays with it, and says so.
func TestUnreadStays(t *testing.T) {
	b := newBench(t)
	var hidden []string
	b.k = New(Options{Data: b.k.data, Folders: b.k.folders, Environ: b.environ(),
		Reading: func(context.Context, troupe.Workspace, string) (Reading, error) {
			start := func(bin string, argv []string, attr *os.ProcAttr) (*os.Process, func(), error) {
				p, err := os.StartProcess(bin, argv, attr)
				return p, func() {}, err
			}
			return Reading{Start: start, Hidden: hidden}, nil
		}})
	ws := b.made("unread")
	hidden = []string{filepath.Join(ws.Top, "closed")}
	put(t, filepath.Join(ws.Top, "closed", "key.txt"), "key\n")
	put(t, filepath.Join(ws.Top, "open.txt"), "open\n")
	res := b.close(ws)
	if res.Gone || !strings.Contains(res.Kept, "closed/key.txt") || !there(filepath.Join(ws.Top, "closed", "key.txt")) {
		t.Errorf("closed: %+v", res)
	}
	hidden = nil
	if res := b.close(ws); !res.Gone || res.Files != 2 {
		t.Errorf("closed once it can be read: %+v", res)
	}
}

// TestMadeAgainIsNotUnborn: a workspace whose folder was there once is work of an agent's, whatever its record says of
// a making that goes on.
func TestMadeAgainIsNotUnborn(t *testing.T) {
	b := newBench(t)
	ws, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceCopy, Name: "copy", Exact: true,
		From: b.dir})
	if err != nil {
		t.Fatal(err)
	}
	b.open(ws)
	put(t, filepath.Join(ws.Top, "work.txt"), "work\n")
	b.save(ws)
	p, err := b.k.place(ws)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := readRecord(p.folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(ws.Top); err != nil {
		t.Fatal(err)
	}
	rec.State = making // as it is while the folder is made again
	if unborn(p, rec) {
		t.Error("it would be abandoned, with what was saved of it")
	}
	if rec.Inode = 0; !unborn(p, rec) {
		t.Error("one that was never there is taken for an agent's work")
	}
}

// TestHiddenIsNotLent: a repository that borrows objects from one that no agent may read lends them to none.
func TestHiddenIsNotLent(t *testing.T) {
	for _, link := range []bool{false, true} {
		b := newBench(t)
		private := filepath.Join(t.TempDir(), "private")
		put(t, filepath.Join(private, "plan.txt"), "words nobody gave\n")
		for _, args := range [][]string{{"init", "-q", private}, {"-C", private, "add", "."},
			{"-C", private, "commit", "-q", "-m", "p"}} {
			b.git(b.dir, args...)
		}
		store := filepath.Join(private, ".git/objects")
		if link {
			store = filepath.Join(t.TempDir(), "store")
			if err := os.Symlink(filepath.Join(private, ".git/objects"), store); err != nil {
				t.Fatal(err)
			}
		}
		put(t, filepath.Join(b.dir, ".git/objects/info/alternates"), store+"\n")
		hidden := []string{real(private)}
		b.k = New(Options{Data: b.k.data, Folders: b.k.folders, Environ: b.environ(),
			Reading: func(context.Context, troupe.Workspace, string) (Reading, error) {
				return Reading{Hidden: hidden}, nil
			}})
		ws, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Name: "w", From: b.dir})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.k.Open(t.Context(), ws, Making{}); err == nil || !strings.Contains(err.Error(), "may not read") {
			t.Errorf("%v", err)
		}
		hidden = nil
		if _, err := b.k.Open(t.Context(), ws, Making{}); err != nil {
			t.Errorf("once it may be read: %v", err)
		}
	}
}
