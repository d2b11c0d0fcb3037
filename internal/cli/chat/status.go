package chat

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// greet says what the conversation will work with, and how to find out more.
// One that goes on has a model and a mode of its own.
func (v *conversation) greet(ctx context.Context, goesOn bool) {
	if !v.m.terminal {
		return
	}
	var missing error
	if !goesOn || v.trees.next.Model != "" {
		v.first.model, missing = v.trees.api.Machine().Model(ctx, v.trees.next.Model, v.trees.next.Cwd)
	}
	parts := []string{"troupe " + v.c.Version}
	if v.first.model != "" {
		parts = append(parts, console.Model(v.first.model))
	}
	if agent := v.role(); agent != "" {
		parts = append(parts, "agent "+agent)
	}
	if v.trees.next.Mode != "" {
		parts = append(parts, "mode "+string(v.trees.next.Mode))
	}
	parts = append(parts, v.folder())
	if v.o.Server != "" {
		parts = append(parts, "at "+v.o.Server)
	}
	if place := wantsPlace(v.trees.next); place != "" && !goesOn {
		parts = append(parts, place)
	}
	v.say(strings.Join(parts, " · "))
	v.say("/help lists the commands and keys; Ctrl-D ends.")
	if t := v.trees.next.Team; t != nil && !goesOn {
		v.say(beginsWith(*t))
	}
	if missing != nil {
		v.complain(missing)
	}
	if !goesOn && v.board.on {
		// Without an answer the first prompt says why.
		if list, err := v.trees.api.Machine().Rules(ctx, placeOf(v)); err == nil {
			v.first.mode = list.Mode
		}
	}
	v.warnMode(cmp.Or(v.trees.next.Mode, v.first.mode))
	stand(v)
}

// beginsWith says of a team, before there is one, who is in it.
func beginsWith(t wire.NewTeam) string {
	const lead = " You talk to its lead; /team lists its members then."
	if t.Name != "" {
		return "Your first words begin the team " + console.Line(t.Name, 64) + " of the settings." + lead
	}
	of := ""
	if t.Type != "" {
		of = " of type " + console.Line(t.Type, 64)
	}
	return fmt.Sprintf("Your first words begin a team: a lead and %s%s.%s", console.Count(t.Size-1, "member"), of, lead)
}

func (v *conversation) folder() string {
	if r := v.trees.next.Repo; r != "" {
		return console.Line(r, 0)
	}
	return console.Line(strings.TrimSuffix(short(cmp.Or(v.o.Folder, v.trees.next.Cwd)+"/", "", v.home), "/"), 0)
}

// warnMode says, once, that nothing is asked in a mode.
func (v *conversation) warnMode(mode troupe.Mode) {
	if mode == troupe.ModeBypass && !v.warned {
		v.flow(v.wrap("Warning: in the mode bypassPermissions every call runs without a question and without a "+
			"sandbox. /mode default asks again.") + "\n")
	}
	v.warned = mode == troupe.ModeBypass
}

// standing is what the conversation works with now, or would begin with.
func (v *conversation) standing() (model string, mode troupe.Mode, cost troupe.Money) {
	if v.board.work != nil {
		model, mode, cost = v.board.work.Standing()
	}
	return cmp.Or(model, v.model, v.first.model), cmp.Or(mode, v.mode, v.trees.next.Mode, v.first.mode), cost
}

// role is the type of agent that the main agent is, or would be; "" if that is main.
func (v *conversation) role() string {
	role := v.trees.next.Agent
	if v.view != nil {
		role = cmp.Or(v.view.Cast.Role(), role)
	}
	if strings.EqualFold(role, "main") {
		return ""
	}
	return console.Middle(console.Line(role, 0), 30)
}

