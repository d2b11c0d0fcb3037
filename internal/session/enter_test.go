package session_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/troupe-dev/troupe"
)

// TestEnteredGoesOn: a main agent that goes on in a worktree in another process is no other agent in it, so that what
// it leaves there is closed; one that it started there is.
func TestEnteredGoesOn(t *testing.T) {
	t.Parallel()
	for _, kid := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h, f := newHome(t), newFolders()
			second := call("Edit:b")
			if kid {
				second = call("Agent:&Kid")
			}
			model := plays{"main": {call("In:"), call("Edit:a"), say("ok"), second, call("Out:"), say("out")},
				"main/Kid": reads(30)}.reply
			p := h.start(model, f.withTrees)
			p.settings.Attended = true
			p.beginAs(troupe.Caps{MaxDepth: 1}, inTrees).end()
			q := h.adopt(model, true, f.withTrees)
			q.send(prompt(h.root, "go on"))
			q.end()
			got := fmt.Sprint(f.notes)
			if !strings.Contains(got, "close mine done") || kid != strings.Contains(got, "close mine stays") {
				t.Errorf("with another agent in it, %v: %s", kid, got)
			}
			if s := h.get(h.root); s.Dir() != "/ws" {
				t.Errorf("it is in %s", s.Dir())
			}
			h.checkTree()
		})
	}
}
