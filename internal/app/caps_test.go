package app

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestAskedCaps: a limit that a tree has had is raised by what is asked for alone, not by settings.
func TestAskedCaps(t *testing.T) {
	t.Parallel()
	usd := func(d float64) troupe.Money { return troupe.Dollars(d) }
	for name, x := range map[string]struct {
		settings, had, want troupe.Caps
		asked               wire.Begin
	}{
		"settings alone": {settings: troupe.Caps{MaxCost: usd(5), MaxTokens: 50, MaxTotal: 5},
			want: troupe.Caps{MaxCost: usd(5), MaxTokens: 50, MaxTotal: 5}},
		"asked for": {settings: troupe.Caps{MaxCost: usd(5), MaxTokens: 50, MaxTotal: 5},
			had:   troupe.Caps{MaxCost: usd(1), MaxTokens: 10, MaxTotal: 1},
			asked: wire.Begin{MaxUSD: 9, MaxTokens: 90, MaxAgents: 9},
			want:  troupe.Caps{MaxCost: usd(9), MaxTokens: 90, MaxTotal: 9}},
		"had less": {settings: troupe.Caps{MaxCost: usd(5), MaxTokens: 50, MaxTotal: 5},
			had:  troupe.Caps{MaxCost: usd(1), MaxTokens: 10, MaxTotal: 1},
			want: troupe.Caps{MaxCost: usd(1), MaxTokens: 10, MaxTotal: 5}},
		"had more": {settings: troupe.Caps{MaxCost: usd(5), MaxTokens: 50},
			had: troupe.Caps{MaxCost: usd(7), MaxTokens: 70}, want: troupe.Caps{MaxCost: usd(5), MaxTokens: 50}},
		"had some where settings say none": {had: troupe.Caps{MaxCost: usd(7), MaxTokens: 70},
			want: troupe.Caps{MaxCost: usd(7), MaxTokens: 70}},
	} {
		if got := askedCaps(x.settings, given(x.asked, troupe.Given{}), x.had); got != x.want {
			t.Errorf("%s: %+v, want %+v", name, got, x.want)
		}
	}
}