// statusLine is the line above the prompt: model, mode, folder and cost.
func statusLine(v *conversation) string {
	if !v.o.Status || !v.board.on {
		return ""
	}
	if v.tree != nil && v.tree.attached != nil {
		return attachedLine(v)
	}
	model, mode, cost := v.standing()
	v.warnMode(mode)
	parts := []string{console.ShortModel(model), v.role(), string(mode),
		console.Line(filepath.Base(cmp.Or(v.trees.next.Repo, v.trees.next.Cwd)), 40)}
	if w := works(v); w.Kind.Made() {
		parts = append(parts, "worktree "+console.Middle(console.Line(w.Name, 0), 24))
	}
	if cost > 0 {
		parts = append(parts, cost.String())
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return v.dim(ansi.Truncate("· "+strings.Join(parts, " · "), max(v.width()-1, 20), "…"))
}

// showStatus is /status.
func showStatus(ctx context.Context, v *conversation, _ string) error {
	model, mode, cost := v.standing()
	var b strings.Builder
	if model != "" {
		model = console.Model(model)
	}
	fmt.Fprintf(&b, "model    %s\n", cmp.Or(model, "none is configured"))
	if agent := v.role(); agent != "" {
		fmt.Fprintf(&b, "agent    %s\n", agent)
	}
	fmt.Fprintf(&b, "mode     %s\n", cmp.Or(string(mode), "that of the settings"))
	fmt.Fprintf(&b, "folder   %s\n", v.folder())
	if w := works(v); w.Kind.Made() {
		fmt.Fprintf(&b, "works in %s; /diff shows its work, /merge brings it to the folder\n",
			worktreeText(v, w))
	}
	if place := wantsPlace(v.trees.next); place != "" && v.tree == nil {
		fmt.Fprintf(&b, "works in %s\n", strings.TrimPrefix(place, "in "))
	}
	if v.tree == nil {
		v.say(b.String() + "session  none yet; the first words begin one")
		return nil
	}
	agents, commands, err := v.atWork(ctx)
	if err != nil {
		return err
	}
	report, err := v.trees.api.Report(ctx, v.tree.root)
	if err != nil {
		return err
	}
	runs := 0
	for _, a := range report.Agents {
		if a.ID == v.tree.root {
			runs = a.Run
		}
	}
	fmt.Fprintf(&b, "session  %s\ncost     %s\ntime     %s\nat work  %s, %s", v.tree.root, cost.String(),
		console.Took(runs, report.DurationMS, report.ActiveMS), console.Count(agents, "agent"),
		console.Count(commands, "command"))
	for _, r := range v.board.work.Granted() {
		fmt.Fprintf(&b, "\nallowed  %s (%s)", console.Visible(console.Line(r.Text, 0)), console.Line(r.Source, 60))
	}
	v.say(b.String())
	return nil
}

// clearTree lets go of the conversation: what is said next begins another one.
func clearTree(ctx context.Context, v *conversation, _ string) error {
	if v.tree == nil {
		return nil
	}
	if err := v.idle(ctx); err != nil {
		return err
	}
	left := v.tree.root
	// The next one works with what this one worked with: above all it may do no more than this one.
	model, mode, _ := v.standing()
	if v.mode != "" && mode == v.modeBefore {
		mode = v.mode // it was asked for, and the session has not read it yet
	}
	model = cmp.Or(v.model, model)
	if v.view != nil && v.role() != "" {
		v.trees.next.Agent = v.view.Cast.Role()
	}
	v.letGo()
	v.model, v.mode = model, mode
	stand(v)
	v.say(fmt.Sprintf("What you say next begins a new conversation. /resume %s goes back to this one.", left))
	return nil
}

// idle is an error if something is at work in the conversation.
func (v *conversation) idle(ctx context.Context) error {
	agents, commands, err := v.atWork(ctx)
	if err == nil && agents+commands > 0 {
		err = &troupe.UserError{Problem: "agents or commands are at work in this conversation",
			Hint: "Wait for them, stop them with Esc or /stop, or /quit and leave them to be resumed."}
	}
	return err
}

// modeText lists the modes, with a mark before the one that holds.
func modeText(now troupe.Mode) string {
	var b strings.Builder
	for _, m := range troupe.Modes() {
		mark := "  "
		if m == now {
			mark = "* "
		}
		b.WriteString(mark + string(m) + "\n")
	}
	return b.String() + "/mode NAME changes it; `troupe docs permissions` says what each allows."
}

// currentMode is the mode that holds, or would if the conversation began now.
func currentMode(ctx context.Context, v *conversation) (troupe.Mode, error) {
	if _, mode, _ := v.standing(); mode != "" {
		return mode, nil
	}
	list, err := v.trees.api.Machine().Rules(ctx, wire.Place{Cwd: v.trees.next.Cwd})
	return list.Mode, err
}
