package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// attached is one agent of a tree as it is looked at from a process that never runs it.
type attached struct {
	agent troupe.SessionID
	name  string // of the agent, as people say it
	kind  string
	team  bool // it is a member of a team, or leads one
	// status is that of its last event; the words are those of `troupe team`.
	status troupe.Status
	owner  wire.Owner
	run    bool // a live process has the tree in hand
	asleep bool // it was put away
	lost   bool // what is followed has lost the process that it came from, which may still be ending
	title  string
	over   bool         // nothing is followed: that has failed
	beat   *time.Ticker // while it is to be looked who has it
}

// Attach shows one agent of a tree, live, and takes words for it and answers to what it asks, until the person
// detaches. The tree is run by whoever runs it: that this ends, or that its terminal goes away, stops nothing.
func Attach(ctx context.Context, c *console.Console, a api.API, ref string, o Options) error {
	s, err := a.Find(ctx, ref, c.Cwd)
	if err != nil {
		return err
	}
	// What is said is about the folder in which the agent works.
	v := newConversation(c, &trees{api: a, next: wire.Begin{Cwd: s.Cwd}}, o)
	return hold(ctx, v, func() error { return attachTo(ctx, v, s) })
}

// subject is the agent that the conversation is with.
func (t *tree) subject() troupe.SessionID {
	if t.attached != nil {
		return t.attached.agent
	}
	return t.root
}

// only leaves of what came what concerns the agent that is attached to, and notes how far the tree was read.
func (t *tree) only(b wire.Batch, view *render.View) wire.Batch {
	if t.attached == nil {
		return b
	}
	for _, e := range b.Events {
		t.seen[e.Session] = max(t.seen[e.Session], e.Seq)
	}
	foreign := func(id troupe.SessionID) bool { return !view.Cast.Below(id, t.attached.agent) }
	b.Events = slices.DeleteFunc(b.Events, func(e troupe.Event) bool { return foreign(e.Session) })
	b.Deltas = slices.DeleteFunc(b.Deltas, func(d wire.Delta) bool { return foreign(d.Session) })
	for _, e := range b.Events {
		if e.Session == t.attached.agent {
			t.attached.follow(e)
		}
	}
	return b
}

// asks are the requests that are answered here.
func (t *tree) asks(open []wire.Request, view *render.View) []wire.Request {
	if t.attached == nil {
		return open
	}
	return slices.DeleteFunc(open, func(r wire.Request) bool {
		return !view.Cast.Below(r.Session, t.attached.agent)
	})
}

// follow notes what the agent is at.
func (a *attached) follow(e troupe.Event) {
	switch b := e.Body.(type) {
	case troupe.Started:
		a.status = troupe.Running
	case troupe.Ended:
		a.status = b.Outcome.Status
	default:
	}
}

// state is the one word for what the agent is at.
func (a *attached) state(working, asked bool) string {
	switch {
	case a.asleep:
		return "asleep"
	case !a.run:
		return "no process"
	case asked:
		return "asking"
	case working:
		return "working"
	case a.status == troupe.Completed || !a.status.Ended():
		if a.team {
			return "idle"
		}
		return "done"
	}
	return console.EndWord(string(a.status))
}

