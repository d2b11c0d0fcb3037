package troupe_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestSettled: what a call leaves open is a fork where those are the default and the call asks for nothing that a fork
// cannot have, and else an agent of the general type.
func TestSettled(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in         troupe.Spawn
		forks      bool
		kind       string
		background bool
	}{
		"a type":            {in: troupe.Spawn{Type: "Explore"}, forks: true, kind: "Explore"},
		"none":              {kind: troupe.GeneralAgent},
		"none, forks":       {forks: true, kind: troupe.ForkAgent, background: true},
		"forks, it waits":   {in: troupe.Spawn{Wait: true}, forks: true, kind: troupe.ForkAgent},
		"forks, a model":    {in: troupe.Spawn{Model: "haiku"}, forks: true, kind: troupe.GeneralAgent},
		"forks, an effort":  {in: troupe.Spawn{Effort: troupe.EffortLow}, forks: true, kind: troupe.GeneralAgent},
		"forks, a role":     {in: troupe.Spawn{Role: "You look."}, forks: true, kind: troupe.GeneralAgent},
		"forks, tools":      {in: troupe.Spawn{Tools: []string{"Read"}}, forks: true, kind: troupe.GeneralAgent},
		"forks, less tools": {in: troupe.Spawn{Without: []string{"Bash"}}, forks: true, kind: troupe.GeneralAgent},
		"fork":              {in: troupe.Spawn{Fork: true}, kind: troupe.ForkAgent, background: true},
		"fork, it waits":    {in: troupe.Spawn{Fork: true, Wait: true}, kind: troupe.ForkAgent},
	} {
		got := tt.in.Settled(tt.forks)
		if got.Type != tt.kind || got.Background != tt.background || got.Fork != (tt.kind == troupe.ForkAgent) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
