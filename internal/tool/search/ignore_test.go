package search

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/tool"
)

// TestBracesOfGitignore: braces mean themselves in a .gitignore, as git has them, so that no stranger's file takes all
// the time there is.
func TestBracesOfGitignore(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		line, name string
		want       bool
	}{
		{"{a,b}.txt", "a.txt", false}, {"{a,b}.txt", "{a,b}.txt", true}, {`\{a,b\}.txt`, "{a,b}.txt", true},
		{"*.{x}", "a.{x}", true}, {"*.{x}", "a.x", false}, {"[{]*", "{z", true},
		{strings.Repeat("{a,a}", 40) + "x", strings.Repeat("a", 40), false},
	} {
		r, ok := parseRule(literalBraces().Replace(x.line))
		if !ok || r.matches("", x.name, false) != x.want {
			t.Errorf("%q: %q: read %v, matches %v", x.line, x.name, ok, !x.want)
		}
	}
}

// TestPatternOfTooMany: a pattern that stands for more than is ever meant is refused with words.
func TestPatternOfTooMany(t *testing.T) {
	t.Parallel()
	_, err := parseGlob(tool.Env{Cwd: t.TempDir()}, "Glob", strings.Repeat("{a,a}", 40)+"x", "")
	if err == nil || !strings.Contains(err.Error(), "`pattern` is not a valid pattern") {
		t.Error(err)
	}
}
