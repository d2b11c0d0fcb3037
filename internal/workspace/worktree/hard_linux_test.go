package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
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
			res, err := b.k.Close(t.Context(), ws, "what it did")
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
	if _, err := b.k.List(ctx, b.dir); err != nil {
		t.Error(err)
	}
}

// TestNamesThatLeadOut: a tree that was written by hand has names that lead out of the folder. They are named, and all
// else is saved.
func TestNamesThatLeadOut(t *testing.T) {
	b := newBench(t)
	put(t, filepath.Join(b.home, "x"), "outside\n")
	ws := b.made("out")
	put(t, filepath.Join(ws.Top, "mine.txt"), "mine\n")
	blob := b.git(ws.Top, "hash-object", "-w", "mine.txt")
	raw := make([]byte, 0, 20)
	for i := 0; i < len(blob); i += 2 {
		raw = append(raw, unhex(blob[i])<<4|unhex(blob[i+1]))
	}
	up, err := filepath.Rel(ws.Top, filepath.Join(b.home, "x"))
	if err != nil {
		t.Fatal(err)
	}
	tree := b.feedIn(ws.Top, "100644 "+up+"\x00"+string(raw)+"100644 .GIT\x00"+string(raw),
		"hash-object", "-t", "tree", "-w", "--literally", "--stdin")
	b.git(ws.Top, "update-ref", "HEAD", b.git(ws.Top, "commit-tree", "-m", "bad", "-p", "HEAD", tree))
	if _, err := b.k.Save(t.Context(), ws, nil); err != nil {
		t.Fatal(err)
	}
	res, err := b.k.Close(t.Context(), ws, "what it did")
	if err != nil || res.Gone || !strings.Contains(res.Kept, "x") {
		t.Errorf("%+v, %v", res, err)
	}
	if got := b.show(res.Tip, "mine.txt"); got != "mine\n" {
		t.Errorf("%q", got)
	}
}

func unhex(c byte) byte { return byte(strings.IndexByte("0123456789abcdef", c)) }

// TestNameOfAGoneFolder: the name of a workspace whose folder is gone, and whose work is kept, is refused before
// anything is told of it.
func TestNameOfAGoneFolder(t *testing.T) {
	b := newBench(t)
	w := Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Name: "once", Exact: true, From: b.dir}
	ws, err := b.k.Plan(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	b.open(ws)
	put(t, filepath.Join(ws.Top, "f1"), "L-1\n")
	if res := b.close(ws); !res.Gone {
		t.Fatalf("%+v", res)
	}
	w.Owner = newID(t)
	if _, err := b.k.Plan(t.Context(), w); err == nil {
		t.Error("it can be had again")
	}
}