// attachTo shows the agent until now, and follows it from there.
func attachTo(ctx context.Context, v *conversation, s wire.Session) error {
	now, err := v.trees.api.Tree(ctx, s.Root)
	if err != nil {
		return err
	}
	team, err := v.trees.api.Team(ctx, s.Root)
	if err != nil {
		return err
	}
	a := &attached{agent: s.ID, kind: s.Type, status: s.Status, owner: now.Owner, run: now.Running,
		asleep: sleeps(now),
		team:   slices.ContainsFunc(team.Members, func(m wire.Teammate) bool { return m.ID == s.ID })}
	if a.name = s.Name; a.name == "" {
		a.name = s.Path
	}
	t := &tree{trees: v.trees, root: s.Root, before: now.Sessions, attached: a}
	v.tree = t
	all := render.New(t.root, render.Options{Color: v.color, Width: v.width(), Cwd: v.trees.next.Cwd, Local: v.o.Local,
		Markdown: v.raw(), Rows: v.board.on})
	all.Cast.Know(now.Sessions)
	x := &transcript{id: s.ID, view: all.Of(s.ID), seen: make(map[troupe.SessionID]int64)}
	v.view = x.view
	for _, other := range now.Sessions {
		x.seen[other.ID] = other.Seq
	}
	past, err := x.read(ctx, v, now.Sessions)
	if err != nil {
		return err
	}
	v.m = machine{terminal: v.m.terminal, mark: v.m.mark, listening: listening{attachedName(v), true}, begun: true,
		working: a.run && s.Status.Live()}
	v.board.work = render.NewWork(v.view)
	v.board.work.Beside(true) // Esc stops nothing here
	v.board.still = !a.run
	for _, e := range past {
		v.board.work.Event(e)
	}
	introduce(v, s, x.rows(past))
	if err := t.follow(ctx, x.seen, true); err != nil {
		return err
	}
	stand(v)
	v.flow("")
	v.requests(ctx)
	return nil
}

// attachedName is the agent's name as it is shown.
func attachedName(v *conversation) string {
	return console.Middle(console.Line(v.tree.attached.name, 0), 40)
}

// introduce says who this is, shows the last of what it said and did, and how to talk to it.
func introduce(v *conversation, s wire.Session, rows []string) {
	parts := []string{"── " + console.Line(s.Path, 0), console.Line(s.Type, 30)}
	if s.Model != "" {
		parts = append(parts, console.Model(s.Model))
	}
	v.say(strings.Join(parts, " · "))
	if over := len(rows) - pastRows(v.s.Height()); over > 0 {
		rows = rows[over:]
		v.say(fmt.Sprintf("… %s before; /log shows them", console.Count(over, "row")))
	}
	v.flow(strings.Join(rows, ""))
	v.say("Your words go to " + attachedName(v) + ". Ctrl-D detaches and stops nothing; /help lists what there is.")
	if !v.tree.attached.run {
		v.say(unrun(v, "No process runs its session"))
	}
}

// sleeps reports whether a tree was put away.
func sleeps(t wire.Tree) bool { return len(t.Sessions) > 0 && !t.Sessions[0].AsleepAt.IsZero() }

// unrun says what a session that no process runs means to who looks at it.
func unrun(v *conversation, what string) string {
	if v.tree.attached.asleep {
		return fmt.Sprintf("Its session is asleep. What you write waits until you wake it: troupe wake %s", v.tree.root)
	}
	return fmt.Sprintf("%s. What you write waits until one goes on with it: troupe --resume %s", what, v.tree.root)
}

// orphaned tells, while no process has the tree for sure, when to look whether one has.
func (t *tree) orphaned() <-chan time.Time {
	if t == nil || t.attached == nil || t.attached.run && !t.attached.lost {
		return nil
	}
	if t.attached.beat == nil {
		t.attached.beat = time.NewTicker(beat)
	}
	return t.attached.beat.C
}

// cut notes that a stream brought nothing: it may have lost the process that it came from. Whether that one has ended
// is known a little later, for the tree is the last that it lets go of.
func cut(ctx context.Context, v *conversation) {
	if v.tree != nil && v.tree.attached != nil {
		v.tree.attached.lost = true
		hosted(ctx, v, false)
	}
}

// hosted looks whether another process has the tree now, or none, says so, and follows what that one sends. later: it
// was looked a while ago too.
func hosted(ctx context.Context, v *conversation, later bool) {
	if v.tree == nil || v.tree.attached == nil || v.leave {
		return
	}
	a := v.tree.attached
	now, err := v.trees.api.Tree(ctx, v.tree.root)
	switch {
	case err != nil && v.gone(ctx, err):
		return
	case err != nil:
		v.complain(err)
		return
	case now.Running == a.run && sleeps(now) == a.asleep && (!a.run || now.Owner == a.owner):
		if a.lost && a.run && later {
			followAgain(ctx, v) // it is there
		}
		return
	}
	was := a.owner
	a.run, a.asleep, a.owner, a.lost = now.Running, sleeps(now), now.Owner, false
	v.board.still = !a.run
	for _, s := range now.Sessions {
		if s.ID == a.agent {
			a.status = s.Status
			v.m.working = a.run && s.Status.Live()
		}
	}
	if !a.run {
		v.say(unrun(v, fmt.Sprintf("Process %d, which ran this session, is gone; what is in its log is kept", was.PID)))
	} else {
		v.say(fmt.Sprintf("Process %d runs this session now.", a.owner.PID))
		followAgain(ctx, v)
	}
	if v.tree == nil || v.leave {
		return
	}
	v.requests(ctx)
	stand(v)
	v.flow("")
}

