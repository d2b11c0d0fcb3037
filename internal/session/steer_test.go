package session_test

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// limited gives children a profile with limits.
type limited struct {
	*process
	limits troupe.Limits
}

func (l limited) Open([]byte) (session.Roles, error) { return l, nil }

func (l limited) Resolve(troupe.Session, troupe.Spawn) (troupe.Profile, error) {
	p := role("helper")
	p.Limits = l.limits
	return p, nil
}

// TestSendMessageResumes: whatever an agent ended as, a message has it go on with all it knew:
// the same profile, and requests that begin with those it had sent, to the byte.
func TestSendMessageResumes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		first  []troupe.Reply // of main, before the message
		x      []troupe.Reply
		limits troupe.Limits
		bad    bool // X's first reply fails for good
		want   troupe.Status
	}{
		"completed": {first: []troupe.Reply{call("Agent:X")}, x: reads(1), want: troupe.Completed},
		"failed":    {first: []troupe.Reply{call("Agent:X")}, bad: true, want: troupe.Failed},
		"stopped": {first: []troupe.Reply{call("Agent:&X"), call("Read:a"), call("TaskStop:X"), call("TaskOutput:X")},
			x: reads(40), want: troupe.Cancelled},
		"max turns": {first: []troupe.Reply{call("Agent:X")}, x: reads(40), limits: troupe.Limits{MaxTurns: 2},
			want: troupe.MaxTurns},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			main := append(tt.first, call("SendMessage:x go on"), say("I wait"))
			p := h.start(plays{"main": main, "main/X": tt.x}.reply, func(p *process) {
				p.deps = func(d *session.Deps) { d.Profiles = limited{p, tt.limits} }
				failed := false
				p.llm.fail = func(r model.Request) *model.Error {
					if !tt.bad || failed || r.Agent.Path != "main/X" {
						return nil
					}
					failed = true
					return &model.Error{Fault: troupe.FaultBad, Message: "bad luck"}
				}
			}).begin(troupe.Caps{MaxDepth: 1})
			if tt.want == troupe.Cancelled {
				pass(20 * time.Second)
				p.stop(h.called("X").ID, troupe.Stop{Now: true, Tree: true}) // of the second run, which would be long
			}
			p.end()
			x := h.called("X")
			var outcomes []troupe.Status
			for _, e := range h.events(x.ID) {
				if b, ok := e.Body.(troupe.Ended); ok {
					outcomes = append(outcomes, b.Outcome.Status)
				}
			}
			if len(outcomes) != 2 || outcomes[0] != tt.want || x.Run != 2 {
				t.Errorf("%s: X ended as %v", name, outcomes)
			}
			last := h.result(h.root, len(tt.first)+1, 0)
			wants(t, last, `"X" had ended (`+string(tt.want)+`)`, string(x.ID))
			for _, r := range p.llm.of(x.ID) {
				if r.Generation != 1 {
					t.Errorf("%s: a request of generation %d", name, r.Generation)
				}
			}
			requests := p.llm.of(x.ID)
			if got := string(body(requests[len(requests)-1])); !strings.Contains(got, "go on") {
				t.Errorf("%s: the model was never sent the message", name)
			}
			h.checkTree()
			checkPrefix(t, p)
		})
	}
}

// TestSendMessageToOthers: names are compared without regard to case and are unique among the
// children of one parent; ids do too; nobody is refused with the names there are; siblings and
// strangers are not reached.
func TestSendMessageToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		alpha := troupe.ChildID(h.root, troupe.Coord{Reply: 1})
		p := h.start(plays{
			"main": {
				call("Agent:&Alpha", "Agent:&ALPHA", "Agent:&Beta"),
				call("SendMessage:aLPHA one", "SendMessage:"+string(alpha)+" two", "SendMessage:Gamma three"),
				say("I wait"),
			},
			"main/Beta":  {call("SendMessage:Alpha four", "SendMessage:"+string(h.root)+" five"), say("ok")},
			"main/Alpha": reads(4),
		}.reply).begin(troupe.Caps{MaxDepth: 2}).end()
		wants(t, h.result(h.root, 1, 1), `the name "ALPHA" is taken`)
		wants(t, h.result(h.root, 2, 0), `sent; "Alpha" reads it`)
		wants(t, h.result(h.root, 2, 2), `there is no agent "Gamma"`, `"Alpha"`, `"Beta"`)
		beta := h.called("Beta").ID
		wants(t, h.result(beta, 1, 0), `there is no agent "Alpha"`)
		wants(t, h.result(beta, 1, 1), `there is no agent`)
		requests := p.llm.of(alpha)
		wants(t, string(body(requests[len(requests)-1])), `"text":"one"`, `"text":"two"`)
		if got := body(requests[len(requests)-1]); bytes.Contains(got, []byte("four")) {
			t.Error("a sibling's message arrived")
		}
		h.checkTree()
	})
}

