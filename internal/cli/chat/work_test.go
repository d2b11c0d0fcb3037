//go:build unix

package chat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestWorkIsSeen: whatever goes on, a line says what it is, for how long, and what ends it.
func TestWorkIsSeen(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, what string) {
			switch what {
			case "wait":
				f.add(rootID, troupe.CallSealed{Reply: 1, Model: "anthropic/claude-opus"})
			case "run":
				f.add(rootID, troupe.Replied{Reply: 1, Blocks: []troupe.Block{
					callBlock(1, 0, "Bash", `{"command":"go test ./... -run TestLogin","timeout":300000}`),
					callBlock(1, 1, "Agent", `{"description":"Look at auth"}`),
				}}, troupe.ToolStarted{Reply: 1, Name: "Bash"},
					troupe.ToolStarted{Reply: 1, Call: 1, Name: "Agent", Child: childID})
				f.add(childID, troupe.Created{Name: "Auth Explorer", Title: "Look at auth", Parent: rootID,
					Profile: troupe.Profile{Type: "Explore"}}, troupe.Started{Run: 1},
					troupe.CallSealed{Reply: 1, Model: "anthropic/claude-haiku"})
				f.prints(troupe.Coord{Reply: 1}, "ok a\nok b\nok c\nok d\n--- FAIL: TestLogin (0.1s)\n")
			}
		})
	}
	screens(t, "work", f, wire.Begin{}, func(p *person, f *fake) {
		p.Keys("wait\r")
		p.seconds.Store(14)
		p.shows("\n… waiting for claude-opus · 12 s · Esc stops\n»")
		p.Keys("run\r")
		p.seconds.Store(40)
		p.shows("FAIL: TestLogin")
		p.shows("waiting for claude-haiku · 3")
		f.mu.Lock()
		f.slow = true
		f.mu.Unlock()
		p.Keys("use tabs, please\r")
		p.shows("queued: “use tabs, please”")
		p.Keys("/tasks\r")
		p.Until("the rows twice", func(s string) bool { return strings.Count(s, "claude-haiku") == 2 })
	})
}

// TestWaitingCommandIsSeen: a command that waits for others, or for what its sandbox hides, is not shown as one that
// runs, and its time begins when it does.
func TestWaitingCommandIsSeen(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, _ string) {
		f.waits(troupe.Coord{Reply: 1}, troupe.StageHidden)
	})
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("go\r")
	f.heardAll(t, "begin false", "go")
	f.until(t.Context(), func() bool { return len(f.deltas) == 0 })
	// What is said of a call may come before the reply that asks for it.
	f.add(rootID, troupe.Replied{Reply: 1, Blocks: []troupe.Block{
		callBlock(1, 0, "Bash", `{"command":"go test ./..."}`)}})
	p.seconds.Store(9)
	p.sees("\n… Bash go test ./... · 7 s · looking for hidden files · Esc stops\n»")
	f.add(rootID, troupe.ToolStarted{Reply: 1, Name: "Bash"})
	for _, tt := range []struct {
		stage troupe.Stage
		want  string
	}{
		{troupe.StageHidden, "2 s · looking for hidden files · Esc stops"},
		{troupe.StageProcessor, "2 s · waits for a processor · Esc stops"},
		{troupe.StageRepository, "2 s · waits for another command of git · Esc stops"},
		{troupe.StageRuns, "2 s of 2 min · Esc stops"},
	} {
		f.waits(troupe.Coord{Reply: 1}, tt.stage)
		p.shows("· 0 s " + strings.TrimPrefix(tt.want, "2 s "))
		p.seconds.Add(2)
		p.sees("\n… Bash go test ./... · " + tt.want + "\n»")
	}
	f.waits(troupe.Coord{Reply: 1}, troupe.StageProcessor)
	p.seconds.Add(2)
	p.shows("waits for a processor")
	f.prints(troupe.Coord{Reply: 1}, "ok\n") // the word that it runs may have got lost
	p.shows(" of 2 min · Esc stops")
}

// TestWorkGoesOn: the rows are drawn anew while nothing happens.
func TestWorkGoesOn(t *testing.T) {
	t.Parallel()
	p := sit(t, newFake(func(f *fake, _ string) { f.add(rootID, troupe.CallSealed{Reply: 1, Model: "x/m"}) }),
		wire.Begin{})
	p.sees("\n>")
	p.Keys("go\r")
	for n := int64(10); n < 13; n++ {
		p.seconds.Store(n)
		p.sees(fmt.Sprintf("\n… waiting for m · %d s · Esc stops\n»", n-2))
	}
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
	p.shows("Not answered before the turn ended: “write slowly”. The agent has it before what you send next.\n>")
}

// TestRetryIsPlain: what cannot be reached, which attempt comes, of how many, and in how long.
func TestRetryIsPlain(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, _ string) {
			f.add(rootID, troupe.CallSealed{Reply: 1, Model: "anthropic/opus"}, troupe.ModelFailed{Reply: 1, Attempt: 6,
				Fault: troupe.FaultRetry, Message: "cannot reach api.example.com (connection refused)",
				RetryAt: time.Unix(30, 0)})
		})
	}
	screens(t, "retry", f, wire.Begin{}, func(p *person, _ *fake) {
		p.seconds.Store(10)
		p.Keys("go\r")
		p.shows("in 20 s")
		p.seconds.Store(18)
		p.shows("of 29 in 12 s")
	})
}

// TestEscapeStops: Esc stops the turn and does nothing else.
func TestEscapeStops(t *testing.T) {
	t.Parallel()
	f := newFake(nil)
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("work\r")
	p.sees("»")
	p.Keys("\x1b")
	p.sees("\n── stopped · 0 tool uses · 2k tokens · 1.5 s\n>")
	p.Keys("\x04")
	p.leaves()
	f.heardAll(t, "begin false", "work", "stop m00000000000 now=true tree=false")
}

// TestFolderInTheMaking: a call that waits for its agent's folder says how far that has come, while it is made.
func TestFolderInTheMaking(t *testing.T) {
	t.Parallel()
	at := troupe.Coord{Reply: 1}
	f := newFake(func(f *fake, _ string) {
		f.makes(1, 50_000) // before any call
	})
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("go\r")
	f.heardAll(t, "begin false", "go")
	f.until(t.Context(), func() bool { return len(f.deltas) == 0 })
	f.add(rootID, troupe.Replied{Reply: 1, Blocks: []troupe.Block{
		callBlock(1, 0, "Bash", `{"command":"go test ./..."}`)}})
	f.waits(at, troupe.StageWorkspace)
	p.seconds.Store(9)
	p.shows("waits for its folder")
	f.makes(12_000, 50_000)
	p.seconds.Add(1)
	p.shows("· making its folder: 12,000 of 50,000 files · Esc stops")
	f.add(rootID, troupe.WorkspaceReady{})
	f.waits(at, troupe.StageWorkspace) // while it is saved
	p.seconds.Add(1)
	p.shows("· saves its folder first · Esc stops")
}
