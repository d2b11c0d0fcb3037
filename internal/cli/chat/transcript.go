package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// transcript is one agent's log with those of all that work for it, through a view of its own; or what a command in the
// background prints. While one is shown, the conversation collects what it has to show, and shows it afterwards.
type transcript struct {
	id   troupe.SessionID
	view *render.View               // nil of a command
	seen map[troupe.SessionID]int64 // what is in it
	out  *output                    // nil of an agent
}

// take is what is to be shown of it now.
func (x *transcript) take() (lines, tail string) {
	if x.out != nil {
		return x.out.take(), ""
	}
	return x.view.Take()
}

// readTranscript makes the transcript of an agent until now, and the rows that show it.
func readTranscript(ctx context.Context, v *conversation, id troupe.SessionID) (*transcript, []string, error) {
	now, err := v.trees.api.Tree(ctx, v.tree.root)
	if err != nil {
		return nil, nil, err
	}
	v.view.Cast.Know(now.Sessions)
	x := &transcript{id: id, view: v.view.Of(id), seen: make(map[troupe.SessionID]int64)}
	x.view.SetWidth(v.width())
	all, err := x.read(ctx, v, now.Sessions)
	if err != nil {
		return nil, nil, err
	}
	return x, x.rows(all), nil
}

// read reads the logs of the agent and of all that work for it.
func (x *transcript) read(ctx context.Context, v *conversation, sessions []wire.Session) ([]troupe.Event, error) {
	var all []troupe.Event
	for _, s := range sessions {
		if !x.view.Cast.Below(s.ID, x.id) {
			continue
		}
		events, err := v.trees.api.Events(ctx, s.ID, 0, 0)
		if err != nil {
			return nil, err
		}
		if n := len(events); n > 0 {
			x.seen[s.ID] = events[n-1].Seq
		}
		all = append(all, events...)
	}
	console.Arrange(all)
	return all, nil
}

// rows shows what happened before.
func (x *transcript) rows(all []troupe.Event) (rows []string) {
	x.view.Past(true)
	defer x.view.Past(false)
	for _, e := range all {
		x.view.Event(e)
	}
	x.view.Flush()
	text, _ := x.view.Take()
	return slices.AppendSeq(rows, strings.Lines(text))
}

// follow adds what came, if it belongs here and was not read before. It returns true at the agent's end.
func (x *transcript) follow(b wire.Batch, known *render.View) (ended bool) {
	if x.out != nil {
		return x.out.ended(b.Events)
	}
	for _, d := range b.Deltas {
		x.view.Queue(d)
	}
	for _, e := range b.Events {
		if e.Seq <= x.seen[e.Session] || !known.Cast.Below(e.Session, x.id) {
			continue
		}
		x.seen[e.Session] = e.Seq
		x.view.Event(e)
		_, end := e.Body.(troupe.Ended)
		ended = ended || end && e.Session == x.id
	}
	x.view.Flush()
	return ended
}

// showLog shows all that an agent said and did, and what it does until its end or Esc.
func showLog(ctx context.Context, v *conversation, word string) error {
	if word != "" && word != "main" {
		if t, err := v.command(ctx, word); t != nil || err != nil {
			return orCommand(v, t, err)
		}
	}
	id, err := meant(v, word)
	if err != nil {
		return err
	}
	x, rows, err := readTranscript(ctx, v, id)
	if err != nil {
		return err
	}
	v.say("── " + v.view.Cast.Called(id))
	v.flow(strings.Join(rows, ""))
	if id == v.tree.subject() || v.m.attached || !v.raw() || !v.board.work.Live(id) {
		v.say("── end of " + v.view.Cast.Called(id))
		return nil
	}
	v.stay(x)
	return nil
}

// showContext shows what the next model call of an agent sends; without a name, the main agent's.
func showContext(ctx context.Context, v *conversation, word string) error {
	x, err := contextOf(ctx, v, word)
	if err != nil {
		return err
	}
	return printed(v, func(c *console.Console) error { return c.Context(x) })
}

// meant is the agent that a word names; without one it is who words go to when nothing is shown beside.
func meant(v *conversation, word string) (troupe.SessionID, error) {
	switch word {
	case "":
		return v.tree.subject(), nil
	case "main":
		return v.tree.root, nil
	}
	return v.find(word)
}

func contextOf(ctx context.Context, v *conversation, word string) (x wire.Context, err error) {
	id, err := meant(v, word)
	if err != nil {
		return x, err
	}
	return v.trees.api.Context(ctx, id)
}

// foreground shows an agent or a command at work until its end; the conversation waits meanwhile.
func foreground(ctx context.Context, v *conversation, word string) error {
	switch t, err := v.command(ctx, word); {
	case err == nil && t != nil && t.Status == troupe.TaskRunning && !t.Left && v.raw():
		return v.followCommand(t)
	case t != nil || err != nil:
		return orCommand(v, t, err)
	}
	id, err := v.find(word)
	if err != nil {
		return err
	}
	if !v.board.work.Live(id) || !v.raw() {
		return &troupe.UserError{Problem: v.view.Cast.Called(id) + " is not at work here",
			Hint: "/tasks lists what is; /log shows what an agent did."}
	}
	x, rows, err := readTranscript(ctx, v, id)
	if err != nil {
		return err
	}
	v.say("── " + v.view.Cast.Called(id))
	if over := len(rows) - pastRows(v.s.Height()); over > 0 {
		rows = rows[over:]
		v.say(fmt.Sprintf("… %s before; /log shows them", console.Count(over, "row")))
	}
	v.flow(strings.Join(rows, ""))
	v.stay(x)
	return nil
}

// stay shows a transcript from here on, and nothing of the conversation.
func (v *conversation) stay(x *transcript) {
	v.beside, v.m.beside = x, true
	if x.out == nil {
		v.m.to = v.view.Cast.Called(x.id)
	}
	v.board.work.Beside(true)
	v.board.beside = func() string {
		what, keys := "", " · your words go to it · Esc returns"
		if x.out != nil {
			what, keys = string(x.out.task.ID)+" "+console.Line(x.out.task.Name, 0),
				" · Esc or Ctrl-B returns, it goes on"
		} else {
			what = v.view.Cast.Called(x.id)
		}
		return v.dim("· " + console.Shorten(what, max(v.width()-len(keys)-2, 12)) + keys)
	}
	v.flow("")
}

// back shows the conversation again, and first what came meanwhile.
func (v *conversation) back() {
	if v.beside == nil {
		return
	}
	v.say("── back in the conversation")
	v.beside, v.m.beside, v.m.to, v.board.beside = nil, false, "", nil
	v.board.work.Beside(false)
	v.flow("")
}

// births tells the views of agents that were born, in the order of their birth: two that began at the
// same time may come in another one.
func (v *conversation) births(ctx context.Context, events []troupe.Event) {
	fresh := false
	for _, e := range events {
		_, born := e.Body.(troupe.Created)
		fresh = fresh || born && e.Session != v.tree.root && !v.view.Cast.Knows(e.Session)
	}
	if !fresh {
		return
	}
	now, err := v.trees.api.Tree(ctx, v.tree.root)
	if err != nil {
		return // they are numbered as they come
	}
	v.view.Cast.Know(now.Sessions)
	if v.beside != nil && v.beside.view != nil {
		v.beside.view.Cast.Know(now.Sessions)
	}
}
