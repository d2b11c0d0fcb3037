package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestForkable: what can be told beforehand of a fork that would never begin is told.
func TestForkable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		depth, most int
		says        string
	}{
		{0, 1, ""}, {1, 2, ""}, {0, 0, "switched off"},
		{1, 1, "an agent at depth 1 has no forks (agents.max_depth is 1)"},
	} {
		s := troupe.Session{ID: "9m2", Root: "7k3", Depth: tt.depth}
		s.Tally.Turns = 1
		err := forkable(s, false, tt.most)
		var said *troupe.UserError
		if (err != nil) != (tt.says != "") || err != nil && (!errors.As(err, &said) ||
			!strings.Contains(said.Problem, tt.says)) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
