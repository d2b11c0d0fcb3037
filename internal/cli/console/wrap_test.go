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

func TestShorten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		w    int
		want string
	}{
		{"as it is", 8, "as it is"},
		{"go test ./... -run TestLogin", 24, "go test ./... -run …"},
		{"Read internal/cli/chat/render/work_test.go", 34, "Read internal/cl…nder/work_test.go"},
		{"cp internal/cli/chat/render/work_test.go internal/cli/chat/run.go", 48,
			"cp interna…work_test.go internal/cli/chat/run.go"},
		{"rm -rf /elsewhere/with/a/long/name; touch made.txt", 20, "rm -rf /elsewhere/w…"},
		{"Supercalifragilistic", 8, "Superca…"},
		{"日本語日本語日本語", 8, "日本語…"},
	} {
		if got := Shorten(tt.in, tt.w); got != tt.want || ansi.StringWidth(got) > tt.w {
			t.Errorf("%q in %d: %q", tt.in, tt.w, got)
		}
	}
	if got := Middle("Look at the login of the shop #2", 20); got != "Look at… the shop #2" {
		t.Errorf("%q", got)
	}
}

// FuzzShorten: no line is too wide, and one that fits stays.
func FuzzShorten(f *testing.F) {
	f.Add("go vet ./internal/cli/chat/render déf 日本", 14)
	f.Fuzz(func(t *testing.T, s string, w int) {
		s, w = strings.ReplaceAll(Visible(s), "\n", " "), max(w, 3)
		got := Shorten(s, w)
		if n := ansi.StringWidth(got); n > w {
			t.Errorf("%q is %d columns wide, not %d", got, n, w)
		}
		if ansi.StringWidth(s) <= w && got != s {
			t.Errorf("%q became %q", s, got)
		}
	})
}
