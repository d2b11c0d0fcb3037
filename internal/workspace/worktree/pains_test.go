package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestPains5: no clean-up destroys work, whatever the agent and the caller remove and collect meanwhile.
func TestPains5(t *testing.T) {
	b := newBench(t)
	ws := b.made("pains")
	lines := b.work(ws)
	b.save(ws)
	// The agent removes what it has, and collects.
	b.git(ws.Top, "branch", "-qD", "side")
	b.git(ws.Top, "stash", "clear")
	b.git(ws.Top, "reflog", "expire", "--expire=now", "--all")
	b.git(ws.Top, "gc", "-q", "--prune=now")
	// So does the caller, who has rewritten the commit that all of it is on.
	b.git(b.dir, "commit", "-q", "--amend", "-m", "rewritten")
	b.git(b.dir, "reflog", "expire", "--expire=now", "--all")
	b.git(b.dir, "gc", "-q", "--prune=now")
	b.git(b.dir, "worktree", "prune")
	res := b.close(ws)
	if !res.Gone {
		t.Fatalf("result: %+v", res)
	}
	b.git(b.dir, "branch", "-qD", res.Branch)
	b.git(b.dir, "reflog", "expire", "--expire=now", "--all")
	b.git(b.dir, "gc", "-q", "--prune=now")
	b.has(b.dir, lines)
	b.fsck(filepath.Join(b.dir, ".git"))
	if removed, why, err := b.k.Prune(t.Context(), ws.Owner, Ending{}); removed || err != nil || why == "" {
		t.Errorf("pruned unmerged work: %v, %q, %v", removed, why, err)
	}
	// It goes on where it was.
	b.open(ws)
	if got := get(filepath.Join(ws.Top, "untracked/deep.txt")); got != "line untracked\n" {
		t.Errorf("rebuilt: %q", got)
	}
	if got := b.git(ws.Top, "status", "--porcelain", "--branch"); got != "## "+ws.Branch {
		t.Errorf("status there: %s", got)
	}
	b.fsck(filepath.Join(ws.Top, ".git"))
}

// TestIgnoredStays: a folder that holds ignored files which the agent made is not removed.
func TestIgnoredStays(t *testing.T) {
	b := newBench(t)
	ws := b.made("ignored")
	put(t, filepath.Join(ws.Top, "out.log"), "a long calculation\n")
	res := b.close(ws)
	if res.Gone || !strings.Contains(res.Kept, "out.log") || get(filepath.Join(ws.Top, "out.log")) == "" {
		t.Errorf("result: %+v", res)
	}
	b.open(ws)
	if err := os.Remove(filepath.Join(ws.Top, "out.log")); err != nil {
		t.Fatal(err)
	}
	if res := b.close(ws); !res.Gone || res.Kept != "" {
		t.Errorf("without it: %+v", res)
	}
}

// TestForced: what the agent commits although it is ignored stays committed.
func TestForced(t *testing.T) {
	b := newBench(t)
	ws := b.made("forced")
	put(t, filepath.Join(ws.Top, "kept.log"), "forced\n")
	b.git(ws.Top, "add", "-f", "kept.log")
	b.git(ws.Top, "commit", "-qm", "a log")
	put(t, filepath.Join(ws.Top, "a.txt"), "more\n")
	res := b.close(ws)
	if got := b.show(res.Tip, "kept.log"); got != "forced\n" || !res.Gone || res.Commits != 2 {
		t.Errorf("%+v: %q", res, got)
	}
}

