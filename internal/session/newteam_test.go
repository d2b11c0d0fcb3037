package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestBegunAsTeam: members that a tree begins with are there from its birth on and have not cost a call; the end of
// what they are given is told to their lead as any member's. If one cannot be, there is no tree.
func TestBegunAsTeam(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{
			"main":   {call("SendMessage:X do it"), say("I wait"), say("all done")},
			"main/X": {call("Bash:a"), say("done it")},
		}.reply, func(p *process) {
			inTeam(p)
			with := p.deps
			p.deps = func(d *session.Deps) {
				with(d)
				d.Tools = taking(d.Tools, time.Minute) // so that the lead has ended its turn by then
			}
		})
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
		for name, want := range map[string][2]int{"": {3, 2}, "X": {2, 2}, "Y": {0, 1}} {
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

// TestHeardFromBirth: what is said to a member as soon as it is there is heard, also before the process has set its
// lead to work.
func TestHeardFromBirth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, gap := newHome(t), &behind{}
		p := h.start(plays{"main": {say("I wait"), say("all done")}, "main/X": {say("done it")}}.reply,
			func(p *process) {
				inTeam(p)
				with := p.deps
				p.deps = func(d *session.Deps) {
					with(d)
					gap.Store, d.Store = d.Store, gap
				}
			})
		word := func() { p.send(prompt(troupe.ChildID(h.root, troupe.Coord{}), "do it")) }
		gap.then.Store(&word)
		birth := fleet.Birth{Root: h.root, ID: h.root, Cwd: "/ws", Caps: &troupe.Caps{MaxDepth: 1},
			Settings: &p.settings, Profile: role("main"), Authority: troupe.Authority{Mode: troupe.ModeBypass},
			Prompt: []troupe.Block{troupe.Text("go")},
			Manner: fleet.Manner{Team: &troupe.TeamChanged{Team: &troupe.Team{Name: "t"}}}}
		asLead(&birth)
		if err := p.hub.Begin(t.Context(), birth, troupe.NewMember{Name: "X"}); err != nil {
			t.Fatal(err)
		}
		p.end()
		if x := h.called("X"); x.Run != 2 || x.Tally.Turns != 1 {
			t.Errorf("X has made %d replies in %d runs", x.Tally.Turns, x.Run)
		}
	})
}
