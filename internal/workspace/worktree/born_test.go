package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// collected has the caller delete branches, and everything that nothing of its reaches.
func (b *bench) collected(branches ...string) {
	b.t.Helper()
	for _, name := range branches {
		b.git(b.dir, "branch", "-q", "-D", name)
	}
	b.git(b.dir, "reflog", "expire", "--expire=now", "--all")
	b.git(b.dir, "gc", "-q", "--prune=now")
}

// TestBornWith: an agent's own collection goes on working when the caller deletes the branches and tags that the
// agent's repository was born with.
func TestBornWith(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"one", "two"} {
		b.git(b.dir, "checkout", "-qb", name, "main")
		b.write(name+".txt", name+"\n")
		b.git(b.dir, "add", "-A")
		b.git(b.dir, "commit", "-qm", name)
		b.git(b.dir, "tag", "-am", "of "+name, "v-"+name)
		b.git(b.dir, "tag", "-am", "of a tag", "vv-"+name, "v-"+name)
	}
	b.git(b.dir, "tag", "blob", b.git(b.dir, "rev-parse", "HEAD:two.txt"))
	b.git(b.dir, "checkout", "-q", "main")
	ws := b.made("born")
	if tags := b.git(ws.Top, "tag"); tags != "v-one\nv-two\nvv-one\nvv-two" {
		t.Errorf("tags: %s", tags)
	}
	b.git(b.dir, "tag", "-d", "v-one", "vv-one", "v-two", "vv-two", "blob")
	b.collected("one", "two")
	b.git(ws.Top, "gc", "-q", "--prune=now")
	b.fsck(filepath.Join(ws.Top, ".git"), filepath.Join(b.dir, ".git"))
	if got := b.git(ws.Top, "show", "origin/one:one.txt", "vv-two:two.txt"); got != "one\ntwo" {
		t.Errorf("shown: %q", got)
	}
	// Where the base reaches all of them, none needs to be kept.
	b.close(ws)
	plain := b.made("plain")
	refs := b.git(b.dir, "for-each-ref", "--format=%(refname)", "refs/troupe")
	if !strings.Contains(refs, refOf(plain, "base")) || strings.Contains(refs, "/born") {
		t.Errorf("refs: %s", refs)
	}
}

// branched gives the caller a branch that no base reaches.
func (b *bench) branched(name string) {
	b.t.Helper()
	b.git(b.dir, "checkout", "-qb", name)
	b.write(name+".txt", name+"\n")
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "commit", "-qm", name)
	b.git(b.dir, "checkout", "-q", "main")
}

// ended has an agent change something and end.
func (b *bench) ended(k *Keeper, ws troupe.Workspace, text string) (troupe.WorkspaceResult, error) {
	put(b.t, filepath.Join(ws.Top, "a.txt"), text)
	return k.Close(b.t.Context(), ws, Ending{Message: "what it did"})
}

// tips are the ref of what a workspace was born with, and what its record says of it.
func (b *bench) tips(ws troupe.Workspace) (ref, known string) {
	b.t.Helper()
	rec, err := readRecord(filepath.Join(b.k.data, string(ws.Owner)))
	if err != nil {
		b.t.Fatal(err)
	}
	return b.git(b.dir, "for-each-ref", "--format=%(objectname)", refOf(ws, "born")), rec.Tips
}

// TestTipsKilled: a process that ends between the ref of what was born with and the record leaves nothing that the next
// one trips over: the ref is there while the folder is, and not longer.
func TestTipsKilled(t *testing.T) {
	for _, at := range []string{"dropped tips", "kept tips"} {
		t.Run(at, func(t *testing.T) {
			b := newBench(t)
			b.branched("side")
			ws := b.plan("tips")
			k := b.keeper()
			k.step = func(name string) error {
				if name == at {
					panic(errKilled)
				}
				return nil
			}
			err := until(func() error {
				if _, err := k.Open(t.Context(), ws, Making{}); err != nil {
					return err
				}
				_, err := b.ended(k, ws, "changed\n")
				return err
			})
			if !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			// Then nothing is new in the repository that is born anew.
			_, _ = b.try(b.dir, "branch", "-qD", "troupe/tips")
			b.open(ws)
			if ref, known := b.tips(ws); ref == "" || ref != known {
				t.Errorf("the ref is %q, the record says %q", ref, known)
			}
			b.collected("side")
			b.git(ws.Top, "gc", "-q", "--prune=now")
			b.fsck(filepath.Join(ws.Top, ".git"))
			if res, err := b.ended(b.k, ws, "again\n"); err != nil || !res.Gone {
				t.Errorf("%+v %v", res, err)
			}
			if ref, known := b.tips(ws); ref+known != "" {
				t.Errorf("left: %q, %q", ref, known)
			}
		})
	}
}

// TestTipsStay: a ref that cannot be removed fails no end whose folder has gone, and the next end removes it.
func TestTipsStay(t *testing.T) {
	b := newBench(t)
	b.branched("side")
	ws := b.made("tips")
	lock := filepath.Join(b.dir, ".git", refOf(ws, "born")+".lock")
	b.k.patience = 0
	b.k.step = func(name string) error {
		if name == "gone" {
			put(t, lock, "")
		}
		return nil
	}
	res, err := b.ended(b.k, ws, "changed\n")
	if err != nil || !res.Gone {
		t.Fatalf("%+v %v", res, err)
	}
	if ref, known := b.tips(ws); ref == "" || ref != known {
		t.Errorf("the ref is %q, the record says %q", ref, known)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	b.k.step = b.keeper().step
	b.close(ws)
	if ref, known := b.tips(ws); ref+known != "" {
		t.Errorf("left: %q, %q", ref, known)
	}
}

// TestTipsStayWithFolder: what an agent's repository borrows is kept as long as its folder stays.
func TestTipsStayWithFolder(t *testing.T) {
	b := newBench(t)
	b.branched("side")
	ws := b.made("stays")
	put(t, filepath.Join(ws.Top, "x.log"), "ignored\n")
	if res := b.close(ws); res.Gone {
		t.Fatalf("%+v", res)
	}
	if ref, known := b.tips(ws); ref == "" || ref != known {
		t.Errorf("the ref is %q, the record says %q", ref, known)
	}
	b.collected("side")
	b.fsck(filepath.Join(ws.Top, ".git"))
}
