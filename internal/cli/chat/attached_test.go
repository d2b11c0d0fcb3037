//go:build unix

package chat

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// looked is a tree that another process runs: a main agent, Alice of its team, and Bob.
type looked struct {
	*fake
	t    *testing.T
	left bool          // no process has it any more
	away bool          // it was put away
	lost chan struct{} // has an element when the stream has lost the process that it comes from
	// looks and follows count how often it was asked for the tree and for a stream.
	looks, follows int
}

const bobID = troupe.SessionID("b00000000000")

func newLooked(t *testing.T) *looked {
	t.Helper()
	f := &looked{t: t, lost: make(chan struct{}, 1)}
	f.fake = newFake(func(*fake, string) {})
	born := func(id, parent troupe.SessionID, name string) {
		f.happened(id, 0, troupe.Created{Parent: parent, Name: name,
			Profile: troupe.Profile{Type: "Explore", Model: "anthropic/opus"}})
	}
	born(rootID, "", "")
	born(childID, rootID, "Alice")
	born(bobID, rootID, "Bob")
	end := ended(troupe.Completed)
	end.Outcome.Result = "It is in a.go."
	f.happened(childID, 1, troupe.Started{Run: 1}, prompted("where is it?"),
		troupe.Replied{Reply: 1, Blocks: []troupe.Block{troupe.Text("It is in a.go.")}}, end)
	f.happened(bobID, 2, troupe.Started{Run: 1},
		troupe.Replied{Reply: 1, Blocks: []troupe.Block{troupe.Text("Bob's own words.")}})
	return f
}

func (f *looked) Find(context.Context, string, string) (wire.Session, error) {
	return wire.Session{ID: childID, Root: rootID, Parent: rootID, Name: "Alice", Path: "main/Alice", Type: "Explore",
		Model: "anthropic/opus", Cwd: "/ws", Status: troupe.Completed}, nil
}

func (f *looked) Tree(ctx context.Context, id troupe.SessionID) (wire.Tree, error) {
	out, err := f.fake.Tree(ctx, id)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	f.wake()
	out.Here, out.Running = false, !f.left
	if out.Running {
		out.Owner = wire.Owner{PID: 7, Host: "here"}
	}
	for i := range out.Sessions {
		s := &out.Sessions[i]
		s.Seq, s.Status = f.seq[s.ID], troupe.Completed
		if f.live[s.ID] {
			s.Status = troupe.Running
		}
		if f.away {
			s.AsleepAt = time.Unix(1, 0)
		}
	}
	return out, err
}

func (f *looked) Team(context.Context, troupe.SessionID) (wire.Team, error) {
	return wire.Team{Name: "t", Members: []wire.Teammate{{ID: rootID, Lead: true}, {ID: childID, Name: "Alice"}}}, nil
}

func (f *looked) Begin(context.Context, wire.Begin) (wire.Begun, error) {
	f.t.Error("attaching began a tree, or took it up")
	return wire.Begun{}, nil
}

func (f *looked) Send(_ context.Context, to troupe.SessionID, m wire.Message) (wire.Sent, error) {
	f.tell("to " + string(to) + ": " + m.Text)
	sent := wire.Sent{Session: to, Mail: troupe.MailID("mail:" + m.Text), Effect: "waits"}
	if f.left {
		return sent, nil
	}
	if sent.Effect = "steers"; !f.live[to] {
		sent.Effect = "resumes"
		f.add(to, troupe.Started{Run: 2})
	}
	f.add(to, troupe.MailDelivered{Mail: []troupe.Mail{{ID: sent.Mail, Kind: troupe.MailPrompt,
		Blocks: []troupe.Block{troupe.Text(m.Text)}}}})
	return sent, nil
}

func (f *looked) Follow(context.Context, wire.Follow) (api.Stream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.follows++
	return f, nil
}

// Next returns at once, with nothing, when the process at the other end is lost.
func (f *looked) Next(ctx context.Context) (wire.Batch, error) {
	lost := false
	f.until(ctx, func() bool {
		select {
		case <-f.lost:
			lost = true
		default:
		}
		return lost || f.read < len(f.log) || len(f.deltas) > 0
	})
	if lost {
		return wire.Batch{}, nil
	}
	return f.fake.Next(ctx)
}

// cut has the stream lose the process that it comes from.
func (f *looked) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost <- struct{}{}
	f.wake()
}

// dies has the process that runs the tree end. A stream that was begun again since it was cut is cut once more.
func (f *looked) dies() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left = true; f.follows > 1 {
		f.lost <- struct{}{}
		f.wake()
	}
}

func (f *looked) comesBack() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = false
}

