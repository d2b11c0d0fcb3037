package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/live"
	"github.com/troupe-dev/troupe/internal/wire"
)

// perform carries out what the machine decided. What fails is said, and the conversation goes on.
func (v *conversation) perform(ctx context.Context, acts []act) {
	for _, a := range acts {
		err := v.performOne(ctx, a)
		if err == nil {
			continue
		}
		gone := v.gone(ctx, err)
		if !gone {
			v.complain(err)
		}
		switch {
		case a.kind == actSend && v.tree == nil && !gone:
			// What keeps a conversation from beginning stays so until something else is done about it.
			v.say("Not sent; Up brings it back.")
		case a.kind == actSend && !v.s.Put(a.text):
			v.say("Not sent: " + console.Line(a.text, 400))
		case a.kind == actAnswer && !gone && v.tree != nil && !v.m.ending:
			delete(v.m.settled, a.request) // if it is open still it is asked again
			v.requests(ctx)
		case a.kind == actCount && gone:
			v.leave = true
		}
		if gone {
			return
		}
	}
}

// gone finds out whether an error means that the conversation is not there any more, says so,
// and lets go of it.
func (v *conversation) gone(ctx context.Context, err error) bool {
	if v.tree == nil || !errors.Is(err, troupe.ErrNotFound) {
		return false
	}
	if _, err := v.trees.api.Report(ctx, v.tree.root); !errors.Is(err, troupe.ErrNotFound) {
		return false
	}
	if v.m.attached {
		v.say(fmt.Sprintf("This session was deleted (%s): there is nothing left to attach to.", v.tree.root))
		v.letGo()
		v.leave = true
		return true
	}
	v.say(fmt.Sprintf("This conversation was deleted (%s). Your next message begins a new one.", v.tree.root))
	v.letGo()
	return true
}

func (v *conversation) performOne(ctx context.Context, a act) error {
	switch a.kind {
	case actSay:
		v.say(console.Clean(a.text))
	case actSend:
		return v.send(ctx, a.text)
	case actCommand:
		err := commandNamed(a.name).run(ctx, v, a.text)
		stand(v) // it may have changed what the next conversation begins with
		return err
	case actAnswer:
		return v.trees.api.Answer(ctx, a.request, a.answer)
	case actStop:
		return v.stop(ctx, v.tree.root, a.stop)
	case actShow:
		if len(v.m.asks) > 0 {
			x := &box{waiting: len(v.m.asks) - 1, whole: a.name == "whole", explain: a.name == "explained",
				width: v.width(), color: v.color, local: v.o.Local, now: v.board.now(), home: v.home, main: v.role(),
				said: len(v.m.said), markdown: v.raw()}
			if v.m.attached {
				x.attached, x.main = v.m.to, ""
			}
			text := showRequest(v.m.asks[0], x)
			v.flow(v.bell() + v.yellow(text))
		}
	case actCount:
		agents, commands, err := v.atWork(ctx)
		if err != nil {
			return err
		}
		v.perform(ctx, v.m.counted(agents, commands))
	case actWait:
		v.tree.wait(ctx)
	case actLeave:
		v.leave = true
	case actClear:
		v.s.Clear()
	case actBack:
		v.back()
	case actUndo:
		return applyUndo(ctx, v)
	}
	return nil
}

func (v *conversation) bell() string {
	if v.m.terminal {
		return "\a"
	}
	return ""
}

func (v *conversation) yellow(s string) string {
	if !v.color {
		return s
	}
	// The edge is ours; what stands behind it is shown as it is.
	for _, edge := range []string{"┏━", "┃", "┗━"} {
		s = strings.ReplaceAll("\n"+s, "\n"+edge, "\n\x1b[33m"+edge+"\x1b[0m")[1:]
	}
	return s
}

// send sends a message with what it names to the agent that is shown; the first one begins the conversation.
func (v *conversation) send(ctx context.Context, text string) error {
	m, notes := attach(v.trees.next.Cwd, v.home, literal(&v.m, text))
	for _, n := range notes {
		v.say("  " + console.Clean(n))
	}
	if v.tree == nil {
		b := v.trees.next
		b.Prompt, b.Images, b.Read, b.Model, b.Mode = m.Text, m.Images, m.Read, cmp.Or(v.model, b.Model),
			cmp.Or(v.mode, b.Mode)
		err := v.begin(ctx, b)
		if err == nil {
			v.model, v.mode = "", "" // it has them
		}
		return err
	}
	if v.m.attached {
		return sendAttached(ctx, v, m, text)
	}
	to := listener(v)
	var sent wire.Sent
	err := v.tree.held(ctx, func() (err error) {
		sent, err = v.trees.api.Send(ctx, to, m)
		return err
	})
	if err != nil {
		return err
	}
	if to != v.tree.root {
		v.beside.view.Mine(sent.Mail)
		if len(v.m.asks) == 0 { // else the machine says so, with what is asked
			v.say("Sent to " + v.m.to + ".")
		}
		return nil
	}
	v.view.Mine(sent.Mail)
	if v.m.beside && len(v.m.asks) == 0 {
		v.say("Sent to the main agent; a command takes no words.")
	}
	if v.m.working && sent.Effect == "steers" {
		v.board.work.Queued(sent.Mail, text)
		v.flow("")
	}
	v.m.working = v.m.working || sent.Effect != "waits"
	return nil
}