// TestSendMessageCancels: a message with cancel is in the log, and the agent stops after the
// step it is in; one that had ended is sent nothing.
func TestSendMessageCancels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		h.start(plays{
			"main": {call("Agent:&X"), call("SendMessage:X enough!"), call("TaskOutput:X"),
				call("SendMessage:X again!"), say("ok")},
			"main/X": reads(40),
		}.reply).begin(troupe.Caps{MaxDepth: 1}).end()
		x := h.called("X")
		if x.Status != troupe.Cancelled || x.Run != 1 {
			t.Errorf("X ended as %s in run %d", x.Status, x.Run)
		}
		var heard bool
		for _, e := range h.events(x.ID) {
			switch b := e.Body.(type) {
			case troupe.MailDelivered:
				heard = heard || troupe.JoinText(b.Mail[0].Blocks) == "enough"
			case troupe.Ended:
				if !heard {
					t.Error("X ended before it had the message in its log")
				}
			}
		}
		wants(t, h.result(h.root, 2, 0), "stops after the step")
		wants(t, h.result(h.root, 4, 0), "ended already (cancelled); nothing was sent")
		h.checkTree()
	})
}

// TestSteering: words to a session at work are in its log before its next model call; those to
// one that waits for a task end the wait; those to one that has ended begin another run.
func TestSteering(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		main []troupe.Reply
		at   time.Duration
		in   int // the request that carries the words
		runs int
	}{
		"during a model call": {reads(3), 500 * time.Millisecond, 2, 1},
		"during a tool":       {reads(3), 1500 * time.Millisecond, 2, 1},
		"at the last word":    {reads(0), 999 * time.Millisecond, 2, 1},
		"while it waits": {[]troupe.Reply{call("Agent:&X"), call("TaskOutput:X"), say("ok")}, 10 * time.Second, 3,
			2},
		"when it has ended": {reads(0), 10 * time.Second, 2, 2},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": tt.main, "main/X": reads(20)}.reply,
				func(p *process) {}).begin(troupe.Caps{MaxDepth: 1})
			pass(tt.at)
			p.send(prompt(h.root, "by the way"))
			p.end()
			first := 0
			for i, r := range p.llm.of(h.root) {
				if first == 0 && bytes.Contains(body(r), []byte("by the way")) {
					first = i + 1
				}
			}
			if s := h.get(h.root); first != tt.in || s.Run != tt.runs {
				t.Errorf("%s: the words are in request %d, want %d; %d runs, want %d", name, first, tt.in, s.Run,
					tt.runs)
			}
			h.checkTree()
			checkPrefix(t, p)
		})
	}
}

