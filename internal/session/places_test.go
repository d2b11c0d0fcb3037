package session

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// TestYesIsForItsPlaces: a yes counts for the places of its question alone. Where those are others by now, or were
// not noted, as in versions that did not know them, the question is asked again and says why.
func TestYesIsForItsPlaces(t *testing.T) {
	t.Parallel()
	here := troupe.Access{Writes: []string{"/p/a"}}
	tests := map[string]struct {
		noted  string
		access troupe.Access
		effect troupe.Effect
		why    string
	}{
		"the same": {placesOf(here, nil), here, troupe.Allow, ""},
		"others": {placesOf(troupe.Access{Writes: []string{"/p/b"}}, nil), here, troupe.Ask,
			"was for other places"},
		"not noted":                 {"", here, troupe.Ask, "notes no places"},
		"not noted, and about none": {"", troupe.Access{}, troupe.Allow, ""},
	}
	for name, tt := range tests {
		c := candidate{snapshot: &snapshot{asks: true}}
		c.call = turn.Call{Answer: &troupe.Answer{Effect: troupe.Allow},
			Asked: &troupe.Request{RequestBody: troupe.RequestBody{Kind: troupe.RequestPermission, Places: tt.noted}}}
		d := c.withLeave(troupe.Decision{Effect: troupe.Ask, Why: "no rule"}, tt.access)
		if d.Effect != tt.effect || !strings.Contains(d.Why, tt.why) || !strings.HasSuffix(d.Why, "no rule") {
			t.Errorf("%s: %s: %s", name, d.Effect, d.Why)
		}
	}
}
