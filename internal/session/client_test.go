package session_test

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// client is a tool that a client carries out within ten minutes.
func client(p *process) {
	p.deps = func(d *session.Deps) {
		c := troupe.ClientTool{Name: "Weather", ReadOnly: true}
		with(d, tool.Descriptor{ToolFacts: c.Facts(), Intent: func(input string) (troupe.Intent, error) {
			return troupe.AskClient{Input: json.RawMessage(input), Deadline: 10 * time.Minute}, nil
		}})
	}
}

// TestClientDeadline: a call that a client carries out waits to the same moment whichever process has it, though no
// process can ask a person; what was said in time is the result, also if it is read later. Two go side by side.
func TestClientDeadline(t *testing.T) {
	t.Parallel()
	has := func(b *fleet.Birth) { b.Profile.Tools = append(b.Profile.Tools, "Weather") }
	reply := plays{"main": {call(`Weather:{"city":"Oslo"}`, `Weather:{}`), say("ok")}}.reply
	for name, tt := range map[string]struct {
		left time.Duration // when the answer is left in the home; 0: there is none
		back time.Duration // when another process takes the tree over, counted from the same moment
		want string
	}{
		"no answer":     {0, 5 * time.Minute, "There was no answer in time"},
		"read in time":  {4 * time.Minute, 5 * time.Minute, "-3 degrees"},
		"read too late": {4 * time.Minute, time.Hour, "-3 degrees"},
		"back too late": {0, time.Hour, "There was no answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHome(t)
				p := h.start(reply, client).beginAs(troupe.Caps{}, has)
				pass(time.Minute)
				opened, _ := h.requests(h.root)
				if len(opened) != 2 || opened[0].RequestBody.Kind != troupe.RequestTool ||
					string(opened[0].Input) != `{"city":"Oslo"}` {
					t.Fatalf("open are %+v", opened)
				}
				until, begun := opened[0].Until, time.Now()
				p.pool.Close()
				if tt.left > 0 {
					pass(tt.left)
					h.leave(troupe.Mail{To: h.root, Kind: troupe.MailAnswer,
						Answer: &troupe.Answer{Request: opened[0].ID,
							By: "somebody", Effect: troupe.Allow, Result: &troupe.Carried{Text: "-3 degrees"}}})
				}
				pass(time.Until(begun.Add(tt.back)))
				h.adopt(reply, true, client).end()
				_, answered := h.requests(h.root)
				if len(answered) != 2 || time.Until(until) > 0 ||
					tt.back < 10*time.Minute && time.Since(until) > time.Minute {
					t.Errorf("answered is %+v, %v after the deadline", answered, time.Since(until))
				}
				wants(t, h.result(h.root, 1, 0), tt.want)
				wants(t, h.result(h.root, 1, 1), "There was no answer in time")
				h.checkTree()
			})
		})
	}
}

// knows has children of the type helper that have the client's tool, where their parent leaves it to them.
type knows struct{ *process }

func (k knows) Open([]byte) (session.Roles, error) { return k, nil }

func (knows) Resolve(troupe.Session, troupe.Spawn) (troupe.Profile, error) {
	p := role("helper")
	p.Tools = append(p.Tools, "Weather")
	return p, nil
}

// TestClientToolsOfChildren: a child is born with a tool of the client if its parent has it, and no other one is; a
// fork has what its parent has.
func TestClientToolsOfChildren(t *testing.T) {
	t.Parallel()
	for _, has := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			reply := plays{"main": {call(`Agent:a`, `Agent:%`), say("ok"), say("ok")}, "helper": {say("ok")}}.reply
			p := h.start(reply, client, func(p *process) {
				tools := p.deps
				p.deps = func(d *session.Deps) {
					tools(d)
					d.Profiles = knows{p}
				}
			}).beginAs(troupe.Caps{MaxDepth: 2}, func(b *fleet.Birth) {
				if has {
					b.Profile.Tools = append(b.Profile.Tools, "Weather")
				}
			})
			p.end()
			children := 0
			for _, s := range h.tree() {
				if s.Parent == "" {
					continue
				}
				children++
				if got := slices.Contains(h.profile(s.ID).Tools, "Weather"); got != has {
					t.Errorf("the parent has it: %v, and %s %s: %v", has, s.Type, s.ID, got)
				}
			}
			if children == 0 {
				t.Error("there are no children")
			}
			h.checkTree()
		})
	}
}
