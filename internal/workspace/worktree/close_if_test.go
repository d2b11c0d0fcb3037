package worktree

import (
	"errors"
	"path/filepath"
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