// TestTwoEnds: what is committed at the end of one run is below what is at the end of the next.
func TestTwoEnds(t *testing.T) {
	for _, way := range []string{"gone", "stays", "commits"} {
		t.Run(way, func(t *testing.T) {
			b := newBench(t)
			ws := b.made("ends")
			put(t, filepath.Join(ws.Top, "one.txt"), "one\n")
			if way != "gone" {
				put(t, filepath.Join(ws.Top, "stay.log"), "ignored\n")
			}
			first := b.close(ws)
			b.open(ws)
			put(t, filepath.Join(ws.Top, "two.txt"), "two\n")
			if way == "commits" {
				b.git(ws.Top, "add", "two.txt")
				b.git(ws.Top, "commit", "-qm", "two")
			}
			second := b.close(ws)
			b.git(b.dir, "merge-base", "--is-ancestor", first.Tip, second.Tip)
			if second.Branch != ws.Branch || b.git(b.dir, "rev-parse", ws.Branch) != second.Tip ||
				b.show(second.Tip, "one.txt") != "one\n" || b.show(second.Tip, "two.txt") != "two\n" {
				t.Errorf("first %+v, second %+v", first, second)
			}
			if again := b.close(ws); again.Tip != second.Tip {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

// TestBranchOfAnother: a branch that is not ours is not moved, nor one that is checked out.
func TestBranchOfAnother(t *testing.T) {
	b := newBench(t)
	ws := b.made("mine")
	b.git(b.dir, "branch", ws.Branch)
	head := b.git(b.dir, "rev-parse", "HEAD")
	put(t, filepath.Join(ws.Top, "one.txt"), "one\n")
	res := b.close(ws)
	if res.Branch != ws.Branch+"-2" || b.git(b.dir, "rev-parse", ws.Branch) != head {
		t.Errorf("result: %+v", res)
	}
	b.git(b.dir, "checkout", "-q", res.Branch)
	b.open(ws)
	put(t, filepath.Join(ws.Top, "two.txt"), "two\n")
	if res := b.close(ws); res.Branch != ws.Branch+"-3" || b.git(b.dir, "status", "--porcelain") != "" {
		t.Errorf("checked out: %+v", res)
	}
	// What a person has committed on the branch that is the agent's own stays there.
	b = newBench(t)
	ws = b.made("mine")
	put(t, filepath.Join(ws.Top, "one.txt"), "one\n")
	res = b.close(ws)
	theirs := b.git(b.dir, "commit-tree", "-p", res.Tip, "-m", "a person's", res.Tip+"^{tree}")
	b.git(b.dir, "update-ref", "refs/heads/"+res.Branch, theirs)
	b.open(ws)
	put(t, filepath.Join(ws.Top, "two.txt"), "two\n")
	if next := b.close(ws); next.Branch != ws.Branch+"-2" || b.git(b.dir, "rev-parse", res.Branch) != theirs {
		t.Errorf("moved: %+v", next)
	}
	// A branch named “troupe” leaves no room below it.
	b = newBench(t)
	b.git(b.dir, "branch", "troupe")
	ws = b.made("mine")
	put(t, filepath.Join(ws.Top, "one.txt"), "one\n")
	if res := b.close(ws); !res.Gone || res.Branch == "" || b.git(b.dir, "rev-parse", res.Branch) != res.Tip {
		t.Errorf("no room: %+v", res)
	}
}

func TestPrune(t *testing.T) {
	b := newBench(t)
	ws := b.made("merged")
	if removed, why, err := b.k.Prune(t.Context(), ws.Owner, Ending{}); removed || err != nil || why == "" {
		t.Errorf("a live one: %v, %q, %v", removed, why, err)
	}
	put(t, filepath.Join(ws.Top, "one.txt"), "one\n")
	res := b.close(ws)
	rows, err := b.k.List(t.Context(), ws.Of, Listing{})
	if err != nil || len(rows) != 1 || !rows[0].Unmerged || rows[0].There || !rows[0].Ended || rows[0].Bytes == 0 ||
		rows[0].Tip != res.Tip {
		t.Errorf("rows: %+v, %v", rows, err)
	}
	b.git(b.dir, "merge", "-q", res.Branch)
	row, err := b.k.Look(t.Context(), ws, Listing{})
	if err != nil || row.Unmerged {
		t.Errorf("row: %+v, %v", row, err)
	}
	removed, why, err := b.k.Prune(t.Context(), ws.Owner, Ending{})
	if !removed || why != "" || err != nil {
		t.Errorf("merged: %v, %q, %v", removed, why, err)
	}
	if got := b.git(b.dir, "for-each-ref", "--format=%(refname)"); got != "refs/heads/main" {
		t.Errorf("refs: %s", got)
	}
	if left, _ := os.ReadDir(b.k.folders); len(left) > 0 || there(filepath.Join(b.k.data, string(ws.Owner))) {
		t.Errorf("left: %v", left)
	}
	// A stash that no branch has stays.
	ws = b.made("stash")
	b.git(ws.Top, "commit", "-q", "--allow-empty", "-m", "empty")
	put(t, filepath.Join(ws.Top, "one.txt"), "stashed\n")
	b.git(ws.Top, "stash")
	res = b.close(ws)
	b.git(b.dir, "merge", "-q", res.Branch)
	removed, why, err = b.k.Prune(t.Context(), ws.Owner, Ending{})
	if !removed || !strings.Contains(why, "stash") || err != nil {
		t.Errorf("stashed: %v, %q, %v", removed, why, err)
	}
	b.git(b.dir, "gc", "-q", "--prune=now")
	b.has(b.dir, []string{"stashed"})
	// What was merged into the caller's folder alone stays below refs/troupe; its branch goes.
	ws = b.made("brought")
	put(t, filepath.Join(ws.Top, "two.txt"), "two\n")
	res = b.close(ws)
	if row, err := b.k.Look(t.Context(), ws, Listing{}); err != nil || !row.Unmerged {
		t.Errorf("row: %+v, %v", row, err)
	}
	b.write("two.txt", "two\n")
	if row, err := b.k.Look(t.Context(), ws, Listing{}); err != nil || row.Unmerged {
		t.Errorf("brought: %+v, %v", row, err)
	}
	removed, why, err = b.k.Prune(t.Context(), ws.Owner, Ending{})
	tip := "refs/troupe/" + string(ws.Owner) + "/tip"
	if !removed || why != "its commits stay as "+tip+", for no branch of yours has all of them" || err != nil ||
		b.git(b.dir, "rev-parse", tip) != res.Tip || b.branches() != "refs/heads/main" {
		t.Errorf("brought: %v, %q, %v: %s", removed, why, err, b.branches())
	}
	// A branch that was gone on with stays, and so does one that is checked out.
	for name, on := range map[string]bool{"on": true, "out": false} {
		ws = b.made(name)
		put(t, filepath.Join(ws.Top, name), name)
		res = b.close(ws)
		b.write(name, name)
		wt := filepath.Join(b.home, "wt-"+name)
		b.git(b.dir, "worktree", "add", "-q", wt, res.Branch)
		if on {
			b.git(wt, "commit", "-q", "--allow-empty", "-m", "on")
			b.git(b.dir, "worktree", "remove", "-f", wt)
		}
		removed, why, err = b.k.Prune(t.Context(), ws.Owner, Ending{})
		want := map[bool]string{false: "checked out"}[on] // one that was gone on with is the caller's own
		if !removed || !strings.Contains(why, want) || err != nil || !strings.Contains(b.branches(), res.Branch) {
			t.Errorf("%s: %v, %q, %v: %s", name, removed, why, err, b.branches())
		}
	}
	if _, _, err := b.k.Prune(t.Context(), troupe.SessionID("../../etc"), Ending{}); err == nil {
		t.Error("a path was pruned")
	}
}

// TestWrittenWhileEnded: what a process that outlives its run writes, when all seems to be kept already, keeps the
// folder.
func TestWrittenWhileEnded(t *testing.T) {
	for _, what := range []string{"late.txt", "late.log", ".git/refs/heads/late"} {
		b := newBench(t)
		ws := b.made("late")
		put(t, filepath.Join(ws.Top, "mine.txt"), "mine\n")
		head := b.git(ws.Top, "rev-parse", "HEAD")
		b.k.step = func(name string) error {
			if name == "left" {
				put(t, filepath.Join(filepath.Dir(ws.Top), ".leave-"+string(ws.Owner), what), head+"\n")
			}
			return nil
		}
		res := b.close(ws)
		if res.Gone || res.Kept == "" || get(filepath.Join(ws.Top, what)) != head+"\n" {
			t.Errorf("%s: %+v", what, res)
		}
		b.k.step = func(string) error { return nil }
		if what == "late.txt" {
			if res := b.close(ws); !res.Gone || b.show(res.Tip, what) != head+"\n" {
				t.Errorf("again: %+v", res)
			}
		}
	}
}

func (b *bench) branches() string {
	return b.git(b.dir, "for-each-ref", "--format=%(refname)", "refs/heads")
}