// TestStopStepOrNow: a stop after the step lets what is under way come to its end and begins
// nothing else; a stop now does not wait. Both leave a session that goes on when it is asked.
func TestStopStepOrNow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		at     time.Duration
		now    bool
		ends   time.Duration // since the stop
		result string        // of the first call
		second string        // of the second one
	}{
		{1500 * time.Millisecond, false, 500 * time.Millisecond, "did a", "not run"},
		{1500 * time.Millisecond, true, 0, "stopped", "not run"},
		{500 * time.Millisecond, false, 500 * time.Millisecond, "not run", "not run"},
		{500 * time.Millisecond, true, 0, "", ""},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {call("Edit:a", "Edit:b"), say("ok")}}.reply).begin(troupe.Caps{})
			pass(tt.at)
			stopped := time.Now()
			p.stop(h.root, troupe.Stop{Now: tt.now, By: "somebody"})
			if err := p.hub.Wait(t.Context(), h.root); err != nil {
				t.Error(err)
			}
			name := fmt.Sprintf("stop at %s, now %v", tt.at, tt.now)
			if took := time.Since(stopped); took != tt.ends {
				t.Errorf("%s: took %s", name, took)
			}
			if s := h.get(h.root); s.Status != troupe.Cancelled || s.Error != "stopped by somebody" {
				t.Errorf("%s: ended as %s: %s", name, s.Status, s.Error)
			}
			if tt.result != "" {
				wants(t, h.result(h.root, 1, 0), tt.result)
				wants(t, h.result(h.root, 1, 1), tt.second)
			}
			p.send(prompt(h.root, "go on"))
			p.end()
			if s := h.get(h.root); s.Status != troupe.Completed || s.Run != 2 {
				t.Errorf("%s: asked to go on, it ended as %s in run %d: %s", name, s.Status, s.Run, s.Error)
			}
			h.checkTree()
			checkPrefix(t, p)
		})
	}
}

// TestStopBeforeFirstRun: an agent that is stopped while it waits for a slot can go on later
// like any other; the stop was not meant for that run.
func TestStopBeforeFirstRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{
			"main": {call("Agent:&X", "Agent:&Y"), call("TaskStop:Y"), call("SendMessage:Y after all"),
				say("I wait")},
			"main/X": reads(5),
		}.reply).begin(troupe.Caps{MaxDepth: 1, MaxActive: 1}).end()
		if y := h.called("Y"); y.Status != troupe.Completed || len(p.llm.of(y.ID)) == 0 {
			t.Errorf("Y ended as %s: %s", y.Status, y.Error)
		}
		h.checkTree()
	})
}

// TestCancelBeforeFirstRun: an agent that waits for a slot and is sent its last words does not
// begin a run because of them.
func TestCancelBeforeFirstRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{
			"main":   {call("Agent:&X", "Agent:&Y"), call("SendMessage:Y enough!"), say("I wait")},
			"main/X": reads(5),
		}.reply).begin(troupe.Caps{MaxDepth: 1, MaxActive: 1}).end()
		if y := h.called("Y"); y.Status != troupe.Cancelled || y.Run != 0 || len(p.llm.of(y.ID)) != 0 {
			t.Errorf("Y is %s in run %d", y.Status, y.Run)
		}
		h.checkTree()
	})
}

// TestTreeStops: a stop of the tree takes tasks in the background along, also when the run it
// was meant for is over; a stop of the run alone leaves them.
func TestTreeStops(t *testing.T) {
	t.Parallel()
	for _, tree := range []bool{false, true} {
		for _, at := range []time.Duration{1500 * time.Millisecond, 10 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				h := newHome(t)
				p := h.start(plays{"main": {call("Agent:&X"), say("I wait")},
					"main/X":   {call("Agent:&Z"), say("I wait too")},
					"main/X/Z": reads(10)}.reply).begin(troupe.Caps{MaxDepth: 2})
				pass(at)
				p.stop(h.root, troupe.Stop{Now: true, Tree: tree})
				p.end()
				all := h.tree()
				if at > 5*time.Second && len(all) != 3 {
					t.Errorf("%d sessions", len(all))
				}
				z := all[len(all)-1]
				if got := z.Status == troupe.Cancelled; got != tree {
					t.Errorf("stop of the tree %v at %s: %q ended as %s", tree, at, z.Name, z.Status)
				}
				h.checkTree()
			})
		}
	}
}

// TestBornAs: what a session was born with is what it has in its last run.
func TestBornAs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{"main": {call("Agent:X"), call("SendMessage:X more"), say("I wait")}}.reply)
		p.beginAs(troupe.Caps{MaxDepth: 1}, func(b *fleet.Birth) { b.Profile.Prompt = "as I was told" })
		p.end()
		for _, s := range h.tree() {
			requests := p.llm.of(s.ID)
			for _, r := range requests[1:] {
				if !reflect.DeepEqual(r.Head, requests[0].Head) || r.Model != requests[0].Model {
					t.Errorf("%q is another one in a later request", s.Name)
				}
			}
		}
	})
}

