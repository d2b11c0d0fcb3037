package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRebuilt: a folder that is gone is made again as it was saved: files, HEAD, branches, tags and stashes.
func TestRebuilt(t *testing.T) {
	for _, way := range []string{"on its branch", "detached", "on another branch", "while it rebases"} {
		t.Run(way, func(t *testing.T) {
			b := newRaced(t)
			ws := b.made("again")
			b.work(ws)
			b.git(ws.Top, "tag", "-am", "mine", "v1")
			switch way {
			case "detached":
				b.git(ws.Top, "checkout", "-q", "--detach", "HEAD~1")
			case "on another branch":
				b.git(ws.Top, "checkout", "-qb", "fresh")
			case "while it rebases":
				b.git(ws.Top, "stash", "-qu")
				b.git(ws.Top, "checkout", "-q", "side")
				if _, err := b.try(ws.Top, "rebase", "-x", "false", "HEAD~1"); err == nil {
					t.Fatal("the rebase did not stop")
				}
			}
			// A saved state is that of the last checkpoint, not that of an older one.
			b.save(ws)
			put(t, filepath.Join(ws.Top, "late.txt"), "late\n")
			b.save(ws, filepath.Join(ws.Top, "late.txt"))
			about := func() string {
				branch, _ := b.try(ws.Top, "symbolic-ref", "HEAD")
				stashes, _ := b.try(ws.Top, "log", "-g", "--format=%H", "refs/stash", "--")
				return strings.Join([]string{branch, b.git(ws.Top, "rev-parse", "HEAD"), stashes,
					b.git(ws.Top, "for-each-ref", "--format=%(objectname) %(refname)")}, "\n")
			}
			want, files := about(), b.filesOf(ws.Top)
			if err := os.Rename(ws.Top, filepath.Join(b.home, "away")); err != nil {
				t.Fatal(err)
			}
			b.open(ws)
			if got := about(); got != want && way != "while it rebases" { // which was on no branch
				t.Errorf("made again:\n%s\nwas:\n%s", got, want)
			}
			for name, was := range files {
				if got := b.filesOf(ws.Top)[name]; got != was {
					t.Errorf("%s: %q, was %q", name, got, was)
				}
			}
			b.git(ws.Top, "stash", "list")
			b.fsck(filepath.Join(ws.Top, ".git"))
			if res := b.close(ws); !res.Gone {
				t.Errorf("result: %+v", res)
			}
		})
	}
}

func (b *bench) filesOf(folder string) map[string]string {
	inner := &bench{t: b.t, dir: folder}
	return inner.files()
}

// TestOfASubmodule: the caller may be in a submodule.
func TestOfASubmodule(t *testing.T) {
	b := newBench(t)
	outer := filepath.Join(b.home, "outer")
	b.git(b.home, "init", "-q", outer)
	b.git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", b.dir, "lib")
	b.dir = filepath.Join(outer, "lib")
	ws := b.made("lib")
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	if res := b.close(ws); !res.Gone || b.show(res.Branch, "new.txt") != "new\n" {
		t.Errorf("result: %+v", res)
	}
}

// TestCallerIsGone: when the caller's repository is gone, the work stays where it is, and it is said so.
func TestCallerIsGone(t *testing.T) {
	b := newBench(t)
	ws := b.made("orphan")
	put(t, filepath.Join(ws.Top, "mine.txt"), "mine\n")
	away := filepath.Join(b.home, "away")
	if err := os.Rename(b.dir, away); err != nil {
		t.Fatal(err)
	}
	res, err := b.k.Close(t.Context(), ws, Ending{Message: "end"})
	if err == nil && (res.Gone || res.Kept == "") || get(filepath.Join(ws.Top, "mine.txt")) != "mine\n" {
		t.Errorf("%+v, %v", res, err)
	}
	if rows, err := b.k.List(t.Context(), "", Listing{}); err != nil || len(rows) != 1 || !rows[0].Unmerged {
		t.Errorf("rows: %+v, %v", rows, err)
	}
	if removed, _, err := b.k.Prune(t.Context(), ws.Owner, Ending{}); removed {
		t.Errorf("pruned: %v", err)
	}
	if err := os.Rename(away, b.dir); err != nil {
		t.Fatal(err)
	}
	if res := b.close(ws); !res.Gone || b.show(res.Branch, "mine.txt") != "mine\n" {
		t.Errorf("back again: %+v", res)
	}
}

// TestMadeIsTold: a folder that is made, for the first time or again, is told to be, and one that is found is not.
func TestMadeIsTold(t *testing.T) {
	b := newBench(t)
	ws := b.plan("told")
	for _, want := range []bool{true, false, true} {
		made := false
		if _, err := b.k.Open(t.Context(), ws, Making{Made: func() { made = true }}); err != nil || made != want {
			t.Errorf("made: %v, want %v (%v)", made, want, err)
		}
		if !want {
			b.save(ws)
			if err := os.RemoveAll(ws.Top); err != nil {
				t.Fatal(err)
			}
		}
	}
}
