package worktree

import (
	"path/filepath"
	"testing"
)

// TestFoldersAboveGo: the folder that two workspaces share goes with the end of one of them while it is empty; the
// other is made, and gets its place back, all the same. Red before: "no such file or directory", where that came
// between the making of the folder and its use; and a folder that had to stay was never found again.
func TestFoldersAboveGo(t *testing.T) {
	for _, at := range []string{"above", "named", "left"} {
		t.Run(at, func(t *testing.T) {
			b := newBench(t)
			one, two := b.plan("both/one"), b.plan("both/two")
			b.open(two)
			if at == "left" {
				b.open(one)
			}
			p, err := b.k.place(one)
			if err != nil {
				t.Fatal(err)
			}
			ended, k := false, b.keeper()
			k.step = func(name string) error {
				if name != at || ended {
					return nil
				}
				ended = true
				if res := b.close(two); !res.Gone || there(filepath.Dir(one.Top)) {
					t.Errorf("closed: %+v; the folder above is there: %v", res, there(filepath.Dir(one.Top)))
				}
				if at == "left" {
					put(t, filepath.Join(p.leave, "late.txt"), "late\n")
				}
				return nil
			}
			if at != "left" {
				if _, err := k.Open(t.Context(), one, Making{}); err != nil {
					t.Fatal(err)
				}
			} else if res, err := k.Close(t.Context(), one, Ending{}); err != nil || res.Gone ||
				res.Kept != "something was written there while it was ended" {
				t.Errorf("closed: %+v, %v", res, err)
			}
			if !ended || !there(filepath.Join(one.Top, "a.txt")) || there(p.leave) {
				t.Errorf("ended: %v, there: %v, beside: %v", ended, there(one.Top), there(p.leave))
			}
		})
	}
}

// TestPutBackAboveGone: a folder that a killed end had moved away gets its place again though the folder above has gone
// with another.
func TestPutBackAboveGone(t *testing.T) {
	b := newBench(t)
	one, two := b.made("both/one"), b.made("both/two")
	put(t, filepath.Join(one.Top, "late.txt"), "late\n")
	k := b.keeper()
	k.step = func(name string) error {
		if name == "left" {
			panic(errKilled)
		}
		return nil
	}
	if err := until(func() error { _, err := k.Close(t.Context(), one, Ending{}); return err }); err == nil {
		t.Fatal("it was not killed")
	}
	b.close(two)
	b.open(one)
	if got := get(filepath.Join(one.Top, "late.txt")); got != "late\n" {
		t.Errorf("late.txt: %s", got)
	}
}
