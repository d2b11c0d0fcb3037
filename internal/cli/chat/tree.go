package chat

import (
	"context"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// trees begins the trees of a conversation, and goes on with others.
type trees struct {
	api  api.API
	next wire.Begin // what the next one begins with, its words apart
}

// newTrees makes the trees of a conversation. The first of them is begun with all that b says.
func newTrees(a api.API, b wire.Begin) (ts *trees, first wire.Begin) {
	b.Attended = true
	first = b
	b.Prompt, b.Images, b.Read, b.Resume, b.Continue = "", nil, nil, "", false
	b.Wake = false
	return &trees{a, b}, first
}

// something reports whether there is something to begin with before anything is typed.
func something(first wire.Begin) bool {
	return first.Resume != "" || first.Continue || first.Prompt != ""
}

// tree is one that is talked to.
type tree struct {
	*trees
	root     troupe.SessionID
	attached *attached // nil: the conversation is held with the main agent
	team     *team     // nil: no panes are kept
	warnings []string
	before   []wire.Session             // its sessions before it was taken up
	seen     map[troupe.SessionID]int64 // where it is followed from
	work     troupe.Workspace           // the folder of its own that the main agent works in; zero: it has none
	stream   api.Stream
	batches  chan followed
	ended    chan error // what waiting for its end came to, once wait was called
	stop     context.CancelFunc
}

// followed is what a stream brought.
type followed struct {
	wire.Batch
	err error
}

// begin begins a tree, or goes on with one; without words one that has nothing to do. Another
// tree may still be in use.
func (ts *trees) begin(ctx context.Context, b wire.Begin, deltas bool) (*tree, error) {
	if b.Resume != "" {
		if t, err := ts.again(ctx, b.Resume, deltas); t != nil || err != nil {
			return t, err
		}
	}
	goes := b.Resume != "" || b.Continue
	b.Idle = goes && b.Prompt == "" && len(b.Images) == 0
	begun, err := ts.api.Begin(ctx, b)
	if err != nil {
		return nil, err
	}
	ts.next.Name = "" // taken
	if ts.next.Worktree != nil {
		ts.next.Worktree = new(string) // its name is taken too
	}
	if goes {
		own, kind := ts.next.Worktree, ts.next.Workspace
		ts.next = resumable(ts.next)
		ts.next.Worktree, ts.next.Workspace = own, kind // of those that will be new
	}
	t := &tree{trees: ts, root: begun.Root, warnings: begun.Warnings, before: begun.Before}
	return t, t.follow(ctx, begun.After, deltas)
}

// resumable is without what is for the birth of the first session; one that goes on has its own.
func resumable(b wire.Begin) wire.Begin {
	b.Name, b.Agent, b.AppendText, b.MaxTurns, b.MaxMS, b.Worktree = "", "", "", 0, 0, nil
	b.Workspace = ""
	return b
}

// again returns to a tree that is in hand where this conversation is held; nil if it is not.
func (ts *trees) again(ctx context.Context, ref string, deltas bool) (*tree, error) {
	s, err := ts.api.Find(ctx, ref, ts.next.Cwd)
	if err != nil || s.Parent != "" {
		return nil, err
	}
	now, err := ts.api.Tree(ctx, s.ID)
	if err != nil || !now.Here {
		return nil, err // it is taken up as any other
	}
	seen := make(map[troupe.SessionID]int64, len(now.Sessions)) // it was shown
	for _, s := range now.Sessions {
		seen[s.ID] = s.Seq
	}
	t := &tree{trees: ts, root: s.ID, before: now.Sessions}
	return t, t.follow(ctx, seen, deltas)
}

// follow reads on in a goroutine of its own until stop is called. What is in the channel then must
// be taken until it is closed.
func (t *tree) follow(ctx context.Context, from map[troupe.SessionID]int64, deltas bool) error {
	t.seen = from
	stream, err := t.api.Follow(ctx, wire.Follow{Root: t.root, From: from, Deltas: deltas})
	if err != nil {
		return err
	}
	t.stream = stream
	ctx, t.stop = context.WithCancel(ctx)
	t.batches = make(chan followed)
	go func() {
		defer close(t.batches)
		last, end := console.Lingering(ctx)
		defer end()
		for ctx.Err() == nil {
			b, err := t.stream.Next(ctx)
			if err == nil && len(b.Events) > 0 && t.attached == nil {
				// What Next read of one session may follow from what another has committed and
				// Next has not read yet. A look at all of them afterwards holds that too, and
				// the times then put it before.
				var more []troupe.Event
				more, err = t.stream.Rest(last)
				b.Events = append(b.Events, more...)
			}
			if ctx.Err() != nil {
				err = nil
			}
			// A stream that brings nothing may have lost the process that it came from.
			if len(b.Events)+len(b.Deltas) > 0 || t.attached != nil && ctx.Err() == nil || err != nil {
				t.batches <- followed{b, err}
			}
			if err != nil {
				return
			}
		}
	}()
	return nil
}

// comes is what the stream brings, over what the end of waiting is. There is neither of no tree.
func (t *tree) comes() (<-chan followed, <-chan error) {
	if t == nil || t.attached != nil && t.attached.over {
		return nil, nil
	}
	return t.batches, t.ended
}

// wait has the end of the whole tree come.
func (t *tree) wait(ctx context.Context) {
	if t.ended != nil {
		return
	}
	waiting, cancel := context.WithCancel(ctx)
	stop := t.stop
	t.stop = func() { cancel(); stop() }
	ended := make(chan error, 1)
	t.ended = ended
	go func() { ended <- t.api.Wait(waiting, t.root) }()
}

// rest gives show what is left when the whole tree has ended. It is followed no further.
func (t *tree) rest(ctx context.Context, show func(wire.Batch) error) error {
	t.stop()
	for f := range t.batches {
		if f.err != nil {
			return f.err
		}
		if err := show(f.Batch); err != nil {
			return err
		}
	}
	events, err := t.stream.Rest(ctx)
	if err != nil {
		return err
	}
	return show(wire.Batch{Events: events})
}

// close lets go of the tree; what was at work can be resumed.
func (t *tree) close() {
	if t.attached != nil && t.attached.beat != nil {
		t.attached.beat.Stop()
	}
	if t.team != nil {
		t.team.Close(true)
	}
	t.stop()
	for range t.batches { // what is left is in the log
	}
	t.stream.Close()
}

// held calls fn, which says something to the tree. One that was idle may have been gone on with by
// another process since. It is taken up again then, as --continue would, and what is followed of it
// goes on where it was: what came meanwhile is shown. While that process is at work on it, nothing
// is said.
//
// Where one agent is attached to, nothing is ever taken up: what is said goes where the tree is run.
func (t *tree) held(ctx context.Context, fn func() error) error {
	if t.attached != nil {
		return fn()
	}
	now, err := t.api.Tree(ctx, t.root)
	if err != nil || now.Here {
		if err == nil {
			err = fn()
		}
		return err
	}
	b := resumable(t.next)
	b.Resume, b.Idle = string(t.root), true
	// What it works with may have been changed since this conversation began.
	b.Model, b.Effort, b.Mode = "", "", ""
	if _, err = t.api.Begin(ctx, b); err == nil {
		return fn()
	}
	if now, terr := t.api.Tree(ctx, t.root); terr == nil && now.Running {
		return &troupe.UserError{
			Problem: fmt.Sprintf("process %d on %s works on this conversation now; nothing was sent",
				now.Owner.PID, now.Owner.Host),
			Hint: fmt.Sprintf("Send it once more when that is done; or now, from another terminal: "+
				"troupe send %s \"…\". `troupe log %s --follow` shows what it does.", t.root, t.root),
			Code: troupe.ExitUsage, Err: err,
		}
	}
	return err
}