// TestHeardBeforeSeal: words and stops that arrive while a session commits something are heard
// before it seals its next model call.
func TestHeardBeforeSeal(t *testing.T) {
	t.Parallel()
	for _, stop := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			var p *process
			said := false
			p = h.start(plays{"main": {call("Agent:&X"), say("I wait")}}.reply, func(p *process) {
				p.deps = func(d *session.Deps) {
					d.Store = afterCommit{d.Store, func(e troupe.Event) {
						if _, begun := e.Body.(troupe.ToolStarted); !begun || said {
							return
						}
						said = true
						if stop {
							p.stop(h.root, troupe.Stop{Now: true, By: "somebody"})
						} else {
							p.send(prompt(h.root, "by the way"))
						}
					}}
				}
			}).begin(troupe.Caps{MaxDepth: 1}).end()
			requests := p.llm.of(h.root)
			if stop && len(requests) > 2 { // X's end is another run
				t.Errorf("%d model calls, and it was stopped before the second", len(requests))
			}
			if !stop {
				wants(t, string(body(requests[1])), "by the way")
			}
			if s := h.events(h.root); stop && !slices.ContainsFunc(s, func(e troupe.Event) bool {
				b, ok := e.Body.(troupe.Ended)
				return ok && b.Outcome.Status == troupe.Cancelled && b.Outcome.Tally.Turns == 1
			}) {
				t.Error("its run was not stopped after its first reply")
			}
			h.checkTree()
		})
	}
}

// TestLook: mail that another process leaves in the store is heard by whoever hosts the tree when
// it looks, again and again, once, by sessions at work and by those that have ended.
func TestLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{"main": {call("Agent:X"), call("Read:a", "Read:b"),
			say("ok")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) { d.PulseEvery = time.Second / 10 }
		}).begin(troupe.Caps{MaxDepth: 1})
		leave := func(mail ...troupe.Mail) {
			err := h.db.Open().Update(t.Context(), h.root, func(tx store.Tx) error {
				for _, m := range mail {
					m.ID, m.Root, m.SentAt = troupe.MailID("left:"+m.To), h.root, time.Now()
					if _, err := tx.Send(m); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		pass(3500 * time.Millisecond) // X has ended, main reads
		x := h.called("X").ID
		leave(prompt(h.root, "by the way"), prompt(x, "and you"))
		p.end()
		for _, id := range []troupe.SessionID{h.root, x} {
			heard := 0
			for _, e := range h.events(id) {
				if b, ok := e.Body.(troupe.MailDelivered); ok && b.Mail[0].ID == troupe.MailID("left:"+id) {
					heard++
				}
			}
			if heard != 1 || h.get(id).Status != troupe.Completed {
				t.Errorf("%s heard it %d times and is %s", id, heard, h.get(id).Status)
			}
		}
		h.checkTree()
	})
}

// TestCancelReachesAll: a message with cancel stops the agent with all that is at work below it,
// also below somebody whose own run is over.
func TestCancelReachesAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		h.start(plays{
			"main": {call("Agent:&X"), call("Read:0"), call("Read:1"), call("SendMessage:X enough!"),
				say("I wait")},
			"main/X":     append([]troupe.Reply{call("Agent:&Y")}, reads(100)...),
			"main/X/Y":   {call("Agent:&Z"), say("I wait too")},
			"main/X/Y/Z": reads(100),
		}.reply).begin(troupe.Caps{MaxDepth: 3}).end()
		if z := h.called("Z"); z.Status != troupe.Cancelled || h.called("X").Status != troupe.Cancelled {
			t.Errorf("X ended as %s, Z as %s", h.called("X").Status, z.Status)
		}
		h.checkTree()
	})
}

// afterCommit is a store that tells of events once they are committed, before whoever committed
// them goes on.
type afterCommit struct {
	store.Store
	tell func(troupe.Event)
}

