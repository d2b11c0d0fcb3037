package cmd

import (
	"testing"

	"github.com/troupe-dev/troupe/internal/wire"
)

// TestCost: what is not known is not shown as nothing.
func TestSessionCost(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]wire.Session{
		"?": {Unpriced: true}, "$1.25+?": {Unpriced: true, CostUSD: 1.25}, "$1.25": {CostUSD: 1.25}, "$0.00": {},
	} {
		if got := sessionCost(s); got != want {
			t.Errorf("%+v costs %s, want %s", s, got, want)
		}
	}
}
