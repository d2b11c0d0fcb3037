package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// ErrNotWaited: there is nothing that could be moved to the background.
var ErrNotWaited = errors.New("nothing waits for it")

// move has a child go on in the background that a caller has named; or, of the session itself, every child
// and command that it waits for. The caller hears what could not be moved; that goes on as it was.
func (ts *tasks) move(in inMove) error {
	all := in.child == ts.a.id
	moved, refused := false, error(nil)
	for i := range ts.a.st.Calls {
		c := &ts.a.st.Calls[i]
		var err error
		switch {
		case c.Stage == turn.CallStarted && c.Child != "" && (all || c.Child == in.child):
			moved, err = true, ts.a.births.background([]int{i}, in.by)
		case all && c.Stage != turn.CallDone:
			if j := ts.movable(i); j != nil {
				no, failed := ts.moveCommand(i, j, in.by)
				moved, refused, err = moved || no == nil, errors.Join(refused, no), failed
			}
		}
		if err != nil {
			return err
		}
	}
	if !moved && refused == nil {
		refused = ErrNotWaited
	}
	if in.told != nil {
		in.told(refused)
	}
	return nil
}

// movable is what runs for a call, if it is of the kind that can go on in the background; else nil.
func (ts *tasks) movable(i int) *judged {
	job := ts.a.calls.working[i]
	if job == nil {
		return nil
	}
	j := job.runs.Load()
	if j == nil {
		return nil
	}
	if _, ok := j.prepared.(tool.Mover); !ok {
		return nil
	}
	return j
}

// moveCommand has a call's command go on in the background. From here on it is as if it had been begun there.
// If it was refused, the command goes on as it was.
func (ts *tasks) moveCommand(i int, j *judged, by *troupe.Caller) (refused, err error) {
	m, ok := j.prepared.(tool.Mover)
	if !ok {
		return ErrNotWaited, nil
	}
	c, job := ts.a.st.Calls[i], ts.a.calls.working[i]
	at := troupe.Coord{Reply: c.Reply, Call: c.Index}
	id := troupe.ShellTaskID(at)
	log := filepath.Join(j.env.OutputDir, string(id)+".log")
	name, err := m.Move(log)
	if err != nil {
		return err, nil
	}
	t := troupe.Task{ID: id, Kind: troupe.TaskShell, Name: ts.a.h.d.Mask(name), Coord: at, Output: log,
		Background: true, StartedAt: job.since}
	delete(ts.a.calls.working, i)
	job.moved = &t
	if ts.own == nil {
		ts.own = make(map[troupe.TaskID]context.CancelFunc)
	}
	ts.own[id] = job.cancel
	if c.Stage == turn.CallPending { // it only read, so it was not announced; a task has begun, whatever it does
		if err := ts.a.stage(troupe.ToolStarted{Reply: c.Reply, Call: c.Index, Name: c.Name,
			Decision: j.decision}); err != nil {
			return nil, err
		}
	}
	out := resultOf(c, fmt.Sprintf("it was moved to the background, where it goes on.\ntask id: %s\noutput file: %s\n"+
		"Its end will arrive by itself as a <task-notification>; do not wait for it with sleep.", id, log), false)
	out.Task, out.Caller = &t, by
	return nil, ts.a.stage(out)
}

// moveDone tells the end of a command that was moved.
func (ts *tasks) moveDone(ctx context.Context, in inToolDone) error {
	end := inOwnDone{task: *in.job.moved, out: in.out, err: in.err, took: in.took}
	if in.stopped && end.err == nil {
		end.err = errStopped
	}
	if end.err == nil && ts.notAsked(in) {
		end.out.Blocks = append(slices.Clip(end.out.Blocks),
			troupe.Text("(That was not asked about, because the command "+
				"had been moved to the background. If it is needed, run the command again in the foreground: then it "+
				"is "+
				"asked "+
				"about.)"))
	}
	return ts.ownDone(ctx, end)
}

// notAsked reports whether a person would have been asked about what a command wanted beyond its sandbox, had it not
// been moved. Its call has a result by then: what runs it again, and whether, is for the agent to say.
func (ts *tasks) notAsked(in inToolDone) bool {
	j := in.job.runs.Load()
	if j == nil || j.decision.Beyond != troupe.Ask || ts.a.tree.settings().AskFor == 0 {
		return false
	}
	return slices.ContainsFunc(in.out.Evidence.Commands, func(c troupe.CommandRun) bool {
		return c.Watched != nil && slices.ContainsFunc(c.Watched.Attempts, troupe.Attempt.Leave)
	})
}