func (s afterCommit) Update(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
	var seen *seenTx
	err := s.Store.Update(ctx, root, func(tx store.Tx) error {
		seen = &seenTx{Tx: tx}
		return fn(seen)
	})
	for i := 0; err == nil && i < len(seen.events); i++ {
		s.tell(seen.events[i])
	}
	return err
}

type seenTx struct {
	store.Tx
	events []troupe.Event
}

func (t *seenTx) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	t.events = append(t.events, events...)
	return t.Tx.Append(l, s, events)
}

// TestMailWhileWaking: a message that comes while another has its reader loaded is read as well,
// and the tree comes to its end.
func TestMailWhileWaking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(func(r model.Request) troupe.Reply {
			if r.Agent.Path == "main" && r.Agent.Reply == 1 {
				return call("Agent:X")
			}
			return say("done")
		}).begin(troupe.Caps{MaxDepth: 1})
		pass(time.Minute)
		x := h.called("X").ID
		rounds := 200
		if testing.Short() {
			rounds = 20
		}
		for n := range rounds {
			var both sync.WaitGroup
			for i := range 8 {
				name := []string{"llm/one", "llm/two"}[i%2]
				m := troupe.Mail{ID: troupe.MailID(fmt.Sprint(n, ":", i)), Root: h.root, To: x, Kind: troupe.MailModel,
					Model: name}
				both.Go(func() {
					if _, err := p.hub.Send(t.Context(), h.root,
						func(store.Tx) ([]troupe.Mail, error) { return []troupe.Mail{m}, nil }); err != nil {
						t.Error(err)
					}
				})
			}
			both.Wait()
			pass(time.Minute)
			h.view(func(r store.Reader) error {
				left, err := r.Unread(x)
				if len(left) > 0 {
					t.Fatalf("nobody has read %d pieces of mail", len(left))
				}
				return err
			})
		}
		p.end()
	})
}

// TestStopBetweenRuns: a stop of the whole tree that comes while the main agent waits for a task,
// and the task has its last words to commit, is not undone by the news of that task's end.
func TestStopBetweenRuns(t *testing.T) {
	t.Parallel()
	for what, task := range map[string]string{"agent": "Agent:&X", "command": "Bash:&2500ms"} {
		synctest.Test(t, func(t *testing.T) {
			h, gap := newHome(t), &behind{}
			p := h.start(plays{"main": {call(task), say("I wait")}, "main/X": {call("Read:a"), say("late")}}.reply,
				func(p *process) {
					p.deps = func(d *session.Deps) { d.Tools, gap.Store = shells(), d.Store; d.Store = gap }
				}).begin(troupe.Caps{MaxDepth: 1})
			pass(3200 * time.Millisecond) // main has ended its run
			stop := func() { p.stop(h.root, troupe.Stop{Now: true, Tree: true, By: "somebody"}) }
			gap.first.Store(&stop)
			p.end()
			if s := h.get(h.root); s.Run != 1 {
				t.Errorf("%s: main is in run %d", what, s.Run)
			}
			h.checkTree()
		})
	}
}

// TestStoppedStaysStopped: what ends in the background behind a session that a person has stopped begins no run of
// it, and is told with the person's next words.
func TestStoppedStaysStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{"main": {call("Bash:&30s"), call("Bash:1h"), say("I read it")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) { d.Tools = shells() }
		}).begin(troupe.Caps{})
		pass(5 * time.Second)
		p.stop(h.root, troupe.Stop{Now: true, By: "a person"})
		pass(time.Minute)
		if s := h.get(h.root); s.Run != 1 || s.Status != troupe.Cancelled {
			t.Errorf("main is %s in run %d", s.Status, s.Run)
		}
		p.send(prompt(h.root, "go on"))
		p.end()
		if s := h.get(h.root); s.Run != 2 || s.Status != troupe.Completed {
			t.Errorf("main is %s in run %d", s.Status, s.Run)
		}
		told := false
		for _, e := range h.events(h.root) {
			b, ok := e.Body.(troupe.MailDelivered)
			told = told || ok && slices.ContainsFunc(b.Mail,
				func(m troupe.Mail) bool { return m.Kind == troupe.MailTaskEnded })
		}
		if !told {
			t.Error("the command's end did not come with the person's words")
		}
		h.checkTree()
	})
}
