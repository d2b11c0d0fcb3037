package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// resultOf is a call's result as plain text.
func resultOf(c turn.Call, text string, isError bool) troupe.ToolFinished {
	return troupe.ToolFinished{
		Name: c.Name,
		Result: troupe.Result{Reply: c.Reply, Call: c.Index, ProviderID: c.ProviderID, IsError: isError,
			Blocks: []troupe.Block{troupe.Text(text)}},
	}
}

// agentTask is a child as a task of its parent.
func (h *Hub) agentTask(s troupe.Session, at troupe.Coord, background bool) *troupe.Task {
	t := &troupe.Task{
		ID: troupe.TaskID(s.ID), Kind: troupe.TaskAgent, Name: s.Name, Title: s.Title, Coord: at,
		Background: background, StartedAt: h.d.Now(),
	}
	if background {
		t.Output = h.resultFile(s.Parent, s.ID)
	}
	return t
}

// keepResult is what the end of a child does with its final words: they are kept in a file, unless they
// are, whole, the result that its parent waits for. A thousand files take longer to make than
// all else that is written at their ends.
func (a *births) keepResult(text string) string {
	if a.tree.takeAwaited(a.id) && len(text) <= turn.MaxResult {
		return ""
	}
	return a.h.saveResult(a.st.Session.Parent, a.id, text)
}

// resultFile is where the final words of a child are kept for its parent.
func (h *Hub) resultFile(parent, child troupe.SessionID) string {
	if h.d.SaveResult == nil {
		return ""
	}
	return filepath.Join(h.d.OutputDir(parent), string(child)+".md")
}

// saveResult keeps a child's final words. A disk that is full costs the file, and nothing
// else: the words are in the log.
func (h *Hub) saveResult(parent, child troupe.SessionID, text string) string {
	file := h.resultFile(parent, child)
	if file == "" || text == "" {
		return ""
	}
	if err := h.d.SaveResult(file, text); err != nil {
		h.d.Log.Warn("keep an agent's result", "session", child, "err", err)
		return ""
	}
	return file
}

// emitBirth notes a child in its parent's log. One in the background has its call answered
// at once.
func (a *births) emitBirth(emit func(troupe.Body) error, c turn.Call, b birth, born fleet.Born) error {
	child := born.State.Session
	at := troupe.Coord{Reply: c.Reply, Call: c.Index}
	err := emit(troupe.ToolStarted{
		Reply: c.Reply, Call: c.Index, Name: c.Name, Decision: b.decision, Child: child.ID,
		Task: a.h.agentTask(child, at, false),
	})
	if err != nil || !b.background {
		return err
	}
	return emit(a.wentBackground(c, child, "started"))
}

func (a *births) wentBackground(c turn.Call, child troupe.Session, what string) troupe.ToolFinished {
	t := a.h.agentTask(child, troupe.Coord{Reply: c.Reply, Call: c.Index}, true)
	text := fmt.Sprintf("%s in the background.\ntask id: %s\nname: %s\n", what, t.ID, t.Name)
	if t.Output != "" {
		text += "output file (once it has ended): " + t.Output + "\n"
	}
	out := resultOf(c, text+"Its end will arrive by itself as a <task-notification>; go on with other work, or end "+
		"your turn.", false)
	out.Task = t
	return out
}

// background answers calls whose children go on by themselves; by is who wants that, nil if time did.
func (a *births) background(calls []int, by *troupe.Caller) error {
	for _, i := range calls {
		c := a.st.Calls[i]
		t, ok := a.st.Task(string(c.Child))
		if !ok {
			continue
		}
		a.tree.setAwaited(c.Child, false)
		child := troupe.Session{ID: c.Child, Parent: a.id, Name: t.Name, Title: t.Title}
		moved := a.wentBackground(c, child, "It takes long, so it was moved on; it is at work")
		moved.Caller = by
		if err := a.stage(moved); err != nil {
			return err
		}
	}
	return nil
}

// move moves a child to the background that a caller has named.
func (a *births) move(in inMove) error {
	for i := range a.st.Calls {
		if c := &a.st.Calls[i]; c.Stage == turn.CallStarted && c.Child == in.child {
			return a.background([]int{i}, in.by)
		}
	}
	return nil
}

