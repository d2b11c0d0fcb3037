package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestTreeTime: the time of a run is the whole tree's. It goes on when the main agent has ended
// its turn, and what wakes that one meanwhile does not prolong it; what is left when it is up is
// stopped in good order, however deep it is, and the end says so. Whoever sets the tree to work
// anew, with a word or as another process, has all of the time again.
func TestTreeTime(t *testing.T) {
	t.Parallel()
	const limit = 10500 * time.Millisecond
	background := []troupe.Reply{call("Agent:&X"), say("I wait")}
	tests := map[string]struct {
		plays plays
		do    func(*process) *process // after five seconds
		ends  time.Duration
		runs  int
		held  bool // something was at work when the time was up
	}{
		"an agent":  {plays: plays{"main": background, "main/X": reads(100)}, ends: limit, runs: 2, held: true},
		"a command": {plays: plays{"main": {call("Bash:&1h"), say("I wait")}}, ends: limit, runs: 2, held: true},
		"below another": {plays: plays{"main": background, "main/X": {call("Agent:&Z"), say("I wait too")},
			"main/X/Z": reads(100)}, ends: limit, runs: 3, held: true},
		"woken": {plays: plays{"main": {call("Agent:&X", "Agent:&Y"), say("I wait")}, "main/X": reads(2),
			"main/Y": reads(100)}, ends: limit, runs: 3, held: true},
		"done in time":     {plays: plays{"main": background, "main/X": reads(2)}, ends: 7 * time.Second, runs: 2},
		"all over by then": {plays: plays{"main": {say("that is it")}}, ends: time.Second, runs: 1},
		"another word": {plays: plays{"main": background, "main/X": reads(100)}, do: func(p *process) *process {
			p.send(prompt(p.root, "by the way"))
			return p
		}, ends: 5*time.Second + limit, runs: 3, held: true},
		"another process": {plays: plays{"main": background, "main/X": reads(100)}, do: func(p *process) *process {
			p.pool.Close()
			pass(time.Hour)
			return p.adopt(plays{"main": background, "main/X": reads(100)}.reply, true)
		}, ends: 5*time.Second + time.Hour + limit, runs: 2, held: true},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			began := time.Now()
			p := h.start(tt.plays.reply, func(p *process) {
				p.deps = func(d *session.Deps) { d.Tools = shells() }
			}).beginAs(troupe.Caps{MaxDepth: 2}, func(b *fleet.Birth) { b.Profile.Limits.MaxTime = limit })
			if tt.do != nil {
				pass(5 * time.Second)
				p = tt.do(p)
			}
			p.end()
			if took := time.Since(began); took != tt.ends {
				t.Errorf("%s: over after %s, want %s", name, took, tt.ends)
			}
			s := h.get(h.root)
			if late := s.Status == troupe.Failed && s.Cause == troupe.CauseLimit; late != tt.held || s.Run != tt.runs {
				t.Errorf("%s: main ended as %s (%s) in run %d: %s", name, s.Status, s.Cause, s.Run, s.Error)
			}
			if s.Result == "" {
				t.Errorf("%s: what main had said is gone", name)
			}
			h.checkTree()
		})
	}
}
