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
	asked, hid, none := 0, 0, 0
	for seed := range uint64(1000) {
		chain, texts, roots, home := rulesAboutReading(seed)
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

// rulesAboutReading makes rules that keep files from being read, the same for the same seed.
func rulesAboutReading(seed uint64) (chain []Layer, texts, roots []string, home string) {
	parts := []string{"a", "ab", "a*", "**", "*", ".env", ".env.*", "?b", "proj", "B*"}
	anchors := []string{"", "./", "/", "//", "~/", "../", "//proj/"}
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test that can be repeated
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
	home = []string{"/a", "", "/proj/ab"}[r.IntN(3)]
	return chain, texts, []string{[]string{"/proj", "/a/proj"}[r.IntN(2)]}, home
}

// TestNamesOfHidden: what rules hide below a folder has a name on its way there that tells of it.
func TestNamesOfHidden(t *testing.T) {
	t.Parallel()
	names := []string{"a", "ab", "A", ".env", ".env.b", "proj", "x"}
	told, hid := 0, 0
	for seed := range uint64(1000) {
		chain, texts, roots, home := rulesAboutReading(seed)
		h := HidesFor(chain, roots, home)
		may := h.Names(roots[0])
		if h.Test == nil || may == nil {
			continue
		}
		told++
		for _, one := range names {
			for _, two := range names {
				for _, three := range names {
					path := strings.Join([]string{roots[0], one, two, three}, "/")
					if !h.Test(path) {
						continue
					}
					hid++
					if !may(one) && !may(two) && !may(three) {
						t.Fatalf("seed %d, %q: %s is hidden, and none of its names may be", seed, texts, path)
					}
				}
			}
		}
	}
	if told < 100 || hid < 1000 {
		t.Errorf("names told of %d sets of rules, which hid %d files", told, hid)
	}
}

// TestKeysOfHidden: tests for what rules hide have the same key if, and only if, they are about the same places.
func TestKeysOfHidden(t *testing.T) {
	t.Parallel()
	key := func(root, home, text string) string {
		chain := []Layer{{Rules: []rule.Rule{parse(t, troupe.Deny, text)}}}
		return HidesFor(chain, []string{root}, home).Key
	}
	one := key("/proj", "/home/u", "Read(a/*.key)")
	if again := key("/proj", "/home/u", "Read(a/*.key)"); again != one {
		t.Errorf("the same rule has the keys %q and %q", one, again)
	}
	for name, other := range map[string]string{
		"another pattern": key("/proj", "/home/u", "Read(b/*.key)"),
		"another project": key("/other", "/home/u", "Read(a/*.key)"),
		"another home":    key("/proj", "/home/v", "Read(a/*.key)"),
	} {
		if other == one {
			t.Errorf("%s has the same key %q", name, one)
		}
	}
}
