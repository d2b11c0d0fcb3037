package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCloseIf: who closes a folder in which nobody worked when they looked does not take it from an agent that has gone
// back to it since.
func TestCloseIf(t *testing.T) {
	b := newBench(t)
	ws := b.made("left")
	put(t, filepath.Join(ws.Top, "one.txt"), "one\n")
	rows, err := b.k.Names("")
	if err != nil || len(rows) != 1 || rows[0].Ended {
		t.Fatalf("%+v, %v", rows, err)
	}
	b.open(ws)
	res, err := b.k.Close(t.Context(), ws, Ending{If: &rows[0]})
	if !errors.Is(err, ErrOpened) || res.Gone || !there(ws.Top) {
		t.Errorf("%+v, %v", res, err)
	}
	row, err := b.k.Look(t.Context(), ws, Listing{})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := b.k.Close(t.Context(), ws, Ending{If: &row}); err != nil || !res.Gone {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestLeftIsPutBack: what was written into a folder that had left its place to go, when its end was cut short, is part
// of the next end.
func TestLeftIsPutBack(t *testing.T) {
	b := newBench(t)
	ws := b.made("left")
	put(t, filepath.Join(ws.Top, "one.txt"), "one\n")
	p, err := b.k.place(ws)
	if err != nil {
		t.Fatal(err)
	}
	k := b.keeper()
	k.step = func(name string) error {
		if name == "left" {
			put(t, filepath.Join(p.leave, "late.txt"), "late\n")
			panic(errKilled)
		}
		return nil
	}
	err = until(func() error { _, err := k.Close(t.Context(), ws, Ending{}); return err })
	if !errors.Is(err, errKilled) || there(ws.Top) {
		t.Fatal(err)
	}
	if res := b.close(ws); !res.Gone || b.show(res.Tip, "late.txt") != "late\n" || there(p.leave) {
		t.Errorf("%+v", res)
	}
}

// TestLosingNoCommits: who has it that what git cannot keep goes with the folder has not said so of commits.
func TestLosingNoCommits(t *testing.T) {
	b := newBench(t)
	ws := b.made("losing")
	put(t, filepath.Join(ws.Top, "mine.txt"), "mine\n")
	ref := filepath.Join(ws.Top, ".git/refs/heads/lacks")
	put(t, ref, strings.Repeat("ab", 20)+"\n")
	var told []string
	end := Ending{Losing: func(what string) { told = append(told, what) }}
	res, err := b.k.Close(t.Context(), ws, end)
	if err != nil || res.Gone || !strings.Contains(res.Kept, "its commits could not all be kept") || len(told) > 0 ||
		!there(ws.Top) {
		t.Errorf("%+v, %v, told %q", res, err, told)
	}
	put(t, filepath.Join(ws.Top, "x.log"), "ignored\n")
	if err := os.Remove(ref); err != nil {
		t.Fatal(err)
	}
	if res, err := b.k.Close(t.Context(), ws, end); err != nil || !res.Gone || len(told) != 1 {
		t.Errorf("%+v, %v, told %q", res, err, told)
	}
}

// TestBranchMadeMeanwhile: a branch that another process makes under the name of the agent's, while the agent's work is
// brought, is not moved.
func TestBranchMadeMeanwhile(t *testing.T) {
	b := newBench(t)
	ws := b.made("raced")
	put(t, filepath.Join(ws.Top, "one.txt"), "one\n")
	first := b.git(b.dir, "rev-parse", "HEAD")
	b.k.step = func(name string) error {
		if name == "transferred" {
			b.git(b.dir, "branch", ws.Branch, first)
		}
		return nil
	}
	res := b.close(ws)
	if got := b.git(b.dir, "rev-parse", ws.Branch); got != first || res.Branch != ws.Branch+"-2" ||
		b.git(b.dir, "rev-parse", res.Branch) != res.Tip {
		t.Errorf("its branch is %s; %+v", got, res)
	}
}
