//go:build unix

package chat

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestLateAnswerIsNotSent: a lone letter just after a request went away was meant for that, and to a model
// would say something else.
func TestLateAnswerIsNotSent(t *testing.T) {
	t.Parallel()
	at := func(s int64) func(m *machine) { return func(m *machine) { m.now = time.Unix(s, 0) } }
	for _, tt := range []struct {
		when int64
		word string
		want string
	}{
		{101, "y", "say"}, {101, "F", "say"}, {101, "yes please", "send yes please"}, {102, "y", "send y"},
	} {
		m := machine{terminal: true, begun: true, working: true}
		at(100)(&m)
		open("r1")(&m)
		acts := m.escape()
		acts = append(acts, open()(&m)...)
		said := acts[len(acts)-1].text
		if !strings.Contains(said, "was closed with the turn that you stopped") {
			t.Errorf("after Esc it says %q", said)
		}
		at(tt.when)(&m)
		if got := show(m.line(tt.word, m.mark)); got != tt.want {
			t.Errorf("%q at %d: %s", tt.word, tt.when, got)
		}
	}
}

// TestModeSettlesWhatIsAsked: a mode that allows the edit that is asked about says so.
func TestModeSettlesWhatIsAsked(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) {
		f.ask(wire.Request{ID: "r1", Session: rootID, Path: "main", Tool: "Edit", Action: "x", Running: true,
			Beyond: wire.Beyond{Mode: troupe.ModeAcceptEdits}})
	})
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("go\r")
	p.sees("y/n + Enter?")
	p.Keys("/mode acceptEdits\r")
	p.shows("From now on: acceptEdits. It allows what main asks for as well, which goes on.")
}

// TestStopTellsWhatWasQueued: words that were read by a turn that was stopped had no answer, and stay with
// the agent.
func TestStopTellsWhatWasQueued(t *testing.T) {
	t.Parallel()
	f := newFake(nil)
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("go\r")
	p.sees("»")
	f.mu.Lock()
	f.slow = true
	f.mu.Unlock()
	p.Keys("write slowly\r")
	p.shows("queued: “write slowly”")
	f.add(rootID, troupe.MailDelivered{Mail: []troupe.Mail{{ID: "mail2", Kind: troupe.MailPrompt,
		Blocks: []troupe.Block{troupe.Text("write slowly")}}}})
	p.Keys("\x1b")
	p.shows("Read, but not answered: “write slowly”. The agent has it before what you send next.\n>")
}

// TestBackgroundCommandInHand: a command in the background is stopped and read by its id.
func TestBackgroundCommandInHand(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "b14.txt")
	if err := os.WriteFile(out, []byte(strings.Repeat("early\n", 100)+"tick 1\ntick 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFake(func(f *fake, _ string) { f.says("ok") })
	f.tasks = []wire.Task{{Session: rootID, Path: "main", ID: "b14.0", Kind: troupe.TaskShell, Name: "Count",
		Status: troupe.TaskRunning, Background: true, Output: out, DurationMS: 4000}}
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("go\r")
	p.sees("1.5 s\n>")
	for _, word := range []string{"/log", "/show"} {
		p.Keys(word + " b14.0\r")
		p.Until(word, func(s string) bool {
			_, s, ok := strings.Cut(s, "> "+word+" b14.0\n")
			return ok && strings.HasPrefix(s, "── b14.0 Count · at work for 4.0 s\nearly\n") &&
				strings.Contains(s, "tick 2\n── that is its end; all of it: "+out[:20])
		})
	}
	p.Keys("/stop b14.0\r")
	p.shows("b14.0 is stopped; its agent is told.")
	f.heardAll(t, "begin false", "go", "stop m00000000000 now=false tree=false")
	p.Keys("/stop b15.0\r")
	p.shows("is no agent here")
}

// TestForegroundCommand: what a command in the background prints is followed until its end; Esc and Ctrl-B put it
// back, stop nothing, and a key that comes just after its end stops nothing either.
func TestForegroundCommand(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "b14.txt")
	prints := func(text string) {
		file, err := os.OpenFile(out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = file.WriteString(text)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	prints(strings.Repeat("early\n", 100) + "tick 1\n")
	f := newFake(func(f *fake, _ string) {
		f.add(rootID, troupe.CallSealed{Reply: 1, Model: "anthropic/opus"})
	})
	f.tasks = []wire.Task{{Session: rootID, Path: "main", ID: "b14.0", Kind: troupe.TaskShell, Name: "Count",
		Status: troupe.TaskRunning, Background: true, Output: out, DurationMS: 4000}}
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("go\r")
	p.seconds.Store(20)
	p.shows("waiting for opus · 18 s · Esc stops")
	for _, key := range []string{"\x1b", "\x02"} {
		p.Keys("/fg b14.0\r")
		p.sees("tick 1\n… waiting for opus · 18 s\n· b14.0 Count · Esc or Ctrl-B returns, it goes on\n»")
		p.shows("── b14.0 Count · at work for 4.0 s\n… 77 lines before; all of it:")
		p.Keys(key)
		p.sees("── back in the conversation\n… waiting for opus · 18 s · Esc stops\n»")
	}
	p.Keys("/fg b14.0\r")
	p.shows("Ctrl-B returns")
	prints("tick 2\n")
	p.sees("tick 1\ntick 2\n… waiting for opus · 18 s\n· b14.0 Count · Esc or Ctrl-B returns, it goes on\n»")
	f.add(rootID, troupe.MailDelivered{Mail: []troupe.Mail{{ID: "e", Kind: troupe.MailTaskEnded,
		Ended: &troupe.Outcome{Kind: troupe.TaskShell, Task: "b14.0", Name: "Count", Status: troupe.Completed}}}})
	p.shows("── back in the conversation\n● b14.0 completed: Count\n")
	p.Keys("\x1b")
	p.shows("What was shown had just ended, and nothing was stopped.")
	f.heardAll(t, "begin false", "go")
	p.Keys("\x1b")
	f.heardAll(t, "begin false", "go", "stop m00000000000 now=true tree=false")
}

// TestForegroundCommandEnds: a command whose end its agent has not read, because it waits for something else, is not
// followed for ever.
func TestForegroundCommandEnds(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "b1.0.txt")
	if err := os.WriteFile(out, []byte("ready\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFake(func(f *fake, _ string) { f.add(rootID, troupe.CallSealed{Reply: 1, Model: "anthropic/opus"}) })
	f.tasks = []wire.Task{{Session: rootID, Path: "main", ID: "b1.0", Kind: troupe.TaskShell, Name: "Serve",
		Status: troupe.TaskRunning, Background: true, Output: out}}
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("go\r")
	p.sees("»")
	p.Keys("/fg b1.0\r")
	p.shows("Ctrl-B returns")
	f.mu.Lock()
	f.tasks = []wire.Task{{Session: rootID, Path: "main", ID: "b1.0", Kind: troupe.TaskShell,
		Status: troupe.TaskCompleted, Output: out}}
	f.mu.Unlock()
	p.shows("── back in the conversation")
}

// TestQueuedCallsAreToldApart: a call that waits for one before it is not shown as one at work.
func TestQueuedCallsAreToldApart(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, _ string) {
			f.add(rootID, troupe.Replied{Reply: 1, Blocks: []troupe.Block{
				callBlock(1, 0, "Bash", `{"command":"rm -rf /elsewhere/with/a/long/name; touch made.txt"}`),
				callBlock(1, 1, "Bash", `{"command":"curl -s http://127.0.0.1:9/"}`),
			}}, troupe.RequestOpened{Reply: 1})
		})
	}
	screens(t, "queued", f, wire.Begin{}, func(p *person, _ *fake) {
		p.Keys("go\r")
		p.seconds.Store(20)
		p.shows("queued: Bash c")
		p.shows("17 s · waits for your answer")
	})
}