// listener is the agent that words go to: the one that is shown.
func listener(v *conversation) troupe.SessionID {
	if v.beside != nil && v.beside.out == nil {
		return v.beside.id
	}
	return v.tree.subject()
}

// atWork counts what quitting would leave behind.
func (v *conversation) atWork(ctx context.Context) (agents, commands int, err error) {
	report, err := v.trees.api.Report(ctx, v.tree.root)
	if err != nil {
		return 0, 0, err
	}
	for _, a := range report.Agents {
		if a.Status.Live() {
			agents++
		}
	}
	tasks, err := v.trees.api.Tasks(ctx, v.tree.root)
	if err != nil {
		return 0, 0, err
	}
	for _, t := range tasks {
		if !t.Kind.OfSession() && t.Status == troupe.TaskRunning {
			commands++
		}
	}
	return agents, commands, nil
}

// background has an agent go on in the background, or all that the main agent waits for.
func background(ctx context.Context, v *conversation, word string) error {
	if word != "" {
		id, err := v.find(word)
		if err != nil {
			return err
		}
		return v.trees.api.Background(ctx, id)
	}
	if !v.board.work.Waited() {
		return &troupe.UserError{Problem: "the main agent waits for no agent and no command",
			Hint: "/tasks lists what is at work."}
	}
	return v.trees.api.Background(ctx, v.tree.root)
}

func (v *conversation) stop(ctx context.Context, id troupe.SessionID, s wire.Stop) error {
	return v.tree.held(ctx, func() error { return v.trees.api.Stop(ctx, id, s) })
}

// stopAgent ends the main agent's run, or an agent with all that works for it.
func stopAgent(ctx context.Context, v *conversation, word string) error {
	if word == "" {
		if v.m.attached {
			return stopAttached(ctx, v)
		}
		if !v.m.working {
			v.say("The main agent is not at work. /stop NAME stops another one; /tasks lists what is.")
			return nil
		}
		return v.stop(ctx, v.tree.root, wire.Stop{Now: true})
	}
	switch t, err := v.command(ctx, word); {
	case err != nil:
		return err
	case t != nil:
		return v.stopCommand(ctx, t)
	}
	id, err := v.find(word)
	if err != nil {
		return err
	}
	report, err := v.trees.api.Report(ctx, v.tree.root)
	if err != nil {
		return err
	}
	tasks, err := v.trees.api.Tasks(ctx, v.tree.root)
	if err != nil {
		return err
	}
	path, state := "", ""
	busy := slices.ContainsFunc(tasks, func(t wire.Task) bool { return t.Status == troupe.TaskRunning })
	for _, a := range report.Agents {
		if a.ID == id {
			path, state = a.Path, console.EndWord(string(a.Status))
		}
		busy = busy || a.Status.Live()
	}
	if path != "" && !busy {
		v.say(fmt.Sprintf("%s is not at work (%s).", console.Middle(console.Line(path, 0), 60), state))
		return nil
	}
	return v.stop(ctx, id, wire.Stop{Now: true, Tree: true})
}

// find looks an agent up that somebody named.
func (v *conversation) find(word string) (troupe.SessionID, error) {
	if word == "" {
		return "", &troupe.UserError{Problem: "which agent? Say its number or its name; /agents lists them"}
	}
	id, ok := v.view.Cast.Find(word)
	if !ok {
		return "", &troupe.UserError{Problem: fmt.Sprintf("%q is no agent here, or more than one", word),
			Hint: "/agents lists them with their numbers, /tasks the commands in the background."}
	}
	return id, nil
}

// showBoard is /board: all of the list of which the foot of the conversation shows a part, as `troupe board` shows it.
func showBoard(ctx context.Context, v *conversation, _ string) error {
	var board live.Board
	if err := board.Read(ctx, v.trees.api, v.tree.root); err != nil {
		return err
	}
	if len(board.Items()) == 0 {
		v.say("There is no list: the main agent makes one for work of several steps.")
		return nil
	}
	return printed(v, func(c *console.Console) error { return board.Write(c.Out) })
}

// showTeam is /team.
func showTeam(ctx context.Context, v *conversation, _ string) error {
	team, err := v.trees.api.Team(ctx, v.tree.root)
	if err != nil {
		return err
	}
	text, err := prints(v, func(c *console.Console) error { return c.Team(team) })
	if err == nil {
		v.flow(v.wrap(text)) // in the colors of its agents
	}
	return err
}