// followAgain follows the tree where it is run now, from where it was read.
func followAgain(ctx context.Context, v *conversation) {
	t := v.tree
	t.attached.lost, t.attached.over = false, false
	t.stop()
	for f := range t.batches {
		if f.err == nil && len(f.Events)+len(f.Deltas) > 0 {
			v.show(ctx, f.Batch)
		}
	}
	t.stream.Close()
	if err := t.follow(ctx, t.seen, true); err != nil {
		broken(v, err)
	}
}

// broken says that the agent cannot be followed just now. It is tried again soon: a viewer does not go away by itself.
func broken(v *conversation, err error) {
	v.complain(err)
	v.tree.attached.lost, v.tree.attached.over = true, true
}

// marks says at the terminal's title what the agent is at, and above the prompt.
func marks(v *conversation) {
	if v.tree == nil || v.tree.attached == nil {
		return
	}
	a := v.tree.attached
	title := attachedName(v) + " · " + a.state(v.m.working, len(v.m.asks) > 0)
	if s, ok := v.s.(interface{ Title(text string) }); ok && title != a.title {
		s.Title(strings.ReplaceAll(title, "#", "")) // which begins what terminals in tmux make something else of
	}
	if a.title != "" && title != a.title && !v.m.working && a.run && len(v.m.asks) == 0 {
		v.say(title + ". What you write has it go on.")
	}
	a.title = title
	v.board.status = statusLine(v)
}

// attachedLine is the line above the prompt.
func attachedLine(v *conversation) string {
	a := v.tree.attached
	model, mode, cost := v.standing()
	parts := []string{attachedName(v), a.state(v.m.working, len(v.m.asks) > 0), console.ShortModel(model), string(mode)}
	if cost > 0 {
		parts = append(parts, cost.String())
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return v.dim(ansi.Truncate("· "+strings.Join(parts, " · "), max(v.width()-1, 20), "…"))
}

// sendAttached sends words to the agent, as `troupe send` does.
func sendAttached(ctx context.Context, v *conversation, m wire.Message, text string) error {
	sent, err := v.trees.api.Send(ctx, v.tree.attached.agent, m)
	if err != nil {
		return err
	}
	v.view.Mine(sent.Mail)
	switch {
	case sent.Effect == "waits":
		now, err := v.trees.api.Tree(ctx, v.tree.root)
		if err != nil {
			return err
		}
		v.say("Kept: " + console.SentText(now, sent, m))
	case v.m.working && sent.Effect == "steers":
		v.board.work.Queued(sent.Mail, text)
	default:
		v.m.working = true
	}
	marks(v)
	v.flow("")
	return nil
}

// stopAttached ends the agent's run.
func stopAttached(ctx context.Context, v *conversation) error {
	switch {
	case !v.tree.attached.run:
		v.say("No process runs its session, so there is nothing to stop.")
		return nil
	case !v.m.working:
		v.say(attachedName(v) + " is not at work.")
		return nil
	}
	v.m.closes(closedByStop, "")
	v.say("Stopping " + attachedName(v) + ".")
	return v.trees.api.Stop(ctx, v.tree.attached.agent, wire.Stop{Now: true, Tree: true})
}

// detached says that nothing was stopped, and how to come back.
func detached(v *conversation) {
	if v.tree == nil {
		return
	}
	goes := "nothing was stopped"
	if v.m.working {
		goes = attachedName(v) + " goes on"
	}
	v.say(fmt.Sprintf("Detached: %s. Back: troupe attach %s", goes, v.tree.attached.agent))
}
