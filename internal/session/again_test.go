package session_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// TestGoesOnAfterStop: an agent that was stopped and sent a message is at work again for whoever sent
// it, although the end of the run before is read only later: TaskOutput waits for the new run.
func TestGoesOnAfterStop(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		main []troupe.Reply // after X was begun
		slow time.Duration  // how long X's tool takes to notice a stop
		told string         // what the message's result says
	}{
		"it had ended": {main: []troupe.Reply{call("TaskStop:X")}, told: `"X" had ended (cancelled)`},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			main := append([]troupe.Reply{call("Agent:&X"), call("Read:a")}, tt.main...)
			main = append(main, call("SendMessage:X go on", "TaskOutput:X"), call("TaskOutput:X"), say("ok"))
			x := []troupe.Reply{call("Bash:a"), call("Read:b"), call("Read:c"), call("Read:d"), say("the new words")}
			p := h.start(plays{"main": main, "main/X": x}.reply, func(p *process) {
				p.deps = func(d *session.Deps) { d.Tools = slow(tt.slow) }
			}).begin(troupe.Caps{MaxDepth: 1}).end()
			sent := len(main) - 2
			wants(t, h.result(h.root, sent, 0), tt.told)
			first := h.result(h.root, sent, 1)
			wants(t, first, "<status>completed</status>", "the new words")
			if strings.Contains(first, "killed") {
				t.Errorf("%s: TaskOutput tells the old run's end", name)
			}
			wants(t, h.result(h.root, sent+1, 0), "<status>completed</status>")
			for _, e := range h.events(h.root) {
				b, ok := e.Body.(troupe.MailDelivered)
				if !ok || b.Mail[0].Ended == nil {
					continue
				}
				if o := b.Mail[0].Ended; o.Run != 1 || !o.Earlier {
					t.Errorf("%s: the end of run %d is told, said to be earlier: %v", name, o.Run, o.Earlier)
				}
			}
			requests := p.llm.of(h.root)
			wants(t, string(body(requests[len(requests)-1])), "an earlier run; it has gone on since")
			h.checkTree()
			checkPrefix(t, p)
		})
	}
}

// slow is the set of tools with a Bash that runs until it is stopped and then takes its time.
func slow(after time.Duration) tool.Set {
	return tools().Map(func(d tool.Descriptor) tool.Descriptor {
		if d.Name == "Bash" {
			d.Runner = lingering{fake{name: "Bash"}, after}
		}
		return d
	})
}

type lingering struct {
	fake
	after time.Duration
}

func (l lingering) Prepare(tool.Env, string) (tool.Prepared, error) { return l, nil }

func (l lingering) Run(ctx context.Context, _ tool.Env) (tool.Output, error) {
	<-ctx.Done()
	<-time.After(l.after)
	return tool.Errorf("stopped"), nil
}

// TestMessageWhileStopping: until a stop has ended a run, it is open which run a message belongs to. So TaskOutput
// tells the end of that run, and nothing is lost: the next run has the words, and its end is told by itself.
func TestMessageWhileStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		main := []troupe.Reply{call("Agent:&X"), call("Read:a"), call("TaskStop:X"),
			call("SendMessage:X go on", "TaskOutput:X"), say("I wait"), say("ok")}
		x := []troupe.Reply{call("Bash:a"), say("the new words")}
		p := h.start(plays{"main": main, "main/X": x}.reply, func(p *process) {
			p.deps = func(d *session.Deps) { d.Tools = slow(20 * time.Second) }
		}).begin(troupe.Caps{MaxDepth: 1}).end()
		wants(t, h.result(h.root, 4, 1), "<status>killed</status>")
		requests := p.llm.of(h.root)
		wants(t, string(body(requests[len(requests)-1])), "the new words")
		if o := h.ends(h.root); len(o) != 2 || o[0].Run != 1 || o[1].Run != 2 || o[1].Status != troupe.Completed {
			t.Errorf("the ends told are %+v", o)
		}
		h.checkTree()
		checkPrefix(t, p)
	})
}
