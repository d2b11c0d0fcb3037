package console

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		w    int
		want []string
	}{
		{"as it is", 0, []string{"as it is"}},
		{"", 10, []string{""}},
		{"unless answered by then", 10, []string{"unless", "answered", "by then"}},
		{"unless it", 6, []string{"unless", "it"}},
		{"in /home/somebody/settings.json", 10, []string{"in", "/home/some", "body/setti", "ngs.json"}},
		{"日本語 日本語", 7, []string{"日本語", "日本語"}},
		{"rm   -rf", 4, []string{"rm  ", "-rf"}},
		{"    deep", 6, []string{"    de", "ep"}},
	} {
		if got := Wrap(tt.in, tt.w); !slices.Equal(got, tt.want) {
			t.Errorf("%q in %d: %q", tt.in, tt.w, got)
		}
	}
	if got := WrapText("  one two three\nfour", 9); got != "  one two\n  three\nfour" {
		t.Errorf("%q", got)
	}
}

// FuzzWrap: nothing but spaces is lost, and no row is too wide.
func FuzzWrap(f *testing.F) {
	f.Add("a bc  déf 日本", 4)
	f.Fuzz(func(t *testing.T, s string, w int) {
		s = strings.ReplaceAll(Visible(s), "\n", " ")
		rows := Wrap(s, w)
		for _, r := range rows {
			if n := ansi.StringWidth(r); w > 1 && n > w {
				t.Errorf("%q is %d columns wide, not %d", r, n, w)
			}
		}
		if got := strings.ReplaceAll(strings.Join(rows, ""), " ", ""); got != strings.ReplaceAll(s, " ", "") {
			t.Errorf("%q became %q", s, rows)
		}
	})
}
