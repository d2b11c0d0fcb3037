package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// stepReborn decides about a call for an agent that is there already.
const stepReborn troupe.Step = "started before"

// reborn answers the calls that ask for what agents were asked for in the lost end of the session's log: the same
// type, description and prompt. Such a call has that agent's end as its result, and starts none. It returns
// the calls that are left.
func (bs *births) reborn(ctx context.Context, asked []int) (left []int, err error) {
	lost := bs.a.st.BornBefore(bs.a.st.Reply())
	if len(lost) == 0 {
		return asked, nil
	}
	before, err := bs.lostBirths(ctx, lost)
	if err != nil {
		return nil, err
	}
	// By the place of the call among all of the reply: after a crash each finds the agent that it had.
	for i, c := range bs.a.st.Calls {
		at := -1
		sp, ok := bs.asks(c)
		if ok {
			at = slices.IndexFunc(before, func(b lostBirth) bool { return b.is(sp) })
		}
		mine := slices.Contains(asked, i)
		switch {
		case at < 0 && mine:
			left = append(left, i)
		case at >= 0:
			if mine {
				if err := bs.attach(ctx, c, sp, before[at].id); err != nil {
					return nil, err
				}
			}
			before = slices.Delete(before, at, at+1)
		}
	}
	return left, nil
}

// asks is what a call asks for, if that is an agent.
func (bs *births) asks(c turn.Call) (sp troupe.Spawn, ok bool) {
	t, _ := bs.a.h.d.Tools.Find(c.Name)
	if t.Intent == nil {
		return sp, false
	}
	intent, err := t.Intent(c.Input)
	sp, ok = intent.(troupe.Spawn)
	return sp, ok && err == nil
}

// lostBirth is an agent whose birth was in the lost end of its parent's log.
type lostBirth struct {
	id                  troupe.TaskID
	kind, title, prompt string
}

func (b lostBirth) is(sp troupe.Spawn) bool {
	return b.title == sp.Description && b.prompt == sp.Prompt && (sp.Type == "" || b.kind == sp.Type)
}

func (bs *births) lostBirths(ctx context.Context, ids []troupe.TaskID) (out []lostBirth, err error) {
	err = bs.a.h.d.Store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
		out = nil
		for _, id := range ids {
			s, err := r.Session(troupe.SessionID(id))
			if err != nil {
				return err
			}
			events, err := r.Events(s.ID, 1, 1)
			if err != nil {
				return err
			}
			b := lostBirth{id: id, kind: s.Type, title: s.Title}
			for _, e := range events {
				if d, ok := e.Body.(troupe.MailDelivered); ok && len(d.Mail) > 0 {
					b.prompt = troupe.JoinText(d.Mail[0].Blocks)
				}
			}
			out = append(out, b)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for the agents of session %s: %w", bs.a.id, err)
	}
	return out, nil
}

// attach has a call wait for an agent that is there, or gives it that agent's end.
func (bs *births) attach(ctx context.Context, c turn.Call, sp troupe.Spawn, id troupe.TaskID) error {
	t, ok := bs.a.st.Task(string(id))
	if !ok {
		return fmt.Errorf("session %s: agent %s is not among its tasks", bs.a.id, id)
	}
	if t.Status != troupe.TaskRunning {
		return bs.a.tasks.retell(ctx, c, t)
	}
	child := troupe.Session{ID: troupe.SessionID(id), Parent: bs.a.id, Name: t.Name, Title: t.Title}
	err := bs.a.stage(troupe.ToolStarted{
		Reply: c.Reply, Call: c.Index, Name: c.Name, Child: child.ID,
		Decision: troupe.Decision{Effect: troupe.Allow, Step: stepReborn, Why: "the agent had been started already, " +
			"in the part of the log that was lost"},
		Task: bs.a.h.agentTask(child, troupe.Coord{Reply: c.Reply, Call: c.Index}, false),
	})
	if err != nil {
		return err
	}
	if sp.Background {
		return bs.a.stage(bs.wentBackground(c, child, "was started before, and is at work"))
	}
	bs.a.tree.setAwaited(child.ID, true)
	return nil
}
