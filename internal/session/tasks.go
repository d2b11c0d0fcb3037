package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/store"
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
func (bs *births) keepResult(text string) string {
	if bs.a.tree.takeAwaited(bs.a.id) && len(text) <= turn.MaxResult {
		return ""
	}
	return bs.a.h.saveResult(bs.a.st.Session.Parent, bs.a.id, text)
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
func (bs *births) emitBirth(emit func(troupe.Body) error, c turn.Call, b birth, born fleet.Born) error {
	child := born.State.Session
	at := troupe.Coord{Reply: c.Reply, Call: c.Index}
	t := bs.a.h.agentTask(child, at, false)
	if b.Profile.Workflow {
		t.Kind = troupe.TaskWorkflow
	}
	err := emit(troupe.ToolStarted{
		Reply: c.Reply, Call: c.Index, Name: c.Name, Decision: b.decision, Child: child.ID, Task: t,
	})
	if err != nil || !b.background {
		return err
	}
	out := bs.wentBackground(c, child, "started")
	out.Task.Kind = t.Kind
	return emit(out)
}

func (bs *births) wentBackground(c turn.Call, child troupe.Session, what string) troupe.ToolFinished {
	t := bs.a.h.agentTask(child, troupe.Coord{Reply: c.Reply, Call: c.Index}, true)
	if hasSubagents(bs.a) {
		out := resultOf(c, turn.RenderSubagent(child, troupe.Running), false)
		out.Task = t
		return out
	}
	text := fmt.Sprintf("%s in the background.\ntask id: %s\nname: %s\nstatus: %s\n", what, t.ID, t.Name,
		troupe.TaskRunning)
	if t.Title != "" && !strings.EqualFold(t.Title, t.Name) {
		text += "description: " + shortened(t.Title) + "\n"
	}
	if prompt := bs.promptOf(c); prompt != "" {
		text += "prompt: " + shortened(prompt) + "\n"
	}
	text += "output: none to read before it has ended; TaskOutput with block false shows how far it is\n"
	if t.Output != "" {
		text += "output file (once it has ended): " + t.Output + "\n"
	}
	out := resultOf(c, text+"Its end will arrive by itself as a <task-notification>; go on with other work, or end "+
		"your turn.", false)
	out.Task = t
	return out
}

// maxRepeated is how many bytes of a call's own words its result repeats.
const maxRepeated = 200

// shortened is the beginning of a text on one line.
func shortened(text string) string {
	text, cut := turn.Cap(troupe.Escape(strings.Join(strings.Fields(text), " ")), maxRepeated)
	if cut > 0 {
		text += "…"
	}
	return text
}

// promptOf is what a call gave its child to do.
func (bs *births) promptOf(c turn.Call) string {
	sp, _ := bs.asks(c)
	return sp.Prompt
}

// background answers calls whose children go on by themselves; by is who wants that, nil if time did.
func (bs *births) background(calls []int, by *troupe.Caller) error {
	for _, i := range calls {
		c := bs.a.st.Calls[i]
		t, ok := bs.a.st.Task(string(c.Child))
		if !ok {
			continue
		}
		bs.a.tree.setAwaited(c.Child, false)
		child := troupe.Session{ID: c.Child, Parent: bs.a.id, Name: t.Name, Title: t.Title}
		moved := bs.wentBackground(c, child, "It was moved to the background while it works; it is at work")
		moved.Caller, moved.Task.Kind = by, t.Kind
		if err := bs.a.stage(moved); err != nil {
			return err
		}
	}
	return nil
}

// runOwn starts a command or a monitor in the background: its call has its result at once.
func (ts *tasks) runOwn(ctx context.Context, i int, j *judged) error {
	c, env := ts.a.st.Calls[i], j.env
	at := troupe.Coord{Reply: c.Reply, Call: c.Index}
	id := troupe.ShellTaskID(at)
	env.Log = filepath.Join(env.OutputDir, string(id)+".log")
	t := troupe.Task{ID: id, Kind: troupe.TaskShell, Name: j.background, Coord: at, Output: env.Log, Background: true,
		Reads: j.access.Class == troupe.ClassRead, StartedAt: ts.a.h.d.Now()}
	arrives := "Its end will arrive by itself as a <task-notification>; do not wait for it with sleep."
	if j.monitors {
		t.Kind = troupe.TaskMonitor
		env.Line = ts.a.hearing.listen(t)
		arrives = "What it tells, and its end, arrive by themselves as <task-notification>s, also when you have " +
			"ended your " +
			"turn; do not wait for them with sleep."
	}
	out := resultOf(c, fmt.Sprintf("started in the background.\ntask id: %s\noutput file: %s\n%s", id, env.Log,
		arrives),
		false)
	out.Task = &t
	if err := ts.a.stage(out); err != nil {
		return err
	}
	if err := ts.a.flush(ctx, nil); err != nil {
		return err
	}
	if ts.own == nil {
		ts.own = make(map[troupe.TaskID]context.CancelFunc)
	}
	now := ts.a.h.d.Now
	ended := ts.a.h.folders.invalidate()
	ts.own[id] = ts.a.goCancel(ctx, func(ctx context.Context) {
		start := now()
		out, err := runPrepared(ctx, j.prepared, env)
		ended()
		if cause := ctx.Err(); cause != nil && (err == nil || errors.Is(err, cause)) {
			err = errStopped // at work, or before it began
		}
		ts.a.post(inOwnDone{task: t, out: out, err: err, took: max(0, now().Sub(start))})
	})
	return nil
}

var errStopped = errors.New("it was stopped")

// ownDone sends its owner the end of a command in the background, as any other end.
func (ts *tasks) ownDone(ctx context.Context, in inOwnDone) error {
	cancel := ts.own[in.task.ID]
	delete(ts.own, in.task.ID)
	if cancel != nil {
		cancel()
	}
	m := ts.a.hearing.monitors[in.task.ID]
	delete(ts.a.hearing.monitors, in.task.ID)
	if ts.a.st.Session.Depth > 0 && ts.a.st.Session.Status.Ended() {
		return nil // it ended with its owner, and its owner's parent was told
	}
	out := ts.a.h.maskOutput(in.out)
	o := troupe.Outcome{
		Kind: in.task.Kind, Task: in.task.ID, Coord: in.task.Coord, Name: in.task.Name, Status: troupe.Completed,
		Type:     "Bash",
		Evidence: out.Evidence, Output: in.task.Output, DurationMS: in.took.Milliseconds(),
		Result: plain(troupe.JoinText(out.Blocks)),
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
	_, told := ts.told[in.task.ID] // with the whole tree, whose stop it must not undo
	now := ts.a.h.d.Now()
	mail := append(ts.a.hearing.heardOf(m, now, told), troupe.Mail{
		ID: troupe.ShellEndedMailID(ts.a.id, in.task.ID), Root: ts.a.root, To: ts.a.id, From: ts.a.id,
		Kind: troupe.MailTaskEnded, SentAt: now, Ended: &o, Quiet: told,
	})
	if in.task.Kind == troupe.TaskMonitor && o.Status != troupe.Cancelled {
		ts.a.hearing.hold(mail, now)
		return nil
	}
	return ts.a.hearing.tell(ctx, mail)
}

// withOutputFile is the end of a child as it is told to a parent that did not wait for it, or no more:
// with the file that has all its words, which may not have been made when it ended.
func (ts *tasks) withOutputFile(o *troupe.Outcome) *troupe.Outcome {
	if o == nil || o.Session == "" || o.Output != "" || o.Result == "" {
		return o
	}
	told := *o
	told.Output = ts.a.h.saveResult(ts.a.id, o.Session, o.Result)
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

// endOwn ends the commands of an agent whose run is over and names them.
func (ts *tasks) endOwn() []string {
	var names []string
	for _, t := range ts.a.st.OwnTasks() {
		names = append(names, t.Name+" ("+string(t.ID)+", log: "+t.Output+")")
		if cancel := ts.own[t.ID]; cancel != nil {
			cancel()
		}
	}
	return names
}

// settleRequests denies what nobody will answer.
func (rs *requests) settleRequests(act turn.Answer) error {
	for _, i := range act.Calls {
		if rs.a.st.Calls[i].Request == nil {
			continue
		}
		if err := rs.a.stage(rs.answer(i, troupe.Answer{By: byRuntime, Effect: troupe.Deny, Note: act.By}, "",
			nil)); err != nil {
			return err
		}
	}
	return nil
}

// report answers calls that waited for a task which is still at work.
func (ts *tasks) report(calls []int) error {
	for _, i := range calls {
		c := ts.a.st.Calls[i]
		if c.Wait.Board {
			if err := ts.a.stage(resultOf(c, "the lead of your team has not answered; look with TaskList before you "+
				"try "+
				"it again", true)); err != nil {
				return err
			}
			continue
		}
		t, _ := ts.a.st.Task(string(c.Wait.Task))
		text := fmt.Sprintf("still running: %s (%s). Its end will arrive by itself as a <task-notification>; waiting "+
			"again is not needed.", t.ID, t.Name)
		if ts.waitsForUs(t.ID) {
			text += " It waits itself for an answer of yours, so that each of you waited for the other: what it asks " +
				"follows."
		}
		if err := ts.a.stage(resultOf(c, text, false)); err != nil {
			return err
		}
	}
	return nil
}

// waitsForUs reports whether an agent has asked something that this session has not read yet.
func (ts *tasks) waitsForUs(id troupe.TaskID) bool {
	return slices.ContainsFunc(ts.a.unread, func(m troupe.Mail) bool {
		return troupe.TaskID(m.From) == id && m.ID.Asks() != ""
	})
}

// carryOut does what a call intends. The driver does it, so a call either has happened with
// everything that belongs to it, or not at all.
func (cs *calls) carryOut(ctx context.Context, i int, intent troupe.Intent) error {
	c := cs.a.st.Calls[i]
	t, _ := toolsOf(cs.a, &cs.a.st.Profile).Find(c.Name) // it was decoded, so it is there
	switch in := intent.(type) {
	case troupe.AskClient:
		return cs.a.requests.askClient(i, t, in)
	case troupe.AskUser:
		return cs.a.requests.askUser(i, t, in)
	case troupe.EnterPlan:
		return cs.a.requests.enterPlan(ctx, i, t, in)
	case troupe.ExitPlan:
		return cs.a.requests.exitPlan(ctx, i, t, in)
	}
	d, settled, err := cs.judgeIntent(i, t.Intended(intent), func() string { return c.Name + " " + c.Input })
	if err != nil || settled {
		return err
	}
	switch in := intent.(type) {
	case troupe.SendMessage:
		return cs.a.tasks.sendMessage(ctx, c, in)
	case troupe.TaskQuery:
		return cs.a.tasks.query(ctx, i, d, in)
	case troupe.TaskStop:
		return cs.a.tasks.stopTask(ctx, c, in)
	case troupe.BoardCreate, troupe.BoardUpdate, troupe.BoardQuery:
		return cs.a.team.onBoard(ctx, i, d, in)
	case troupe.TeamCreate:
		return cs.a.team.create(c, in)
	case troupe.TeamDelete:
		return cs.a.team.discard(ctx, c)
	case troupe.EnterWorktree:
		return cs.a.place.enter(ctx, c, in)
	case troupe.ExitWorktree:
		return cs.a.place.exit(ctx, i)
	case troupe.Spawn, troupe.AskUser, troupe.EnterPlan, troupe.ExitPlan, troupe.AskClient:
	}
	return fmt.Errorf("%s: an intent of type %T is not carried out here", c.Name, intent)
}

// query answers TaskOutput: the list, the result of a task that has ended, or what is known
// of one at work, at once or when it has ended.
func (ts *tasks) query(ctx context.Context, i int, d troupe.Decision, in troupe.TaskQuery) error {
	c := ts.a.st.Calls[i]
	if hasSubagents(ts.a) {
		return getSubagents(ctx, ts, c, in)
	}
	if in.Task == "" {
		return ts.list(ctx, c)
	}
	t, ok := ts.a.st.Task(in.Task)
	if !ok {
		return ts.a.stage(resultOf(c, fmt.Sprintf("there is no task %q; your tasks:\n%s", in.Task,
			turn.RenderTasks(ts.a.st.Tasks, nil)), true))
	}
	if m, ok := unreadEnd(ts, c, t.ID); ok {
		return readEnd(ctx, ts, m, resultOf(c, turn.RenderNotification(*m.Ended), false))
	}
	switch {
	case t.Status != troupe.TaskRunning:
		return ts.retell(ctx, c, t)
	case in.Block:
		return ts.a.stage(troupe.ToolStarted{
			Reply: c.Reply, Call: c.Index, Name: c.Name, Decision: d,
			Wait: &troupe.Wait{Task: t.ID, Until: ts.a.h.d.Now().Add(in.Timeout)},
		})
	}
	return ts.peek(ctx, c, t)
}

// unreadEnd takes the end of a task out of the mailbox: whoever reads it here needs no notice any more. That of an
// earlier run is not what was asked for.
func unreadEnd(ts *tasks, c turn.Call, t troupe.TaskID) (m troupe.Mail, ok bool) {
	var reads troupe.MailID
	replayed := false
	if r := ts.a.h.d.Replay; r != nil {
		reads, replayed = r.Reads(ts.a.id, troupe.Coord{Reply: c.Reply, Call: c.Index})
	}
	for _, m := range ts.a.unread {
		if replayed && m.ID != reads {
			continue
		}
		if m.Kind == troupe.MailTaskEnded && m.Ended != nil && m.Ended.TaskID() == t &&
			(replayed || !ts.a.st.Earlier(m.Ended)) {
			ts.a.unread = without(ts.a.unread, []troupe.Mail{m})
			m.Ended = ts.withOutputFile(m.Ended)
			return m, true
		}
	}
	return m, false
}

// readEnd has an end be what a call tells, in the transaction that marks its mail delivered.
func readEnd(ctx context.Context, ts *tasks, m troupe.Mail, out troupe.ToolFinished) error {
	out.Outcome, out.Mail = m.Ended, m.ID
	if err := ts.a.stage(out); err != nil {
		return err
	}
	ts.a.staged.read(ts.a.st.Session.Seq, m.ID)
	return ts.a.team.membersEnded(ctx, []troupe.Outcome{*m.Ended})
}

// retell repeats the end of a task that the session has been told before.
func (ts *tasks) retell(ctx context.Context, c turn.Call, t troupe.Task) error {
	o, err := endOf(ctx, ts, t)
	if err != nil {
		return err
	}
	text := turn.RenderTasks([]troupe.Task{t}, nil)
	if o != nil {
		text = turn.RenderNotification(*o)
	}
	return ts.a.stage(resultOf(c, text, false))
}

// endOf is the end of a task as the session was told of it; nil if its log does not say.
func endOf(ctx context.Context, ts *tasks, t troupe.Task) (*troupe.Outcome, error) {
	if err := ts.a.flush(ctx, nil); err != nil {
		return nil, err
	}
	var events []troupe.Event
	err := ts.a.h.d.Store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
		var err error
		events, err = r.Events(ts.a.id, t.End-1, 1)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", ts.a.id, err)
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case troupe.ToolFinished:
			return b.Outcome, nil
		case troupe.MailDelivered:
			for _, m := range b.Mail {
				if m.Ended != nil && m.Ended.TaskID() == t.ID {
					return m.Ended, nil
				}
			}
		}
	}
	return nil, nil
}

// list tells what tasks there are and how far the agents among them are.
func (ts *tasks) list(ctx context.Context, c turn.Call) error {
	about := make(map[troupe.TaskID]troupe.Session)
	err := ts.a.h.d.Store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
		children, err := r.Sessions(store.Filter{Root: ts.a.root, Parent: ts.a.id})
		for _, s := range children {
			about[troupe.TaskID(s.ID)] = s
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list the agents of session %s: %w", ts.a.id, err)
	}
	return ts.a.stage(resultOf(c, turn.RenderTasks(ts.a.st.Tasks, about), false))
}

// What a peek shows of what an agent has said: of its last words so many bytes, found among so many of
// its last events.
const (
	maxPeek   = 1000
	peekAmong = 60
)

// peek says how far a task at work has come, and what an agent said last. Whose words they are is marked.
func (ts *tasks) peek(ctx context.Context, c turn.Call, t troupe.Task) error {
	if !t.Kind.OfSession() {
		return ts.a.stage(resultOf(c, turn.RenderTasks([]troupe.Task{t}, nil), false))
	}
	var s troupe.Session
	var events []troupe.Event
	err := ts.a.h.d.Store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
		var err error
		if s, err = r.Session(troupe.SessionID(t.ID)); err == nil {
			events, err = r.Events(s.ID, max(0, s.Seq-peekAmong), peekAmong)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read session %s: %w", t.ID, err)
	}
	text := turn.RenderTasks([]troupe.Task{t}, nil)
	text += "\n" + s.Status.For(s.Waiting) + "; " + turn.Progress(s.Tally)
	if said := lastSaid(events); said != "" {
		text += "\n" + troupe.Quote("agent-said", said)
	}
	return ts.a.stage(resultOf(c, text, false))
}

// lastSaid is the end of the last text among the replies of a session; "" if there is none.
func lastSaid(events []troupe.Event) string {
	for _, e := range slices.Backward(events) {
		b, ok := e.Body.(troupe.Replied)
		if !ok {
			continue
		}
		said := strings.TrimSpace(troupe.JoinText(b.Blocks))
		if len(said) > maxPeek {
			said = "…" + strings.ToValidUTF8(said[len(said)-maxPeek:], "")
		}
		if said != "" {
			return said
		}
	}
	return ""
}