func sitBefore(t *testing.T, f *looked, width int) *person {
	t.Helper()
	return sitting(t, "/ws", width, func(ctx context.Context, c *console.Console, o Options) error {
		o.Status = true
		return Attach(ctx, c, f, "Alice", o)
	})
}

// TestAttachAgent: one agent is shown with all that it said, what others do is not, words go to it, what it asks is
// answered with the same record as in the conversation, the title says what it is at, and Ctrl-D stops nothing.
func TestAttachAgent(t *testing.T) {
	t.Parallel()
	for _, width := range []int{60, 100} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			f := newLooked(t)
			p := sitBefore(t, f, width)
			p.sees("\n>")
			p.Titled("Alice · idle")
			p.Keys("and where else?\r")
			p.sees("\n»")
			p.Titled("Alice · working")
			f.add(bobID, troupe.Replied{Reply: 2, Blocks: []troupe.Block{troupe.Text("Bob goes on.")}})
			f.ask(wire.Request{ID: "r0", Session: bobID, Path: "main/Bob", Tool: "Bash", Action: "not for here"},
				wire.Request{ID: "r1", Session: childID, Path: "main/Alice", Tool: "Bash", Action: "rm -rf build",
					Why: "no rule allows it", Running: true})
			p.sees("y/n/? + Enter?")
			p.Titled("Alice · asking")
			p.Keys("n, keep it\r")
			p.shows("denied by user at terminal")
			p.Keys("\x1b")
			p.shows("Nothing was stopped: /stop stops Alice")
			p.Keys("/mode plan\r")
			p.shows("/mode is for the conversation with the main agent")
			f.add(childID, troupe.Replied{Reply: 2, Blocks: []troupe.Block{troupe.Text("In b.go.")}},
				ended(troupe.Completed))
			p.sees("\n>")
			p.Titled("Alice · idle")
			goldenScreen(t, filepath.Join("testdata", "screens", fmt.Sprintf("attach-%d.txt", width)), p.Shown()+"\n")
			p.Keys("unsent\x03\x03")
			p.leaves()
			p.Titled("")
			f.heardAll(t, "to "+string(childID)+": and where else?", "answer r1 allow=false session=false keep it")
			if !f.closed {
				t.Error("the stream was not closed")
			}
		})
	}
}

// TestAsleepViewer: a viewer whose session is put away, by its process or when none has it any more, says how it goes
// on, and so does one that comes later.
func TestAsleepViewer(t *testing.T) {
	t.Parallel()
	f := newLooked(t)
	p := sitBefore(t, f, 100)
	p.Titled("Alice · idle")
	f.mu.Lock()
	f.left = true
	f.mu.Unlock()
	f.cut()
	p.Titled("Alice · no process")
	f.mu.Lock()
	f.away = true
	f.mu.Unlock()
	p.shows("Its session is asleep. What you write waits until you wake it: troupe wake " + string(rootID))
	p.Titled("Alice · asleep")
	p.Keys("\x04")
	p.leaves()
	q := sitBefore(t, f, 100)
	q.shows("Its session is asleep. What you write waits until you wake it: troupe wake " + string(rootID))
	q.Keys("\x04")
	q.leaves()
}

// TestPain40StaleViewer: a viewer whose session has lost its process says so at once, shows nothing as at work, keeps
// what is written, and goes on by itself when another process takes the session up.
func TestPain40StaleViewer(t *testing.T) {
	t.Parallel()
	f := newLooked(t)
	f.add(childID, troupe.Started{Run: 2}, troupe.CallSealed{Reply: 2, Model: "anthropic/opus"})
	p := sitBefore(t, f, 100)
	p.Titled("Alice · working")
	p.seconds.Store(60)
	p.shows("waiting for")
	f.mu.Lock()
	looks := f.looks
	f.mu.Unlock()
	f.cut()
	f.until(t.Context(), func() bool { return f.looks > looks }) // it is still there: it ends after what it serves
	f.dies()
	p.shows("Process 7, which ran this session, is gone; what is in its log is kept.")
	p.shows("troupe --resume " + string(rootID))
	p.Titled("Alice · no process")
	p.sees("· Alice · no process · opus\n>")
	p.Keys("hello?\r")
	p.shows("Kept: ")
	f.comesBack()
	p.shows("Process 7 runs this session now.")
	f.add(childID, troupe.Replied{Reply: 2, Blocks: []troupe.Block{troupe.Text("Back again.")}},
		ended(troupe.Failed))
	p.shows("Back again.")
	p.Titled("Alice · failed")
	p.shows("Alice · failed. What you write has it go on.")
	p.Keys("\x04")
	p.shows("Detached: nothing was stopped. Back: troupe attach")
	p.leaves()
}