// TestGrantsAreSeen: what a person allowed is told whole, and /status lists it.
func TestGrantsAreSeen(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		rule := troupe.Rule{Effect: troupe.Allow, Text: "Edit(//home/someone/src/stats/internal/**)",
			Source: "granted by user at terminal"}
		return newFake(func(f *fake, _ string) {
			f.add(rootID, troupe.AuthorityChanged{By: rule.Source, Authority: troupe.Authority{
				Rules: []troupe.Rule{rule}}})
			f.says("ok")
		})
	}
	screens(t, "granted", f, wire.Begin{}, func(p *person, _ *fake) {
		p.Keys("go\r")
		p.sees("1.5 s\n>")
		p.Keys("/status\r")
		p.shows("\nallowed  Edit(")
	})
}

// TestWideCodeIsDrawnOnce: a line of code with tabs, wider than the screen, that comes in pieces.
func TestWideCodeIsDrawnOnce(t *testing.T) {
	t.Parallel()
	const code = "\ts := append([]float64(nil), xs...) // a copy, because the caller's slice must not be changed at " +
		"all\n"
	f := func() *fake {
		return newFake(func(f *fake, _ string) {
			f.add(rootID, troupe.CallSealed{Reply: 1})
			f.streams("```go\n" + code[:90])
		})
	}
	screens(t, "wide", f, wire.Begin{}, func(p *person, f *fake) {
		p.Keys("go\r")
		p.shows("caller's")
		f.streams(code[90:98])
		p.shows("not be")
		f.streams(code[98:] + "```\n")
		f.says("```go\n" + code + "```\n")
		p.sees("1.5 s\n>")
	})
}

// TestNoProviderIsSaid: at the start, and what could not be sent is not put in front of what is typed next.
func TestNoProviderIsSaid(t *testing.T) {
	t.Parallel()
	f := newFake(nil)
	p := sitAt(t, f, wire.Begin{Model: "nobody"}, 100)
	p.shows("there is no model nobody")
	p.sees("\n>")
	f.mu.Lock()
	f.unbegun = &troupe.UserError{Problem: "no key"}
	f.mu.Unlock()
	p.Keys("hello\r")
	p.sees("troupe: no key\nNot sent; Up brings it back.\n>")
	p.Keys("/help\r")
	p.shows("all that an agent said and did")
}

// TestErrorsAreSaidOnce: what a model call failed with for good is not repeated at the end.
func TestErrorsAreSaidOnce(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, _ string) {
		end := ended(troupe.Failed)
		end.Outcome.Error = "the key was refused (gave up after 3 attempts)"
		f.add(rootID, troupe.ModelFailed{Reply: 1, Message: "the key was refused"}, end)
	})
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("go\r")
	p.sees("✗ the key was refused\n── failed · 0 tool uses · 2k tokens · 1.5 s\n(gave up after 3 attempts)\n>")
}

// TestRequestKeepsItsShape: tabs are room and not letters, and nothing stands below the box.
func TestRequestKeepsItsShape(t *testing.T) {
	t.Parallel()
	got := showRequest(wire.Request{Path: "main", Tool: "Edit", Action: "-\treturn 1\n+\t\treturn 2\tx", Running: true,
		Beyond: wire.Beyond{Mode: troupe.ModeAcceptEdits}}, &box{width: 40})
	for _, s := range []string{"┃   -    return 1\n┃   +        return 2\\tx\n",
		"┃ /mode acceptEdits allows edits in the\n┗━ project without asking\n"} {
		if !strings.Contains(got, s) {
			t.Errorf("no %q in\n%s", s, got)
		}
	}
}
