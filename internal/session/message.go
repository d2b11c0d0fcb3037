package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

func sendAll(tx store.Tx, mail []troupe.Mail) error {
	for _, m := range mail {
		if _, err := tx.Send(m); err != nil {
			return fmt.Errorf("send %s mail to session %s: %w", m.Kind, m.To, err)
		}
	}
	return nil
}

// child finds an agent below this session: a child by name or id, a descendant by id.
func (ts *tasks) child(tx store.Reader, ref string) (troupe.Session, error) {
	kids, err := tx.Sessions(store.Filter{Root: ts.a.root, Parent: ts.a.id, Name: ref, Limit: 1})
	if err != nil {
		return troupe.Session{}, fmt.Errorf("look for agent %q: %w", ref, err)
	}
	if len(kids) > 0 {
		return kids[0], nil
	}
	s, err := tx.Session(troupe.SessionID(ref))
	for up := s; err == nil && up.Parent != ""; {
		if up.Parent == ts.a.id {
			return s, nil
		}
		up, err = tx.Session(up.Parent)
	}
	if err != nil && !errors.Is(err, troupe.ErrNotFound) {
		return troupe.Session{}, fmt.Errorf("look for agent %q: %w", ref, err)
	}
	return troupe.Session{}, troupe.ErrNotFound
}

func (ts *tasks) noSuchAgent(ref string) string {
	var names []string
	for _, t := range ts.a.st.Tasks {
		if t.Kind == troupe.TaskAgent {
			names = append(names, fmt.Sprintf("%q", t.Name))
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("there is no agent %q: you have started none", ref)
	}
	return fmt.Sprintf("there is no agent %q among yours, which are %s", ref, strings.Join(names, ", "))
}

// sendMessage puts words into another agent's mailbox. One that has ended goes on with them.
func (ts *tasks) sendMessage(ctx context.Context, c turn.Call, in troupe.SendMessage) error {
	at := troupe.Coord{Reply: c.Reply, Call: c.Index}
	var mail []troupe.Mail
	err := ts.a.transact(ctx, func(tx store.Tx, emit func(troupe.Body) error) error {
		mail = nil
		to, err := ts.child(tx, in.To)
		if errors.Is(err, troupe.ErrNotFound) {
			return emit(resultOf(c, ts.noSuchAgent(in.To), true))
		}
		if err != nil {
			return err
		}
		halt, haltID := troupe.Stop{Tree: true, By: "its parent"}, troupe.CallMailID(ts.a.id, at, 1)
		_, live, err := StopMail(tx, to.ID, halt, ts.a.h.d.Now(), haltID)
		if err != nil {
			return err
		}
		if in.Cancel && !live {
			return emit(resultOf(c, fmt.Sprintf("%q has ended already (%s); nothing was sent", to.Name, to.Status),
				false))
		}
		mail = append(mail, troupe.Mail{
			ID: troupe.CallMailID(ts.a.id, at, 0), Root: ts.a.root, To: to.ID, From: ts.a.id, Kind: troupe.MailPrompt,
			SentAt: ts.a.h.d.Now(), Blocks: []troupe.Block{troupe.Text(in.Text)},
		})
		text := fmt.Sprintf("sent; %q reads it before its next step", to.Name)
		if in.Cancel {
			stops, err := StopTree(tx, to.ID, halt, ts.a.h.d.Now(), haltID)
			if err != nil {
				return err
			}
			for i := range stops {
				stops[i].From = ts.a.id
			}
			mail = append(mail, stops...)
			text = fmt.Sprintf("sent; %q stops after the step it is in, and can be sent another message later", to.Name)
		}
		out := resultOf(c, text, false)
		if !live {
			ts.goesOn(&out, to, fmt.Sprintf("%q had ended (%s) and goes on with this", to.Name, to.Status))
		}
		if err := sendAll(tx, mail); err != nil {
			return err
		}
		return emit(out)
	})
	if err != nil {
		return err
	}
	ts.a.tree.mailed(mail...)
	return nil
}

// goesOn makes the result of a message that has an agent begin another run. What tells the end of the run
// before does not end the task, whenever it is read.
func (ts *tasks) goesOn(out *troupe.ToolFinished, to troupe.Session, text string) {
	text += fmt.Sprintf(", with all it knew.\ntask id: %s\n", to.ID)
	if to.Parent == ts.a.id {
		at := troupe.Coord{Reply: out.Result.Reply, Call: out.Result.Call}
		out.Task = ts.a.h.agentTask(to, at, true)
		out.Task.Run = to.Run + 1
		text += "Its end will arrive by itself as a <task-notification>."
	} else {
		text += "Its end is told to the agent that started it."
	}
	out.Result.Blocks = []troupe.Block{troupe.Text(text)}
}
