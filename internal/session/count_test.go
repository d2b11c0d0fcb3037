package session_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

// TestBirthsSincePrompt: agents.max_total counts from a person's last words on. The end of an agent in the
// background, which has main reply again, is none.
func TestBirthsSincePrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		caps := troupe.Caps{MaxDepth: 1, MaxTotal: 2}
		refused := func() (n int) {
			for _, e := range h.events(h.root) {
				if b, ok := e.Body.(troupe.ToolFinished); ok && b.Result.IsError {
					n++
					text := troupe.JoinText(b.Result.Blocks)
					for _, want := range []string{"2 agents were started", "a new prompt", "agents.max_total",
						"--max-agents"} {
						if !strings.Contains(text, want) {
							t.Errorf("the refusal does not say %q: %s", want, text)
						}
					}
				}
			}
			return n
		}
		replies := plays{"main": {
			call("Agent:&", "Agent:&", "Agent:&"), say("wait"), call("Agent:"), say("done"),
			call("Agent:", "Agent:", "Agent:"), say("done again"),
		}}
		h.start(replies.reply).begin(caps).end()
		if n := len(h.tree()); n != 1+2 || refused() != 2 {
			t.Errorf("%d sessions, %d calls refused before the second prompt", n, refused())
		}
		p := h.adopt(replies.reply, true)
		p.send(prompt(h.root, "go on"))
		p.end()
		if n := len(h.tree()); n != 1+2+2 || refused() != 3 {
			t.Errorf("%d sessions, %d calls refused after the second prompt", n, refused())
		}
		h.checkTree()
	})
}

// TestThousandsInOneReply: agents that one reply starts are all at work at once, as long as neither their
// provider nor a limit holds them up.
func TestThousandsInOneReply(t *testing.T) {
	for name, n := range map[string]int{"200": 200, "5000": 5000} {
		t.Run(name, func(t *testing.T) {
			if n > 200 && testing.Short() {
				t.Skip("without -short it runs")
			}
			synctest.Test(t, func(t *testing.T) {
				h := newHome(t)
				p := h.start(once(slices.Repeat([]string{"Agent:"}, n)...))
				began := time.Now()
				p.begin(troupe.Caps{MaxDepth: 1}).end()
				// A second for each reply of main, and one for all agents together.
				if took := time.Since(began); took > 4*time.Second {
					t.Errorf("%d agents took %v", n, took)
				}
				all := h.tree()
				if len(all) != n+1 {
					t.Fatalf("%d sessions", len(all))
				}
				for _, s := range all {
					if s.Status != troupe.Completed {
						t.Fatalf("%s is %s: %s", s.Name, s.Status, s.Error)
					}
				}
			})
		})
	}
}
