package app

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestForkLimits: a fork has 200 turns at most, or fewer where its call or the tree says so; what its parent's
// definition says for a beginning, and its mode, do not hold for it.
func TestForkLimits(t *testing.T) {
	t.Parallel()
	parent := troupe.Profile{Type: "Explore", Mode: troupe.ModeBypass, Limits: troupe.Limits{MaxTurns: 3}}
	parent.InitialPrompt, parent.Background, parent.Notes = "first", true, []string{"its model is not to be had"}
	for _, tt := range []struct{ asked, most, want int }{
		{0, 0, 200}, {5000, 0, 200}, {7, 0, 7}, {0, 50, 50}, {0, 5000, 200}, {7, 50, 7}, {60, 50, 50},
	} {
		p := &profiles{definitions: definitions{Most: tt.most, Limits: troupe.Limits{MaxTurns: 4, MaxTokens: 5}}}
		f := p.Fork(parent, troupe.Spawn{MaxTurns: tt.asked})
		if f.Limits.MaxTurns != tt.want || f.Limits.MaxTokens != 5 {
			t.Errorf("a fork that may take %d turns, in a tree where %d may be taken, is held to %+v, want %d turns",
				tt.asked, tt.most, f.Limits, tt.want)
		}
		if f.Type != "Explore" || !f.Fork || f.Mode != "" || f.InitialPrompt != "" || f.Background || f.Notes != nil {
			t.Errorf("a fork begins as %+v", f)
		}
	}
}
