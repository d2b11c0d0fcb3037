package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// link makes a link, with the folders above it.
func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(at); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

// TestLinksInTheCallersGit: an agent that may write the caller's .git puts links where git of ours reads or writes.
// Nothing
// is read or written where they lead, nor said of what stands there, and no work is lost.
func TestLinksInTheCallersGit(t *testing.T) {
	for _, name := range []string{"packed-refs", "shallow", "info/exclude", "info", "index", "sharedindex.zz",
		"objects/pack",
		"objects/info", "refs/heads/troupe", "refs/heads/x", "logs/refs/heads/troupe", "logs/refs/heads/troupe/fix",
		"HEAD",
		"config"} {
		t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			ws := b.made("fix") // while all is well
			put(t, filepath.Join(ws.Top, "f1"), "L-1\n")
			outside := filepath.Join(t.TempDir(), "outside")
			secret := filepath.Join(outside, "key")
			put(t, secret, "SECRET=hunter2\n")
			at, to := filepath.Join(b.dir, ".git", name), secret
			if strings.HasSuffix(name, "troupe") || name == "info" || strings.HasPrefix(name, "objects/") {
				to = outside
			}
			link(t, to, at)
			res, err := b.k.Close(t.Context(), ws, Ending{Message: "what it did"})
			if err == nil && res.Gone {
				t.Errorf("it went through the link: %+v", res)
			}
			if !there(filepath.Join(ws.Top, "f1")) {
				t.Error("the work is gone")
			}
			_, e2 := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Title: "two", From: b.dir})
			if e2 == nil {
				t.Error("another one can be had")
			}
			for _, err := range []error{err, e2} {
				if err != nil && strings.Contains(err.Error(), "hunter2") {
					t.Errorf("it is told what stands there: %v", err)
				}
			}
			if got := get(secret); got != "SECRET=hunter2\n" {
				t.Errorf("written through the link: %q", got)
			}
			if list, _ := os.ReadDir(outside); len(list) != 1 {
				t.Errorf("made through the link: %v", list)
			}
		})
	}
}

// TestCommondirOfAPlainRepository: a .git folder that names another's objects and refs is not followed there.
func TestCommondirOfAPlainRepository(t *testing.T) {
	b := newBench(t)
	refs := b.git(b.dir, "for-each-ref")
	hostile := filepath.Join(t.TempDir(), "hostile")
	put(t, filepath.Join(hostile, ".git", "HEAD"), "ref: refs/heads/main\n")
	put(t, filepath.Join(hostile, ".git", "commondir"), filepath.Join(b.dir, ".git")+"\n")
	for _, name := range []string{"refs", "objects"} {
		if err := os.MkdirAll(filepath.Join(hostile, ".git", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Title: "x",
		From: hostile}); err == nil ||
		!strings.Contains(err.Error(), "objects and refs") {
		t.Error(err)
	}
	if got := b.git(b.dir, "for-each-ref"); got != refs {
		t.Error(got)
	}
}
