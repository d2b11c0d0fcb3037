package worktree

import (
	"fmt"
	"path/filepath"
	"testing"
)

// TestMisencoded: a file that is not in the encoding that attributes say it has is kept as it is, with all else, shown
// and merged; those that are stay converted.
func TestMisencoded(t *testing.T) {
	b := newBench(t)
	ws := b.made("encoded")
	const utf16 = "\xff\xfeh\x00i\x00\n\x00"
	put(t, filepath.Join(ws.Top, ".gitattributes"), "*.rc working-tree-encoding=UTF-16\n*.l1 "+
		"working-tree-encoding=no-such-encoding\n")
	put(t, filepath.Join(ws.Top, "plain.rc"), "plain")
	put(t, filepath.Join(ws.Top, "right.rc"), utf16)
	put(t, filepath.Join(ws.Top, "odd.l1"), "odd\n")
	put(t, filepath.Join(ws.Top, "work.txt"), "work\n")
	if one, again := b.save(ws), b.save(ws); one.Files != 5 || again.Tree != one.Tree {
		t.Errorf("%+v, %+v", one, again)
	}
	res := b.close(ws)
	if !res.Gone || res.Files != 5 {
		t.Errorf("%+v", res)
	}
	for name, want := range map[string]string{"plain.rc": "plain", "right.rc": "hi\n", "work.txt": "work\n"} {
		if got := b.git(b.dir, "show", ws.Branch+":"+name); got+"\n" != want && got != want {
			t.Errorf("%s is kept as %q", name, got)
		}
	}
	if _, _, err := b.k.Diff(t.Context(), ws, ToRead); err != nil {
		t.Error(err)
	}
	b.brought(ws)
	if get(filepath.Join(b.dir, "work.txt")) != "work\n" || get(filepath.Join(b.dir, "right.rc")) != utf16 {
		t.Error("the work was not merged")
	}
}

// TestManyMisencoded: they cost no call of git each.
func TestManyMisencoded(t *testing.T) {
	b := newBench(t)
	ws := b.made("many")
	put(t, filepath.Join(ws.Top, ".gitattributes"), "*.rc working-tree-encoding=UTF-16\n")
	for i := range 5 * unencodedMost {
		put(t, filepath.Join(ws.Top, fmt.Sprintf("%d.rc", i)), "plain")
	}
	if s := b.save(ws); s.Files != 5*unencodedMost+1 {
		t.Errorf("%+v", s)
	}
}
