package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestPast: from checkpoint to checkpoint it is known what each file held, and that can be had again.
func TestPast(t *testing.T) {
	b := newBench(t)
	ws := b.made("past")
	a, n, odd := filepath.Join(ws.Top, "a.txt"), filepath.Join(ws.Top, "deep/no newline"), filepath.Join(ws.Top, "l")
	put(t, a, "changed\n")
	put(t, n, "new")
	first := b.save(ws)
	put(t, a, "")
	if err := os.Chmod(n, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.txt", odd); err != nil {
		t.Fatal(err)
	}
	second := b.save(ws)
	if err := os.Remove(n); err != nil {
		t.Fatal(err)
	}
	third := b.save(ws)

	past, err := b.k.Past(t.Context(), ws, []string{first.Tree, second.Tree, second.Tree, third.Tree})
	if err != nil || !past.There || len(past.Steps) != 4 {
		t.Fatalf("%+v, %v", past, err)
	}
	hash := func(text string) string { return troupe.ContentHash([]byte(text)) }
	got := func(v Version) string { return fmt.Sprint(v.Hash, v.Exec, v.Odd) }
	for i, want := range [][]string{
		{a, hash("one\ntwo\nthree\n") + "falsefalse", hash("changed\n") + "falsefalse"}, {n, "falsefalse",
			hash("new") + "falsefalse"},
	} {
		s := past.Steps[0][i]
		if have := []string{s.Path, strings.ReplaceAll(got(s.From), " ", ""), strings.ReplaceAll(got(s.To), " ",
			"")}; !slices.Equal(have, want) {
			t.Errorf("first: %q, want %q", have, want)
		}
	}
	if s := past.Steps[1]; len(s) != 3 || s[0].To.Hash != hash("") || s[1].From.Exec || !s[1].To.Exec ||
		s[1].From.Hash != s[1].To.Hash || !s[2].To.Odd {
		t.Errorf("second: %+v", s)
	}
	if s := past.Steps[3]; len(past.Steps[2]) != 0 || len(s) != 1 || s[0].To != (Version{}) {
		t.Errorf("third: %+v", s)
	}
	if c, err := b.k.Content(t.Context(), ws, past.Steps[0][1].To.ID); err != nil || string(c) != "new" {
		t.Errorf("%q, %v", c, err)
	}
	if _, err := b.k.Past(t.Context(), ws, []string{strings.Repeat("1", 40)}); err == nil {
		t.Error("a checkpoint that never was has a past")
	}
	if err := os.RemoveAll(ws.Top); err != nil {
		t.Fatal(err)
	}
	if past, err := b.k.Past(t.Context(), ws, []string{third.Tree}); err != nil || past.There {
		t.Errorf("the folder is gone: %+v, %v", past, err)
	}
}

// TestSaveSays: a checkpoint says how it differs from the one that the log has, whatever the keeper has made since, and
// an end how its run has changed the folder.
func TestSaveSays(t *testing.T) {
	b := newBench(t)
	ws := b.made("says")
	put(t, filepath.Join(ws.Top, "a.txt"), "one\nTWO\nthree\nfour\n")
	put(t, filepath.Join(ws.Top, "new.txt"), "x\ny\n")
	put(t, filepath.Join(ws.Top, "bin"), "\x00\x01")
	if err := os.Remove(filepath.Join(ws.Top, "sub/b.txt")); err != nil {
		t.Fatal(err)
	}
	want := []troupe.FileChanged{{Path: "a.txt", Added: 2, Removed: 1}, {Path: "bin", New: true},
		{Path: "new.txt", New: true, Added: 2}, {Path: "sub/b.txt", Gone: true, Removed: 1}}
	for range 2 { // the process that made the first died before its log said so
		if c := b.save(ws); c.Files != 4 || !slices.Equal(c.Changed, want) {
			t.Errorf("%+v", c)
		}
	}
	first := b.save(ws)
	for i := range troupe.MostChanged + 50 {
		put(t, filepath.Join(ws.Top, fmt.Sprintf("many/%d", i)), "x\n")
	}
	c, err := b.k.Save(t.Context(), ws, nil, first.Tree)
	if err != nil || c.Files != troupe.MostChanged+50 || len(c.Changed) != troupe.MostChanged {
		t.Errorf("%d of %d, %v", len(c.Changed), c.Files, err)
	}
	put(t, filepath.Join(ws.Top, "bin"), "text\n")
	res, err := b.k.Close(t.Context(), ws, Ending{Message: "end", Began: c.Tree})
	if err != nil || res.Files != troupe.MostChanged+54 || res.Run == nil || res.Run.Files != 1 ||
		res.Run.Changed[0].Path != "bin" {
		t.Errorf("%+v, %v", res.Run, err)
	}
}
