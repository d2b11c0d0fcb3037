//go:build unix

package chat

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestContinueCountsOnce: the cost of a conversation that goes on is that of its agents, each of them once.
func TestContinueCountsOnce(t *testing.T) {
	t.Parallel()
	f := remembers(2)
	f.happened(childID, 30, troupe.Replied{Reply: 2, Cost: troupe.Dollars(0.25)})
	f.before[2].CostUSD = 0.25 // beside the main agent's 0.5
	p := sit(t, f, wire.Begin{Continue: true})
	p.sees("\ny/n/? + Enter?")
	p.Keys("/status\r")
	p.shows("cost     $0.7500\n")
}
