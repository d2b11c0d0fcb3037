package config

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A walk that asks folder by folder what is hidden in it, and goes into nothing that is, sees
// what a question about each path would have it see, whatever the entries.
func TestHiddenInIsCovers(t *testing.T) {
	t.Parallel()
	names := []string{"a", "ab", "AB", ".env", ".Env", ".env.example", "*"}
	parts := []string{"a", "aB", "A*", "**", "*", ".env", ".ENV.*", "?b", "[a]*", "[!A]*", "[", `\*`}
	asked, hid, none := 0, 0, 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test that can be repeated
		pick := func(from []string, n int) string {
			var b strings.Builder
			for range n {
				b.WriteString("/" + from[r.IntN(len(from))])
			}
			return b.String()
		}
		h := Hidden{}
		for range 1 + r.IntN(3) {
			s := secret{glob: pick(parts, 1+r.IntN(4)), source: []string{"", "settings"}[r.IntN(2)]}
			if r.IntN(3) == 0 {
				s.except = []string{".example"}
			}
			h.add(s)
		}
		if r.IntN(3) == 0 {
			glob := pick(parts, 1+r.IntN(3))
			path, _ := Literal(glob)
			h.open = append(h.open, secret{glob: glob, path: path})
		}
		if r.IntN(3) == 0 {
			h.folder = pick(names, 1+r.IntN(3))
		}
		var walk func(folder string, depth int)
		walk = func(folder string, depth int) {
			test := h.In("/" + strings.TrimPrefix(folder, "/"))
			if test == nil {
				none++
			}
			for _, name := range names {
				path := folder + "/" + name
				_, want := h.Covers(path)
				asked++
				if got := test != nil && test(name); got != want {
					t.Fatalf("seed %d, %+v: %q is %v by its folder, %v by its path", seed, h, path, got, want)
				}
				if want {
					hid++
				} else if depth < 3 {
					walk(path, depth+1)
				}
			}
		}
		walk("", 1)
	}
	if asked < 10_000 || hid < 1_000 || none < 1_000 {
		t.Errorf("asked about %d paths, %d hidden, %d folders without a test: too few", asked, hid, none)
	}
}
