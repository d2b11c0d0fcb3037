package disk

import (
	"strings"
	"testing"
)

func TestBounded(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		"": true, "**/*.go": true, "{a,b}/{c,d}.{go,md}": true, "{" + strings.Repeat("a,", 900) + "b}": true,
		strings.Repeat("{a,a}", 40) + "x": false, strings.Repeat("{", 40) + strings.Repeat("a,b}", 40): false,
		strings.Repeat(`\{a,a\}`, 40): true, "}}}": true, "{{{": true, strings.Repeat("{a}", 100): true,
		"{" + strings.Repeat("a,", 2000) + "b}": false,
	} {
		if got := Bounded(pattern); got != want {
			t.Errorf("%.80q: %v", pattern, got)
		}
	}
}