// fixed is a blank at which no row ends.
const fixed = "\u00a0"

// listAgents is /agents: before the first prompt the types that there are, for none of them is at work.
func listAgents(ctx context.Context, v *conversation, _ string) error {
	if v.tree == nil {
		list, err := v.trees.api.Machine().Agents(ctx, wire.AgentQuery{Place: placeOf(v)})
		if err != nil {
			return err
		}
		v.say("No agent is at work yet. These types can be started here:")
		return printed(v, func(c *console.Console) error { return c.AgentTypes(list) })
	}
	report, err := v.trees.api.Report(ctx, v.tree.root)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, a := range report.Agents {
		num := "  "
		if n := v.view.Cast.Number(a.ID); n > 0 {
			num = fmt.Sprintf("#%d", n)
		}
		state := console.EndWord(string(a.Status))
		if a.Waiting != "" {
			state = "waits: " + string(a.Waiting)
		}
		took := console.Duration(a.ActiveMS)
		if a.Run > 1 {
			took += " in " + console.Count(a.Run, "run")
		}
		facts := []string{state, console.Count(a.Turns, "turn"), console.Count(a.ToolUses, "tool"),
			troupe.FormatTokens(a.Usage.Total()) + " tokens", troupe.Dollars(a.CostUSD).String(), took}
		kind := ""
		if a.Type != a.Path { // else it would say main twice
			kind = " (" + console.Line(a.Type, 20) + ")"
		}
		fmt.Fprintf(&b, "%s %s%s\n   %s\n", num, console.Middle(console.Line(a.Path, 0), 40), kind,
			strings.ReplaceAll(strings.ReplaceAll(strings.Join(facts, "\n"), " ", fixed),
				"\n",
				fixed+"· "))
	}
	v.say(strings.ReplaceAll(v.wrap(b.String()), fixed, " "))
	return nil
}

// tasks says what is at work, the main agent included, and how what was in the background ended.
func listTasks(ctx context.Context, v *conversation, _ string) error {
	tasks, err := v.trees.api.Tasks(ctx, v.tree.subject())
	if err != nil {
		return err
	}
	rows := v.board.work.Rows(v.board.now(), true)
	if len(rows) == 0 {
		rows = []string{"Nothing is at work."}
	}
	v.flow(strings.Join(rows, "\n") + "\n")
	var b strings.Builder
	for _, t := range tasks {
		if t.Status == troupe.TaskRunning || !t.Background {
			continue
		}
		id := string(t.ID)
		if n := v.view.Cast.Number(troupe.SessionID(t.ID)); n > 0 {
			id = fmt.Sprintf("#%d", n)
		}
		fmt.Fprintf(&b, "  %s %s: %s in the background after %s\n", id, console.Line(t.Name, 40),
			console.EndWord(string(t.Status)),
			console.Duration(t.DurationMS))
	}
	if b.Len() > 0 {
		v.say("Ended:\n" + b.String())
	}
	return nil
}

// showWhole shows all of a result.
func showWhole(ctx context.Context, v *conversation, word string) error {
	if t, err := v.command(ctx, word); t != nil || err != nil {
		return orCommand(v, t, err)
	}
	n, err := strconv.Atoi(cmp.Or(strings.TrimPrefix(word, "#"), "0"))
	text, ok := v.view.Whole(n)
	if err != nil || !ok {
		return &troupe.UserError{Problem: "there is no result " + cmp.Or(word, "that was shown in part"),
			Hint: "/show N shows all of one: N stands behind the lines that were shown of it."}
	}
	v.flow(text + "\n")
	return nil
}

func showCost(ctx context.Context, v *conversation, _ string) error {
	c, err := v.trees.api.Cost(ctx, v.tree.root)
	if err != nil {
		return err
	}
	var b strings.Builder
	u := c.Usage
	fmt.Fprintf(&b, "%s · %s tokens: %s in, %s out, %s read from the cache, %s written to it\n",
		troupe.Dollars(c.CostUSD), troupe.FormatTokens(u.Total()),
		troupe.FormatTokens(u.Input), troupe.FormatTokens(u.Output), troupe.FormatTokens(u.CacheRead),
		troupe.FormatTokens(u.CacheWrite))
	for _, l := range c.Limits {
		if name, used, share := console.Limit(l); share != "" {
			fmt.Fprintf(&b, "  limit of %s: %s used (%s)\n", name, used, share)
		}
	}
	if s := c.Shared; s != nil && s.SavedUSD > 0 {
		fmt.Fprintf(&b, "  saved by agents that begin alike: %s\n", troupe.Dollars(s.SavedUSD))
	}
	for _, a := range c.Agents {
		fmt.Fprintf(&b, "  %s %s tokens %s\n", troupe.Dollars(a.CostUSD), troupe.FormatTokens(a.Usage.Total()),
			console.Middle(console.Line(a.Path, 0), 40))
	}
	if len(c.Unpriced) > 0 {
		fmt.Fprintln(&b, console.Unpriced(c.Unpriced))
	}
	if cut := console.Cut(c.Sessions()); cut != "" {
		fmt.Fprintln(&b, cut)
	}
	v.say(b.String())
	return nil
}

