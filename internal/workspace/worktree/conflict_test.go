package worktree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConflict(t *testing.T) {
	text := "a\n<<<< ours\n1\n2\n|||| base\n====\n3\n>>>> theirs\nb\n<<<< ours\n|||| base\nx\n====\n>>>> theirs\n"
	pieces, err := parseConflict(text, 4)
	if err != nil {
		t.Fatal(err)
	}
	if got := renderConflict(pieces, 4, "ours", "base", "theirs"); got != text {
		t.Errorf("rendered: %s", got)
	}
	number(pieces, "new\na\n1\n2\nb\n", oursOf)
	number(pieces, "a\nb\nx\n", baseOf)
	number(pieces, "a\n3\nb\n", theirsOf)
	want := []piece{{text: "a\n"},
		{hunk: &Hunk{Lines{3, "1\n2\n"}, Lines{2, ""}, Lines{2, "3\n"}}}, {text: "b\n"},
		{hunk: &Hunk{Lines{6, ""}, Lines{3, "x\n"}, Lines{4, ""}}}}
	if diff := cmp.Diff(want, pieces, cmp.AllowUnexported(piece{})); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"<<<<\n", "====\n", "<<<<\n====\n>>>>\n", "<<<< a\n|||| b\n>>>> c\n", ">>>> x"} {
		if got, err := parseConflict(bad, 4); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
	if got := sizeFor(7, "<<<<<<<< x\n", "a ========== b\n=======\n"); got != 9 {
		t.Errorf("size: %d", got)
	}
	if got := sizeFor(7, strings.Repeat("<", 1<<20)); got != 0 {
		t.Errorf("size: %d", got)
	}
}

func FuzzConflict(f *testing.F) {
	f.Add("a\n", "1\n", "", "3\n", "b")
	f.Add("", "<<<<<<< x\n", "=======\r\n", "||||||| b\n", ">>>>>>>")
	f.Fuzz(func(t *testing.T, before, ours, base, theirs, after string) {
		whole := func(s string) string {
			if s != "" && !strings.HasSuffix(s, "\n") {
				return s + "\n"
			}
			return s
		}
		// Whatever it is, it is taken apart or refused.
		if pieces, err := parseConflict(before+ours+base+theirs+after, 7); err == nil {
			if len(pieces) > 0 {
				number(pieces, ours, oursOf)
			}
		}
		before, ours, base, theirs = whole(before), whole(ours), whole(base), whole(theirs)
		size := sizeFor(markerShown, before, ours, base, theirs, after)
		if size == 0 {
			return
		}
		want := []piece{{text: before}, {hunk: &Hunk{Lines{Text: ours}, Lines{Text: base}, Lines{Text: theirs}}},
			{text: after}}
		var some []piece
		for _, p := range want {
			if p.hunk != nil || p.text != "" {
				some = append(some, p)
			}
		}
		got, err := parseConflict(renderConflict(want, size, "ours", "base", "theirs"), size)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(some, got, cmp.AllowUnexported(piece{})); diff != "" {
			t.Error(diff)
		}
	})
}
