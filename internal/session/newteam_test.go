package session_test

import (
	"testing"
	"testing/synctest"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
)

// TestBegunAsTeam: members that a tree begins with are there from its birth on and have not cost a call; the end of
// what they are given is told to their lead as any member's. If one cannot be, there is no tree.
func TestBegunAsTeam(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{
			"main":   {call("SendMessage:X do it"), say("I wait"), say("all done")},
			"main/X": {say("done it")},
		}.reply, inTeam)
		b := fleet.Birth{Root: h.root, ID: h.root, Cwd: "/ws", Caps: &troupe.Caps{MaxDepth: 1}, Settings: &p.settings,
			Profile: role("main"), Authority: troupe.Authority{Mode: troupe.ModeBypass},
			Prompt: []troupe.Block{troupe.Text("go")},
			Manner: fleet.Manner{Team: &troupe.TeamChanged{Team: &troupe.Team{Name: "t"}}}}
		asLead(&b)
		if err := p.hub.Begin(t.Context(), b, troupe.NewMember{Name: "X"}, troupe.NewMember{Name: "X"}); err == nil {
			t.Error("two members have one name")
		}
		if n := len(h.tree()); n != 0 {
			t.Fatalf("%d sessions are there of a team that cannot be", n)
		}
		if err := p.hub.Begin(t.Context(), b, troupe.NewMember{Name: "X"}, troupe.NewMember{Name: "Y"}); err != nil {
			t.Fatal(err)
		}
		p.end()
		for name, want := range map[string][2]int{"": {3, 2}, "X": {1, 2}, "Y": {0, 1}} {
			s := h.called(name)
			if got := [2]int{s.Tally.Turns, s.Run}; got != want || s.Status != troupe.Completed ||
				name != "" && s.Team != "t" {
				t.Errorf("%q: %d replies in %d runs, %s, of team %q", name, got[0], got[1], s.Status, s.Team)
			}
		}
		h.checkTree()
		checkPrefix(t, p)
	})
}
