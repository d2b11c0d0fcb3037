package gate

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// A walk that asks folder by folder what rules keep from being read in it, and goes into nothing
// that they do, sees what a question about each path would have it see, whatever the rules.
func TestHiddenInIsHidden(t *testing.T) {
	t.Parallel()
	names := []string{"a", "ab", "A", ".env", "proj"}
	parts := []string{"a", "ab", "a*", "**", "*", ".env", ".env.*", "?b", "proj", "B*"}
	anchors := []string{"", "./", "/", "//", "~/", "../", "//proj/"}
	asked, hid, none := 0, 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test that can be repeated
		var chain []Layer
		var texts []string
		for range 1 + r.IntN(3) {
			text := anchors[r.IntN(len(anchors))] + parts[r.IntN(len(parts))]
			for range r.IntN(3) {
				text += "/" + parts[r.IntN(len(parts))]
			}
			written := troupe.Rule{Effect: []troupe.Effect{troupe.Deny, troupe.Ask}[r.IntN(2)],
				Text: "Read(" + text + ")", Source: "test"}
			if parsed, err := ParseRule(written); err == nil {
				chain, texts = append(chain, Layer{Rules: []rule.Rule{parsed}}), append(texts, text)
			}
		}
		home := []string{"/a", "", "/proj/ab"}[r.IntN(3)]
		roots := []string{[]string{"/proj", "/a/proj"}[r.IntN(2)]}
		hidden, in := Hidden(chain, roots, home), HiddenIn(chain, roots, home)
		if (hidden == nil) != (in == nil) {
			t.Fatalf("%q: one of the tests is nil", texts)
		}
		if hidden == nil {
			continue
		}
		var walk func(folder string, depth int)
		walk = func(folder string, depth int) {
			test := in("/" + strings.TrimPrefix(folder, "/"))
			if test == nil {
				none++
			}
			for _, name := range names {
				path := folder + "/" + name
				asked++
				want := hidden(path)
				if got := test != nil && test(name); got != want {
					t.Fatalf("seed %d, %q: %q is %v by its folder, %v by its path", seed, texts, path, got, want)
				}
				if want {
					hid++
				} else if depth < 3 {
					walk(path, depth+1)
				}
			}
		}
		if !hidden("/") {
			walk("", 1)
		}
	}
	if asked < 10_000 || hid < 1_000 || none < 1_000 {
		t.Errorf("asked about %d paths, %d hidden, %d folders without a test: too few", asked, hid, none)
	}
}
