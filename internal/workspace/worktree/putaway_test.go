package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// opened is how often a workspace was opened.
func (b *bench) opened(ws troupe.Workspace) int {
	b.t.Helper()
	row, err := b.keeper().Look(b.t.Context(), ws, Listing{})
	if err != nil {
		b.t.Fatal(err)
	}
	return row.Opened
}

func absent(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

// TestPutAway: a folder of an agent that sleeps is removed, and made again as it was; one of which something would be
// lost, or that somebody has opened since, stays.
func TestPutAway(t *testing.T) {
	b := newBench(t)
	ws := b.made("sleeper")
	lines := b.work(ws)
	files, refs := b.filesOf(ws.Top), b.git(ws.Top, "for-each-ref", "--format=%(objectname) %(refname)")
	head := b.git(ws.Top, "rev-parse", "HEAD")
	k := b.keeper()
	if gone, why, err := PutAway(t.Context(), k, ws, b.opened(ws)-1); gone || !errors.Is(err, ErrOpened) {
		t.Errorf("one that was opened since: %t, %q, %v", gone, why, err)
	}
	for range 2 { // again after it is done, it is nothing to do
		if gone, why, err := PutAway(t.Context(), k, ws, b.opened(ws)); !gone || why != "" || err != nil ||
			!absent(t, ws.Top) {
			t.Fatalf("put away: %t, %q, %v", gone, why, err)
		}
	}
	b.open(ws)
	for name, was := range files {
		if got := b.filesOf(ws.Top)[name]; got != was {
			t.Errorf("%s: %q, was %q", name, got, was)
		}
	}
	if got := b.git(ws.Top, "for-each-ref", "--format=%(objectname) %(refname)"); got != refs ||
		b.git(ws.Top, "rev-parse", "HEAD") != head {
		t.Errorf("made again:\n%s\nwas:\n%s", got, refs)
	}
	if res := b.close(ws); !res.Gone || res.Kept != "" {
		t.Errorf("its end: %+v", res)
	}
	b.has(b.dir, lines)

	for what, change := range map[string]func(ws troupe.Workspace){
		"ignored files": func(ws troupe.Workspace) {
			put(t, filepath.Join(ws.Top, ".gitignore"), "*.log\n")
			put(t, filepath.Join(ws.Top, "a.log"), "x\n")
		},
		"a merge is under way": func(ws troupe.Workspace) {
			put(t, filepath.Join(ws.Top, ".git", "MERGE_HEAD"), head+"\n")
		},
		"was made from it": func(ws troupe.Workspace) {
			inner, err := k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Name: "inner",
				From: ws.Top})
			if err != nil {
				t.Fatal(err)
			}
			b.open(inner)
		},
		"what it began with is kept in": func(ws troupe.Workspace) {
			b.git(b.dir, "update-ref", "-d", refOf(ws, "base"))
		},
	} {
		ws := b.made("stays-" + strings.Fields(what)[0] + "x")
		change(ws)
		gone, why, err := PutAway(t.Context(), k, ws, b.opened(ws))
		if gone || err != nil || !strings.Contains(why, what) || absent(t, ws.Top) {
			t.Errorf("%s: %t, %q, %v", what, gone, why, err)
		}
	}
}

// TestPutAwayBaseGone: where what an agent began with is gone when it wakes, what it did stays in the keeper, and it
// goes on once that commit is back.
func TestPutAwayBaseGone(t *testing.T) {
	b := newBench(t)
	b.git(b.dir, "commit", "-q", "--allow-empty", "-m", "of here alone")
	ws := b.made("sleeper")
	lines := b.work(ws)
	if gone, why, err := PutAway(t.Context(), b.keeper(), ws, b.opened(ws)); !gone || err != nil {
		t.Fatalf("put away: %t, %q, %v", gone, why, err)
	}
	bundle := filepath.Join(t.TempDir(), "all")
	b.git(b.dir, "bundle", "create", "-q", bundle, "--all")
	b.git(b.dir, "reset", "-q", "--hard", "HEAD~1")
	b.shell(b.dir, "git for-each-ref --format='delete %(refname)' refs/troupe refs/heads/troupe | "+
		"git update-ref --stdin; git reflog expire --expire=now --all; rm -f .git/ORIG_HEAD; git gc -q --prune=now")
	_, err := b.keeper().Open(t.Context(), ws, Making{})
	user, ok := errors.AsType[*troupe.UserError](err)
	keeper := filepath.Join(b.keeper().data, string(ws.Owner))
	if !ok || !errors.Is(err, errBaseGone) || !strings.Contains(user.Hint, "kept in "+keeper) {
		t.Fatalf("opened: %+v", err)
	}
	b.git(b.dir, "fetch", "-q", bundle, "refs/*:refs/brought/*")
	b.open(ws)
	b.close(ws)
	b.has(b.dir, lines)
}

// TestPutAwayKilled ends the process at each step. Nothing of the work is lost, and it can be done again.
func TestPutAwayKilled(t *testing.T) {
	for at := 1; ; at++ {
		b := newBench(t)
		ws := b.made("sleeper")
		lines := b.work(ws)
		n := b.opened(ws)
		k, _ := b.killed(at)
		err := until(func() error { _, _, err := PutAway(t.Context(), k, ws, n); return err })
		if err == nil {
			if at < 4 {
				t.Fatalf("it has only %d steps", at-1)
			}
			return
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if at%2 == 0 {
			if gone, why, err := PutAway(t.Context(), b.keeper(), ws, n); !gone || err != nil {
				t.Fatalf("again, killed at step %d: %t, %q, %v", at, gone, why, err)
			}
		}
		b.open(ws)
		if res := b.close(ws); !res.Gone || res.Kept != "" {
			t.Errorf("killed at step %d, its end: %+v", at, res)
		}
		b.has(b.dir, lines)
	}
}

// TestUnderway: whatever git has begun, and its refs do not tell of, keeps a folder from being put away.
func TestUnderway(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD",
		"sequencer", "BISECT_LOG"} {
		dir := t.TempDir()
		if what := underway(dir); what != "" {
			t.Errorf("nothing: %q", what)
		}
		put(t, filepath.Join(dir, ".git", name), "x")
		if underway(dir) == "" {
			t.Errorf("%s is nothing", name)
		}
	}
}

// TestPutAwayNot: an agent whose folder could not be put away has not ended.
func TestPutAwayNot(t *testing.T) {
	b := newBench(t)
	ws := b.made("stays")
	put(t, filepath.Join(ws.Top, "x.log"), "ignored\n")
	if gone, why, err := PutAway(t.Context(), b.k, ws, b.opened(ws)); gone || err != nil {
		t.Fatalf("%t, %q, %v", gone, why, err)
	}
	const live = "its agent has not ended"
	if removed, why, err := b.k.Prune(t.Context(), ws.Owner, Ending{}); removed || why != live || err != nil {
		t.Errorf("%t, %q, %v", removed, why, err)
	}
}

// TestAnotherBirth: a folder that got the number of the one that was made, as disks give them again, is another one.
func TestAnotherBirth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	info, err := os.Lstat(dir)
	if err != nil {
		t.Fatal(err)
	}
	rec := &record{State: made, Inode: inode(info), Born: bornAt(dir)}
	if rec.Inode == 0 || rec.Born == 0 {
		t.Skip("this disk does not tell")
	}
	if !rec.isOf(dir, info) {
		t.Error("it is not the one that was made")
	}
	if rec.Born--; rec.isOf(dir, info) {
		t.Error("one that was born later is the one that was made")
	}
}