// setMode changes what is allowed without a question, or lists the modes.
func setMode(ctx context.Context, v *conversation, name string) error {
	mode, err := troupe.ParseMode(name)
	switch {
	case name == "":
		now, err := currentMode(ctx, v)
		v.say(modeText(now))
		return err
	case err != nil:
		return err
	case v.tree == nil:
		v.mode = mode
		v.say("The conversation will begin with: " + name)
		return nil
	}
	err = v.tree.held(ctx, func() error { return v.trees.api.SetMode(ctx, v.tree.root, mode) })
	if err != nil {
		return err
	}
	_, v.modeBefore, _ = v.standing()
	v.mode = mode // of the conversation after this one as well
	said := "From the next call on: " + name
	if path := v.m.closes("was allowed by the mode "+name, mode); path != "" {
		said = fmt.Sprintf("From now on: %s. It allows what %s asks for as well, which goes on.", name,
			console.Middle(console.Line(path, 0), 60))
	}
	v.say(said)
	return nil
}

func setModel(ctx context.Context, v *conversation, name string) error {
	switch {
	case v.tree == nil:
		return firstModel(ctx, v, name)
	case name != "":
		return v.tree.held(ctx, func() error {
			full, err := v.trees.api.SetModel(ctx, v.tree.root, name)
			if err == nil {
				v.model = full
				v.say("From the next reply on: " + console.Model(full))
			}
			return err
		})
	}
	report, err := v.trees.api.Report(ctx, v.tree.root)
	if err != nil {
		return err
	}
	for _, a := range report.Agents {
		if a.ID == v.tree.root {
			v.say(console.Model(a.Model) + ". /model NAME goes on with another one.")
		}
	}
	return nil
}

// firstModel chooses the model of a conversation that has not begun.
func firstModel(ctx context.Context, v *conversation, name string) error {
	full, err := v.trees.api.Machine().Model(ctx, cmp.Or(name, v.model, v.trees.next.Model), v.trees.next.Cwd)
	switch {
	case err != nil:
		return err
	case name == "":
		v.say(console.Model(full) + ". /model NAME begins with another one.")
	default:
		v.model = name
		v.say("The conversation will begin with: " + console.Model(full))
	}
	return nil
}

// listed is how many earlier conversations /resume shows.
const listed = 10

func resume(ctx context.Context, v *conversation, which string) error {
	if which == "" {
		sessions, err := v.trees.api.List(ctx, wire.Listing{Cwd: v.trees.next.Cwd, Limit: listed + 1})
		if err != nil {
			return err
		}
		more := len(sessions) > listed
		var b strings.Builder
		for _, s := range sessions[:min(len(sessions), listed)] {
			fmt.Fprintf(&b, "%s  %s  %s, %s\n", s.ID, s.CreatedAt.In(v.o.Local).Format("02 Jan 15:04"),
				console.Line(s.Title, 50), console.EndWord(string(s.Status)))
		}
		if len(sessions) == 0 {
			b.WriteString("There is no conversation in this folder yet.")
		} else {
			b.WriteString("/resume ID goes on with one.")
		}
		if more {
			b.WriteString(" These are the newest; `troupe sessions` in a terminal lists all.")
		}
		v.say(b.String())
		return nil
	}
	if v.tree != nil {
		if err := v.idle(ctx); err != nil {
			return err
		}
	}
	b := resumable(v.trees.next)
	b.Resume = which
	t, err := v.trees.begin(ctx, b, true)
	if err != nil {
		return err
	}
	v.letGo()
	return v.take(ctx, t, false)
}

// forkAgent has a fork of the agent that words go to do something.
func forkAgent(ctx context.Context, v *conversation, words string) error {
	switch {
	case words == "":
		return &troupe.UserError{Problem: "/fork takes what the fork is to do", Hint: "As: /fork write tests for this"}
	case v.tree == nil:
		return &troupe.UserError{Problem: "there is nothing to fork yet", Hint: "Say something first."}
	}
	m, notes := attach(v.trees.next.Cwd, v.home, words)
	for _, n := range notes {
		v.say("  " + console.Clean(n))
	}
	m.Fork = true
	return v.tree.held(ctx, func() error {
		_, err := v.trees.api.Send(ctx, listener(v), m)
		return err
	})
}
