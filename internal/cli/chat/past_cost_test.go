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

// TestContinueTellsGrants: what a person allowed the session holds when it goes on, and is said then; what settings
// allow is not.
func TestContinueTellsGrants(t *testing.T) {
	t.Parallel()
	f := remembers(2)
	f.happened(rootID, 30, troupe.AuthorityChanged{Authority: troupe.Authority{Rules: []troupe.Rule{
		{Effect: troupe.Allow, Text: "Bash(ls)", Source: "/ws/.troupe/settings.json"},
		{Effect: troupe.Allow, Text: "Edit(//ws/src/**)", Source: troupe.GrantedBy("user at terminal")}}}})
	p := sit(t, f, wire.Begin{Continue: true})
	p.sees("\ny/n/? + Enter?")
	p.shows("\nStill allowed for this session: Edit(//ws/src/**)\n┌─ #1 Older")
}
