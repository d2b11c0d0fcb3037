package search

import (
	"fmt"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// To look at the name first is quicker, and changes nothing about what matches.
func TestMatcherIsThePattern(t *testing.T) {
	t.Parallel()
	parts := []string{"a", "*.go", "*", "**", "a?", "[ab].go", "{a,b}*", "{a/b,c}", "!a", "#a", `\*`, "a ", "a**", ".a"}
	prefixes := []string{"", "a/", "b/", "a/b/", "c/d/e/"}
	names := []string{"a", "b", "a.go", "b.go", ".a", "!a", "#a", "*", "a ", "ab", "c", "x.txt", "a\r"}
	matched := 0
	for _, one := range append([]string{""}, parts...) {
		for _, two := range parts {
			pattern := two
			if one != "" {
				pattern = one + "/" + two
			}
			m := newMatcher(pattern)
			for _, prefix := range prefixes {
				for _, name := range names {
					want := doublestar.MatchUnvalidated(pattern, prefix+name)
					if got := m.matches(prefix, name); got != want {
						t.Errorf("%q matches %q: %v, want %v", pattern, prefix+name, got, want)
					}
					if want {
						matched++
					}
				}
			}
		}
	}
	if matched < 500 {
		t.Errorf("only %d matches", matched)
	}
}

// What is let go while files are gathered is never among the newest.
func TestNewest(t *testing.T) {
	t.Parallel()
	var files []found
	for i := range 3 * maxHeld {
		at := time.Unix(int64(i*7919%100_003), 0)
		if files = append(files, found{fmt.Sprint(i), at}); len(files) > maxHeld {
			files = newest(files)
		}
	}
	files = newest(files)
	if len(files) != maxGlob {
		t.Fatalf("%d files", len(files))
	}
	last := files[len(files)-1].at
	newer := 0
	for i := range 3 * maxHeld {
		if time.Unix(int64(i*7919%100_003), 0).After(last) {
			newer++
		}
	}
	if newer != maxGlob-1 {
		t.Errorf("%d files are newer than the last listed, want %d", newer, maxGlob-1)
	}
}
