package cmd

import (
	"testing"

	"github.com/troupe-dev/troupe/internal/wire"
)

// TestSessionCost: what is not known is not shown as nothing.
func TestSessionCost(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]wire.Session{
		"?": {Unpriced: true, Tree: &wire.Sums{}}, "$1.25+?": {Unpriced: true, Tree: &wire.Sums{CostUSD: 1.25}},
		"$1.25": {Tree: &wire.Sums{CostUSD: 1.25}}, "$0.00": {Tree: &wire.Sums{}},
	} {
		if got := sessionCost(s); got != want {
			t.Errorf("%+v costs %s, want %s", s, got, want)
		}
	}
}
