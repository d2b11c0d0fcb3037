package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSave(t *testing.T) {
	b := newBench(t)
	ws := b.made("saved")
	none := b.save(ws)
	if none.Files != 0 || none.Tree == "" {
		t.Errorf("nothing changed: %+v", none)
	}
	a, n := filepath.Join(ws.Top, "a.txt"), filepath.Join(ws.Top, "deep/new.txt")
	put(t, a, "changed\n")
	put(t, n, "new\n")
	put(t, filepath.Join(ws.Top, "x.log"), "ignored\n")
	known := b.save(ws, a, n, filepath.Join(ws.Top, "x.log"), filepath.Join(ws.Top, "sub/b.txt"),
		filepath.Join(ws.Top, "never/was"), "/etc/passwd")
	unknown := b.save(ws)
	if known.Tree == none.Tree || unknown.Tree != known.Tree || known.Files != 2 {
		t.Errorf("known %+v, then unknown %+v", known, unknown)
	}
	if err := os.Remove(n); err != nil {
		t.Fatal(err)
	}
	put(t, a, "one\ntwo\nthree\n")
	if back := b.save(ws, a, n); back.Tree != none.Tree {
		t.Errorf("undone: %+v, want the tree %s", back, none.Tree)
	}
	// A folder where a file was, and a file where a folder was.
	if err := os.RemoveAll(filepath.Join(ws.Top, "sub")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(ws.Top, "sub"), "a file\n")
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(a, "in.txt"), "in\n")
	known = b.save(ws, filepath.Join(ws.Top, "sub"), filepath.Join(a, "in.txt"), a)
	if again := b.save(ws); again.Tree != known.Tree || known.Tree == none.Tree {
		t.Errorf("swapped: %+v, %+v", known, again)
	}
}

// TestBrokenHeadReplacesNothing: where the agent's HEAD refers to what is not there, what it was before stays the HEAD.
func TestBrokenHeadReplacesNothing(t *testing.T) {
	b := newBench(t)
	ws := b.made("broken")
	put(t, filepath.Join(ws.Top, "mine.txt"), "mine\n")
	b.git(ws.Top, "add", "-A")
	b.git(ws.Top, "commit", "-qm", "mine")
	good := b.git(ws.Top, "rev-parse", "HEAD")
	b.save(ws)
	put(t, filepath.Join(ws.Top, ".git", "refs", "heads", ws.Branch), strings.Repeat("ab", 20)+"\n")
	res := b.close(ws)
	if res.Gone || res.Tip != good || !strings.Contains(res.Kept, "its commits could not all be kept") {
		t.Errorf("%+v, its commit is %s", res, good)
	}
}

// TestForcedIsKept: a file that the agent committed though it is ignored is no file that was deleted since.
func TestForcedIsKept(t *testing.T) {
	b := newBench(t)
	ws := b.made("forced")
	put(t, filepath.Join(ws.Top, "x.log"), "forced\n")
	b.git(ws.Top, "add", "-f", "x.log")
	b.git(ws.Top, "commit", "-qm", "forced")
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	if res := b.close(ws); b.show(res.Tip, "x.log") != "forced\n" || res.Files != 2 {
		t.Errorf("%+v", res)
	}
}

// TestManyHeads: of as many commits as there are where the agent's HEAD has been, all come to the caller's repository.
func TestManyHeads(t *testing.T) {
	b := newBench(t)
	ws := b.made("many")
	var in, log strings.Builder
	const many = parentsMost + 1
	for i := range many {
		fmt.Fprintf(&in, "commit refs/heads/x%d\nmark :%d\ncommitter A <a@example.com> %d +0000\ndata 0\n\n", i, i+1, i)
	}
	marks := filepath.Join(b.home, "marks")
	b.feedIn(ws.Top, in.String(), "fast-import", "--quiet", "--export-marks="+marks)
	was := b.git(ws.Top, "rev-parse", "HEAD")
	var ids []string
	for line := range strings.Lines(get(marks)) {
		_, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		ids = append(ids, id)
		fmt.Fprintf(&log, "%s %s A <a@example.com> 1 +0000\tcheckout: moving\n", was, id)
	}
	if len(ids) != many {
		t.Fatalf("%d commits", len(ids))
	}
	b.shell(ws.Top, "git for-each-ref --format='delete %(refname)' 'refs/heads/x*' | git update-ref --stdin")
	put(t, filepath.Join(ws.Top, ".git/logs/HEAD"), log.String())
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	b.close(ws)
	all := b.git(b.dir, "rev-list", "--all")
	lacks := slices.DeleteFunc(ids, func(id string) bool { return strings.Contains(all, id) })
	if len(lacks) > 0 {
		t.Errorf("%d of %d are reached by nothing", len(lacks), many)
	}
}
