package gate_test

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
)

// TestAskOfCall: a call that wants a person's yes gets no other, in any mode and whatever rules allow; where nobody is
// asked it is denied, and the model of mode auto is not asked in the person's place.
func TestAskOfCall(t *testing.T) {
	t.Parallel()
	g := gate.NewTools([]troupe.ToolFacts{{Name: "MergeWorktree", Class: troupe.ClassEdit}})
	for mode, want := range map[troupe.Mode]troupe.Effect{
		troupe.ModeDefault: troupe.Ask, troupe.ModeAcceptEdits: troupe.Ask, troupe.ModeBypass: troupe.Ask,
		troupe.ModeAuto: troupe.Ask, troupe.ModeDontAsk: troupe.Deny, troupe.ModePlan: troupe.Deny,
	} {
		d := g.Decide(gate.Query{Tool: "MergeWorktree", Roots: []string{"/p"}, Chain: []gate.Layer{{Mode: mode}},
			Access: troupe.Access{Class: troupe.ClassEdit, Writes: []string{"/p/a"}, Ask: "a person decides"}})
		if d.Effect != want || !strings.Contains(d.Why, "a person decides") || d.Auto || d.Grant != "" {
			t.Errorf("mode %s: %+v", mode, d)
		}
	}
}
