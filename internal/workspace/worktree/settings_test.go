package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCarriedSettings: what is harmless in the caller's repository holds in the agent's, and signing does not.
func TestCarriedSettings(t *testing.T) {
	b := newBench(t)
	put(t, filepath.Join(b.home, ".gitconfig"), "[user]\n\tname = A \\\"B\\\" \\\\ C\n[core]\n\texcludesFile = "+
		"~/ignored\n")
	put(t, filepath.Join(b.home, "ignored"), "*.mine\n")
	b.git(b.dir, "config", "user.email", "local@example.com")
	b.git(b.dir, "config", "core.autocrlf", "true")
	b.git(b.dir, "config", "commit.gpgSign", "true")
	b.git(b.dir, "config", "gpg.program", "false")
	b.git(b.dir, "config", "alias.x", "!false")
	put(t, filepath.Join(b.dir, ".git/info/exclude"), "/private\n")
	b.write("x.mine", "ignored\n")
	b.write("private", "ignored\n")
	ws := b.plan("settings")
	if base := b.open(ws); base.Dirty != 0 {
		t.Errorf("base: %+v", base)
	}
	if got := get(filepath.Join(ws.Top, "sub/b.txt")); got != "b\r\n" {
		t.Errorf("line ends: %q", got)
	}
	put(t, filepath.Join(ws.Top, "y.mine"), "ignored\n")
	put(t, filepath.Join(ws.Top, "private"), "ignored\n")
	if got := b.git(ws.Top, "status", "--porcelain"); got != "" {
		t.Errorf("status there: %s", got)
	}
	for name, want := range map[string]string{"user.name": `A "B" \ C`, "user.email": "local@example.com",
		"commit.gpgsign": "false"} {
		if got := b.git(ws.Top, "config", "--local", name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if out, err := b.try(ws.Top, "config", "--local", "--get-regexp", "alias|gpg.program|remote"); err == nil {
		t.Errorf("carried over: %s", out)
	}
	put(t, filepath.Join(ws.Top, "new.txt"), "new\r\n")
	b.save(ws)
	for _, name := range []string{"y.mine", "private"} {
		if err := os.Remove(filepath.Join(ws.Top, name)); err != nil {
			t.Fatal(err)
		}
	}
	res := b.close(ws)
	if got := b.show(res.Tip, "new.txt"); got != "new\n" || !res.Gone {
		t.Errorf("%+v: %q", res, got)
	}
	if got := b.git(b.dir, "log", "-1", "--format=%an <%ae> %s", res.Tip); got !=
		`A "B" \ C <local@example.com> what it did` {
		t.Errorf("by: %s", got)
	}
}

// TestSparse: a worktree of a sparse checkout is as sparse, and what is not checked out is not deleted.
func TestSparse(t *testing.T) {
	b := newBench(t)
	b.write("other/o.txt", "o\n")
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "commit", "-qm", "other")
	b.git(b.dir, "sparse-checkout", "set", "sub")
	ws := b.made("sparse")
	if there(filepath.Join(ws.Top, "other")) || !there(filepath.Join(ws.Top, "sub/b.txt")) {
		t.Errorf("checked out: %v", listing(t, ws.Top))
	}
	put(t, filepath.Join(ws.Top, "sub/new.txt"), "new\n")
	res := b.close(ws)
	if got := b.show(res.Tip, "other/o.txt"); got != "o\n" || res.Files != 1 || !res.Gone {
		t.Errorf("%+v: %q", res, got)
	}
}

// TestFormats: repositories of the other hash, with a split index, and those that borrow objects themselves.
func TestFormats(t *testing.T) {
	for name, make := range map[string]func(b *bench){
		"sha256": func(b *bench) {
			b.dir = filepath.Join(b.home, "sha256")
			b.git(b.home, "init", "-q", "--object-format=sha256", b.dir)
			b.write("a.txt", "a\n")
			b.git(b.dir, "add", "-A")
			b.git(b.dir, "commit", "-qm", "first")
		},
		"split index": func(b *bench) {
			b.git(b.dir, "update-index", "--split-index")
			b.write("more.txt", "more\n")
			b.git(b.dir, "add", "more.txt")
		},
		"borrows": func(b *bench) {
			for i := range 5 {
				next := filepath.Join(b.home, fmt.Sprintf("clone%d", i))
				b.git(b.home, "clone", "-q", "--shared", b.dir, next)
				b.dir = next
			}
		},
		"borrows in a circle": func(b *bench) {
			put(b.t, filepath.Join(b.dir, ".git/objects/info/alternates"), "../objects\n"+b.home+"/nowhere\n")
		},
		"packed refs, a tag": func(b *bench) {
			b.git(b.dir, "tag", "-am", "one", "v1")
			b.git(b.dir, "pack-refs", "--all")
		},
		"detached": func(b *bench) { b.git(b.dir, "checkout", "-q", "--detach") },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			make(b)
			b.write("dirty.txt", "dirty\n")
			ws := b.made("formats")
			put(t, filepath.Join(ws.Top, "new.txt"), "line that is new\n")
			b.git(ws.Top, "add", "-A")
			b.git(ws.Top, "commit", "-qm", "new")
			put(t, filepath.Join(ws.Top, "more.txt"), "line of more\n")
			b.save(ws)
			b.git(ws.Top, "gc", "-q")
			if res := b.close(ws); !res.Gone || res.Commits != 2 {
				t.Errorf("result: %+v", res)
			}
			b.has(b.dir, []string{"line that is new", "line of more", "dirty"})
			b.fsck(filepath.Join(b.dir, ".git"))
			b.open(ws)
			b.fsck(filepath.Join(ws.Top, ".git"))
		})
	}
}

// TestLocksOfOthers: the lock of another program is waited for, and named when it does not go.
func TestLocksOfOthers(t *testing.T) {
	b := newBench(t)
	ws := b.made("locks")
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	lock := filepath.Join(b.dir, ".git/refs/heads/troupe/locks.lock")
	put(t, lock, "")
	b.k.patience = 200 * time.Millisecond
	if _, err := b.k.Close(t.Context(), ws, Ending{Message: "end"}); err == nil ||
		!strings.Contains(err.Error(), "locks.lock") ||
		!there(ws.Top) {
		t.Errorf("locked: %v", err)
	}
	b.k.patience = time.Minute
	time.AfterFunc(300*time.Millisecond, func() { os.Remove(lock) })
	if res := b.close(ws); !res.Gone || res.Branch != ws.Branch {
		t.Errorf("result: %+v", res)
	}
}
