package session_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
)

// watching are hooks that are told of results, object to some, and have something to say of all.
type watching struct {
	mu   sync.Mutex
	told []string
}

func (*watching) Due(m troupe.HookMoment) bool {
	return m.Event == troupe.HookPostToolUse || m.Event == troupe.HookPostFailure
}

func (*watching) Makes(troupe.HookMoment) bool { return false }

func (*watching) Begun(troupe.HookMoment) []troupe.HookRan { return nil }

func (w *watching) Run(_ context.Context, m troupe.HookMoment, _ bool) troupe.HookSaid {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, _ := m.Fields["tool_response"].(map[string]any)
	w.told = append(w.told, fmt.Sprintf("%s %s known=%v: %v", m.Event, m.Call.Name, m.Access != nil, text["content"]))
	said := troupe.HookSaid{By: "the hook", Context: "of " + m.Call.Name,
		Ran: []troupe.HookRan{{Event: m.Event, Name: "hook"}}}
	if m.Event == troupe.HookPostToolUse {
		said.Effect, said.Why = troupe.Deny, "not nice"
	}
	return said
}

// TestHooksAfterIntents: hooks are told of the results of what the session carries out itself, once each, when these
// are in the log and before the model reads them; what they say is told with them. A call that was denied has none.
func TestHooksAfterIntents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		call  string
		rules []troupe.Rule
		told  string // the beginning of what hooks were told
		want  string // of what the model is told of it
	}{
		{"waited for", "Agent:X", nil, "PostToolUse Agent known=true: <agent-result agent=\"X\"",
			"objects to what the call of Agent did: not nice"},
		{"background", "Agent:&X", nil, "PostToolUse Agent known=true: started in the background",
			"Of the call of Agent: A hook that is set here says: of Agent"},
		{"denied", "Agent:X", []troupe.Rule{{Effect: troupe.Deny, Text: "Agent"}}, "", ""},
		{"not carried out", "SendMessage:nobody", nil, "PostToolUseFailure SendMessage known=true:",
			"Of the call of SendMessage: A hook that is set here says: of SendMessage"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h, hooks := newHome(t), &watching{}
				h.start(plays{"main": {call(tt.call), say("ok"), say("ok")}, "": {say("done")}}.reply,
					func(p *process) {
						p.deps = func(d *session.Deps) { d.Profiles = withHooks{inherits{p}, hooks} }
					}).beginAs(troupe.Caps{MaxDepth: 1}, func(b *fleet.Birth) { b.Authority.Rules = tt.rules }).end()
				if tt.told == "" {
					if len(hooks.told) > 0 {
						t.Errorf("told %q", hooks.told)
					}
					return
				}
				if len(hooks.told) != 1 || !strings.HasPrefix(hooks.told[0], tt.told) {
					t.Fatalf("told %q, want one %q", hooks.told, tt.told)
				}
				var order []string
				for _, e := range h.events(h.root) {
					switch b := e.Body.(type) {
					case troupe.ToolFinished:
						order = append(order, "result")
					case troupe.HookRan:
						order = append(order, "hook")
						if b.Coord == nil || *b.Coord != (troupe.Coord{Reply: 1}) {
							t.Errorf("the log has it at %v", b.Coord)
						}
					case troupe.MailDelivered:
						for _, m := range b.Mail {
							if strings.Contains(troupe.JoinText(m.Blocks), tt.want) {
								order = append(order, "told")
							}
						}
					case troupe.CallSealed:
						order = append(order, "sealed")
					}
				}
				if i := slices.Index(order, "result"); i < 0 || !slices.Equal(order[i:min(i+4, len(order))],
					[]string{"result", "hook", "told", "sealed"}) {
					t.Errorf("in the order %v", order)
				}
				h.checkTree()
			})
		})
	}
}

// TestHooksAfterIntentsAfterCrash: the process that goes on with a session tells hooks of a result that the one before
// had not, and of none twice.
func TestHooksAfterIntentsAfterCrash(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{time.Second, 5 * time.Second, 15 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			hooks := slowAt(troupe.HookPostToolUse)
			reply := plays{"main": {call("Agent:X"), say("ok")}, "": {say("done")}}.reply
			p := h.start(reply, hookedBy(hooks)).beginAs(troupe.Caps{MaxDepth: 1}, func(*fleet.Birth) {})
			pass(after)
			p.pool.Close()
			h.adopt(reply, true, hookedBy(hooks)).end()
			if ran := h.ran(h.root, troupe.HookPostToolUse); len(ran) != 1 {
				t.Errorf("after %s: told %+v", after, ran)
			}
			h.checkTree()
		})
	}
}