// runShell starts a command in the background: its call has its result at once.
func (a *tasks) runShell(ctx context.Context, i int, name string, p tool.Prepared, env tool.Env) error {
	c := a.st.Calls[i]
	at := troupe.Coord{Reply: c.Reply, Call: c.Index}
	id := troupe.ShellTaskID(at)
	env.Log = filepath.Join(env.OutputDir, string(id)+".log")
	t := troupe.Task{ID: id, Kind: troupe.TaskShell, Name: name, Coord: at, Output: env.Log, Background: true,
		StartedAt: a.h.d.Now()}
	out := resultOf(c, fmt.Sprintf("started in the background.\ntask id: %s\noutput file: %s\nIts end will arrive by "+
		"itself as a <task-notification>; do not wait for it with sleep.", id, env.Log), false)
	out.Task = &t
	if err := a.stage(out); err != nil {
		return err
	}
	if err := a.flush(ctx, nil); err != nil {
		return err
	}
	if a.shells == nil {
		a.shells = make(map[troupe.TaskID]context.CancelFunc)
	}
	now := a.h.d.Now
	ended := a.h.folders.invalidate()
	a.shells[id] = a.goCancel(ctx, func(ctx context.Context) {
		start := now()
		out, err := runPrepared(ctx, p, env)
		ended()
		if cause := ctx.Err(); cause != nil && (err == nil || errors.Is(err, cause)) {
			err = errStopped // at work, or before it began
		}
		a.post(inShellDone{task: t, out: out, err: err, took: now().Sub(start)})
	})
	return nil
}

var errStopped = errors.New("it was stopped")

// shellDone sends its owner the end of a command in the background, as any other end.
func (a *tasks) shellDone(ctx context.Context, in inShellDone) error {
	cancel := a.shells[in.task.ID]
	delete(a.shells, in.task.ID)
	if cancel != nil {
		cancel()
	}
	if a.st.Session.Depth > 0 && a.st.Session.Status.Ended() {
		return nil // it ended with its owner, and its owner's parent was told
	}
	o := troupe.Outcome{
		Kind: troupe.TaskShell, Task: in.task.ID, Coord: in.task.Coord, Name: in.task.Name, Status: troupe.Completed,
		Type:     "Bash",
		Evidence: in.out.Evidence, Output: in.task.Output, DurationMS: in.took.Milliseconds(),
		Result: plain(a.h.d.Mask(troupe.JoinText(in.out.Blocks))),
	}
	switch {
	case errors.Is(in.err, errStopped):
		o.Status, o.Cause, o.Error = troupe.Cancelled, troupe.CauseInterrupt,
			"it was stopped; what it did until then stands"
	case in.err != nil:
		o.Status, o.Cause, o.Error = troupe.Failed, troupe.CauseError, in.err.Error()
	case in.out.IsError || failedCommand(in.out.Evidence):
		o.Status, o.Cause, o.Error = troupe.Failed, troupe.CauseError, exitOf(in.out.Evidence)
	}
	_, told := a.told[in.task.ID] // with the whole tree, whose stop it must not undo
	mail := troupe.Mail{
		ID: troupe.ShellEndedMailID(a.id, in.task.ID), Root: a.root, To: a.id, From: a.id,
		Kind: troupe.MailTaskEnded, SentAt: a.h.d.Now(), Ended: &o, Quiet: told,
	}
	err := a.flush(ctx, func(tx store.Tx) error {
		stopped, err := treeStopped(tx, a.id, a.st.Session.Run, false)
		if err != nil {
			return err
		}
		mail.Quiet = mail.Quiet || stopped
		return sendAll(tx, []troupe.Mail{mail})
	})
	if err != nil {
		return err
	}
	a.receive(mail)
	return nil
}

// withOutputFile is the end of a child as it is told to a parent that did not wait for it, or no more:
// with the file that has all its words, which may not have been made when it ended.
func (a *tasks) withOutputFile(o *troupe.Outcome) *troupe.Outcome {
	if o == nil || o.Session == "" || o.Output != "" || o.Result == "" {
		return o
	}
	told := *o
	told.Output = a.h.saveResult(a.id, o.Session, o.Result)
	return &told
}

// failedCommand reports whether the command ended with another code than 0.
func failedCommand(e troupe.Evidence) bool {
	n := len(e.Commands)
	return n > 0 && e.Commands[n-1].ExitCode != 0
}

func exitOf(e troupe.Evidence) string {
	if n := len(e.Commands); n > 0 {
		return fmt.Sprintf("exit code %d", e.Commands[n-1].ExitCode)
	}
	return "it failed"
}

// endShells ends the commands of an agent whose run is over and names them.
func (a *tasks) endShells() []string {
	var names []string
	for _, t := range a.st.Shells() {
		names = append(names, t.Name+" ("+string(t.ID)+", log: "+t.Output+")")
		if cancel := a.shells[t.ID]; cancel != nil {
			cancel()
		}
	}
	return names
}

// settleRequests denies what nobody will answer.
func (a *requests) settleRequests(act turn.Answer) error {
	for _, i := range act.Calls {
		if a.st.Calls[i].Request == nil {
			continue
		}
		if err := a.stage(a.answer(i, troupe.Answer{By: "nobody", Effect: troupe.Deny, Note: act.By}, "",
			nil)); err != nil {
			return err
		}
	}
	return nil
}

// report answers calls that waited for a task which is still at work.
func (a *tasks) report(calls []int) error {
	for _, i := range calls {
		c := a.st.Calls[i]
		t, _ := a.st.Task(string(c.Wait.Task))
		text := fmt.Sprintf("still running: %s (%s). Its end will arrive by itself as a <task-notification>; waiting "+
			"again is not needed.", t.ID, t.Name)
		if err := a.stage(resultOf(c, text, false)); err != nil {
			return err
		}
	}
	return nil
}

