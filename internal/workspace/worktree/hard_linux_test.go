package worktree

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

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
	if _, err := b.k.Save(t.Context(), ws, nil, ""); err != nil {
		t.Fatal(err)
	}
	res, err := b.k.Close(t.Context(), ws, Ending{Message: "what it did"})
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

// TestIncomplete: of many ids those that are not there are found, and no other.
func TestIncomplete(t *testing.T) {
	b := newBench(t)
	ws := b.made("bad")
	p, err := b.k.place(ws)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.k.keeper(p)
	if err != nil {
		t.Fatal(err)
	}
	head := b.git(b.dir, "rev-parse", "HEAD")
	ids := []string{head}
	for i := range 300 {
		ids = append(ids, fmt.Sprintf("%040x", i+1))
	}
	began := time.Now()
	bad := p.incomplete(t.Context(), r, ids, nil, "")
	if len(bad) != 300 || bad[head] {
		t.Errorf("%d are bad, the one that is there: %v", len(bad), bad[head])
	}
	t.Logf("in %v", time.Since(began))
}

// TestHugeObject: a small file that stands for a huge object is not unpacked.
func TestHugeObject(t *testing.T) {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	fmt.Fprint(z, "blob 2000000000\x00")
	z.Close()
	if err := sameObject(&packed, strings.Repeat("0", 40)); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
}

// TestNamesThatAreNoRefs: names of refs that the caller's repository cannot have keep no work from being kept.
func TestNamesThatAreNoRefs(t *testing.T) {
	b := newBench(t)
	ws := b.plan("names")
	b.open(ws)
	b.git(ws.Top, "checkout", "-qb", "x")
	put(t, filepath.Join(ws.Top, "x.txt"), "line on x\n")
	b.git(ws.Top, "add", "-A")
	b.git(ws.Top, "commit", "-qm", "x")
	put(t, filepath.Join(ws.Top, "ignored.log"), "stays\n") // so that the folder stays
	if res := b.close(ws); res.Gone {
		t.Fatalf("result: %+v", res)
	}
	b.open(ws)
	b.git(ws.Top, "checkout", "-qb", "y")
	b.git(ws.Top, "branch", "-qD", "x")
	b.git(ws.Top, "checkout", "-qb", "x/y")
	put(t, filepath.Join(ws.Top, "xy.txt"), "line on x/y\n")
	b.git(ws.Top, "add", "-A")
	b.git(ws.Top, "commit", "-qm", "xy")
	// A name with no room for the ending of a lock; git itself writes it into the list alone.
	long := "refs/heads/" + strings.Repeat("l", 253)
	id := b.git(ws.Top, "rev-parse", "HEAD")
	b.git(ws.Top, "pack-refs", "--all")
	list := filepath.Join(ws.Top, ".git/packed-refs")
	put(t, list, get(list)+id+" "+long+"\n")
	b.close(ws)
	b.has(b.dir, []string{"line on x", "line on x/y"})
}
