package editor

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzKeys feeds bytes at once and one by one: the keys must be the same, and what is typed
// must be text that can be shown.
func FuzzKeys(f *testing.F) {
	for _, s := range []string{
		"hello", "\x1b[A\x1bOB\x1b[1;5C", "\x1b[200~a\r\nb\x1b[201~c", "\x1b[200~never ends", "日本\xff語",
		"\x1b\r\x1b\x7f\x1b\x1b[D", "\x1b[" + strings.Repeat("1;", 50) + "m", "\x1b[2\x0300~",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var whole, pieces decoder
		want := whole.feed(in)
		var got []key
		for _, b := range in {
			got = append(got, pieces.feed([]byte{b})...)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("at once %v, one by one %v", want, got)
		}
		var x text
		for _, k := range want {
			if !utf8.ValidString(k.text) {
				t.Fatalf("%q is no text", k.text)
			}
			x.edit(k)
			if x.at < 0 || x.at > len(x.cells) {
				t.Fatalf("the cursor is at %d of %d", x.at, len(x.cells))
			}
		}
		for _, w := range []int{1, 9, 60} {
			foot := layout("tail", "> ", &x, w, 5)
			if len(foot.rows) > 5 || foot.curRow < 0 || foot.curRow >= len(foot.rows) {
				t.Fatalf("%d rows, the cursor in row %d", len(foot.rows), foot.curRow)
			}
		}
	})
}
