package wire_test

import (
	"testing"

	"github.com/troupe-dev/troupe/internal/wire"
)

// TestAnywhere: the folder does not say what is meant where something else does, and only there.
func TestAnywhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   interface{ Anywhere() bool }
		want bool
	}{
		{wire.WorktreeQuery{}, true}, {wire.WorktreePrune{}, false}, {wire.WorktreePrune{All: true}, true},
		{wire.WorktreePrune{Names: []string{"x"}}, true}, {wire.Begin{}, false},
		{wire.Begin{Resume: "x"}, true}, {wire.Begin{Role: wire.Role{Repository: wire.Repository{Repo: "x"}}}, true},
		{wire.Begin{Role: wire.Role{Repository: wire.Repository{Push: true}}}, false},
	} {
		if got := c.of.Anywhere(); got != c.want {
			t.Errorf("%+v: %v", c.of, got)
		}
	}
}