// carryOut does what a call intends. The driver does it, so a call either has happened with
// everything that belongs to it, or not at all.
func (a *calls) carryOut(ctx context.Context, i int, intent troupe.Intent) error {
	c := a.st.Calls[i]
	t, _ := a.h.d.Tools.Find(c.Name) // it was decoded, so it is there
	d, settled, err := a.judgeIntent(i, t.Intended(intent), func() string { return c.Name + " " + c.Input })
	if err != nil || settled {
		return err
	}
	switch in := intent.(type) {
	case troupe.SendMessage:
		return a.tasks.sendMessage(ctx, c, in)
	case troupe.TaskQuery:
		return a.tasks.query(ctx, i, d, in)
	case troupe.TaskStop:
		return a.tasks.stopTask(ctx, c, in)
	case troupe.Spawn:
	}
	return fmt.Errorf("%s: an intent of type %T is not carried out here", c.Name, intent)
}

// query answers TaskOutput: the list, the result of a task that has ended, or what is known
// of one at work, at once or when it has ended.
func (a *tasks) query(ctx context.Context, i int, d troupe.Decision, in troupe.TaskQuery) error {
	c := a.st.Calls[i]
	if in.Task == "" {
		return a.stage(resultOf(c, turn.RenderTasks(a.st.Tasks), false))
	}
	t, ok := a.st.Task(in.Task)
	if !ok {
		return a.stage(resultOf(c, fmt.Sprintf("there is no task %q; your tasks:\n%s", in.Task,
			turn.RenderTasks(a.st.Tasks)), true))
	}
	var reads troupe.MailID
	replayed := false
	if r := a.h.d.Replay; r != nil {
		reads, replayed = r.Reads(a.id, troupe.Coord{Reply: c.Reply, Call: c.Index})
	}
	// Its end may be in the mailbox: whoever reads it here needs no notice any more.
	for _, m := range a.unread {
		if replayed && m.ID != reads {
			continue
		}
		if m.Kind == troupe.MailTaskEnded && m.Ended != nil && m.Ended.TaskID() == t.ID {
			a.unread = without(a.unread, []troupe.Mail{m})
			m.Ended = a.withOutputFile(m.Ended)
			out := resultOf(c, turn.RenderNotification(*m.Ended), false)
			out.Outcome, out.Mail = m.Ended, m.ID
			if err := a.stage(out); err != nil {
				return err
			}
			a.staged.read(a.st.Session.Seq, m.ID)
			return nil
		}
	}
	switch {
	case t.Status != troupe.TaskRunning:
		return a.retell(ctx, c, t)
	case in.Block:
		return a.stage(troupe.ToolStarted{
			Reply: c.Reply, Call: c.Index, Name: c.Name, Decision: d,
			Wait: &troupe.Wait{Task: t.ID, Until: a.h.d.Now().Add(in.Timeout)},
		})
	}
	return a.peek(ctx, c, t)
}

// retell repeats the end of a task that the session has been told before.
func (a *tasks) retell(ctx context.Context, c turn.Call, t troupe.Task) error {
	if err := a.flush(ctx, nil); err != nil {
		return err
	}
	var events []troupe.Event
	err := a.h.d.Store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
		var err error
		events, err = r.Events(a.id, t.End-1, 1)
		return err
	})
	if err != nil {
		return fmt.Errorf("read session %s: %w", a.id, err)
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case troupe.ToolFinished:
			if b.Outcome != nil {
				return a.stage(resultOf(c, turn.RenderNotification(*b.Outcome), false))
			}
		case troupe.MailDelivered:
			for _, m := range b.Mail {
				if m.Ended != nil && m.Ended.TaskID() == t.ID {
					return a.stage(resultOf(c, turn.RenderNotification(*m.Ended), false))
				}
			}
		}
	}
	return a.stage(resultOf(c, turn.RenderTasks([]troupe.Task{t}), false))
}

// peek says how far a task at work has come. It shows nothing of its transcript.
func (a *tasks) peek(ctx context.Context, c turn.Call, t troupe.Task) error {
	text := turn.RenderTasks([]troupe.Task{t})
	if t.Kind == troupe.TaskAgent {
		var s troupe.Session
		err := a.h.d.Store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
			var err error
			s, err = r.Session(troupe.SessionID(t.ID))
			return err
		})
		if err != nil {
			return fmt.Errorf("read session %s: %w", t.ID, err)
		}
		text += fmt.Sprintf("\n%s; %d model replies, %d tool uses, %d tokens so far", s.Status.For(s.Waiting),
			s.Tally.Turns,
			s.Tally.ToolUses, s.Tally.Usage.Total())
	}
	return a.stage(resultOf(c, text, false))
}
