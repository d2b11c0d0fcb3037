package search

import (
	"bytes"
	"context"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func engineFor(t testing.TB, q query) *engine {
	t.Helper()
	re, err := regexp.Compile(q.regexp)
	if err != nil {
		t.Fatal(err)
	}
	return &engine{re: re, need: required(q.regexp), q: q, full: new(atomic.Bool), large: make(chan struct{}, 1)}
}

func TestRequired(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"needle": "needle whole", `func \w+Error\(`: "Error(", "foo|barbaz": "foo barbaz", "a.*bcd": "bcd",
		"(?i)Needle_In": "needle_in fold", "(?i)task": "ta fold", "(?i)ks": "", "(?i)123": "123 whole", "x*": "",
		"(?:abc)?d": "d",
		"(abc)+":    "abc", "(?:ab){2,}": "ab", "[a-z]+": "", "a\r": "a", "(?i)é-x": "-x fold", ".": "", "a|b*": "",
		"\\x{FFFD}ab": "ab", "": "",
	} {
		re, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		l := required(re.String())
		if l != nil {
			for _, x := range l.texts {
				if got = append(got, string(x.text)); x.fold {
					got = append(got, "fold")
				}
			}
			if l.whole {
				got = append(got, "whole")
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s needs %q, want %q", pattern, got, want)
		}
	}
}

// Looking for literals first, part by part, finds the lines that trying the pattern on each
// line of the whole file finds, with their numbers and with the lines around them.
func TestLinesAgreeWithPattern(t *testing.T) {
	t.Parallel()
	words := []string{"needle", "NEEDLE", "nee", "dle", " ", "\n", "\r\n", "task", "TA\u017fK", "\u212a", "\xff", "é",
		"_", "x", "12"}
	patterns := []string{"needle", "(?i)needle", "(?i)task", "nee|dle", "(?i)k", "(?i)x_?1", `\bneedle\b`, "^nee",
		"dle$",
		"n.*x", `\s$`, "^$", "x*", "[[:upper:]]+", "é", "(?i)É", "_x|12+|(?i)nee"}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a test that can be repeated
		var b strings.Builder
		for range r.IntN(300) {
			b.WriteString(words[r.IntN(len(words))])
		}
		content := []byte(b.String())
		before, after := r.IntN(4), r.IntN(4)
		for _, pattern := range patterns {
			q := query{regexp: pattern, mode: modeContent, before: before, after: after}
			want := naive(content, regexp.MustCompile(pattern), before, after)
			for _, size := range []int{1 << 16, 64, 7} {
				w := engineFor(t, q).worker()
				found := &haul{}
				s := lines{worker: w, found: found}
				p := part{r: bytes.NewReader(content), left: int64(len(content)), buf: make([]byte, size),
					end: len(content) == 0}
				s.parts(context.Background(), &p, 0)
				var got []record
				for _, x := range found.records {
					got = append(got, record{line: x.line, isMatch: x.isMatch, text: x.text})
				}
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d, %s, %d bytes at once, context %d %d:\n%q\n got %v\nwant %v", seed, pattern, size,
						before, after, content, got, want)
				}
			}
		}
	}
}

func naive(content []byte, re *regexp.Regexp, before, after int) []record {
	var all []record
	for rest := content; len(rest) > 0; {
		var text []byte
		text, rest = cutLine(rest)
		all = append(all, record{line: len(all) + 1, isMatch: re.Match(text), text: shape(text)})
	}
	var out []record
	for i, l := range all {
		near := false
		for j := max(0, i-after); j <= min(len(all)-1, i+before); j++ {
			near = near || all[j].isMatch
		}
		if near {
			out = append(out, l)
		}
	}
	return out
}
