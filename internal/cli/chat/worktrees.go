package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/pflag"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// works is the folder of its own that the main agent works in; the zero value: it has none.
func works(v *conversation) troupe.Workspace {
	if v.tree == nil || !v.tree.work.Kind.Made() {
		return troupe.Workspace{}
	}
	return v.tree.work
}

// follows notes where the main agent works, and says it when it comes to a folder of its own, or back.
func follows(v *conversation, e troupe.Event) {
	if e.Session != v.tree.root {
		return
	}
	switch b := e.Body.(type) {
	case troupe.Created:
		v.tree.work = b.Workspace
		saysWhere(v)
	case troupe.WorkspaceChanged:
		if v.tree.work = b.Workspace; !b.Workspace.Kind.Made() {
			v.say("Works in " + v.folder() + " again.")
		}
		saysWhere(v)
	default:
	}
}

func saysWhere(v *conversation) {
	if w := works(v); w.Kind.Made() {
		then := "your files stay as they are until you merge"
		if w.Remote != "" {
			then = "/push pushes the work to " + console.Line(w.Remote, 0) + " as a branch"
		}
		v.say("Works in " + worktreeText(v, w) + "; " + then + ".")
	}
}

// worktreeText names a folder of the main agent's own, and where its work is.
func worktreeText(v *conversation, w troupe.Workspace) string {
	text := "worktree " + console.Line(w.Name, 64)
	if w.Branch != "" {
		text += " (branch " + console.Line(w.Branch, 0) + ")"
	}
	return text + ", " + strings.TrimSuffix(short(console.Line(w.Folder, 0)+"/", "", v.home), "/")
}

// wantsPlace is where the next conversation will work, for the line that greets; "" if in the folder.
func wantsPlace(b wire.Begin) string {
	switch {
	case b.Resume != "" || b.Continue || b.Worktree == nil && b.Workspace == "":
		return ""
	case b.Worktree == nil:
		return "filesystem " + console.Line(string(b.Workspace), 0)
	case *b.Worktree == "":
		return "in a worktree of its own"
	}
	return "worktree " + console.Line(*b.Worktree, 64)
}

// leavesWork says at the end of a conversation in a folder of its own what is in that, and how to have it.
func leavesWork(ctx context.Context, v *conversation) {
	own := works(v)
	if !own.Kind.Made() {
		return
	}
	name := console.Line(own.Name, 64)
	have := "Have it in your folder: troupe merge " + name
	if own.Remote != "" {
		have = "Have it as a branch: troupe push " + name
	}
	list, err := v.trees.api.Setup().Workspaces().Worktrees(ctx, wire.WorktreeQuery{Cwd: v.trees.next.Cwd,
		Name: own.Name})
	if err != nil || len(list) != 1 {
		v.say(fmt.Sprintf("The work is in %s. Look at it: troupe diff %s. %s.", worktreeText(v, own), name, have))
		return
	}
	w := list[0]
	text := fmt.Sprintf("Worktree %s: %s", name, console.WorktreeHolds(w))
	if w.State == wire.WorktreeUnmerged || w.State == wire.WorktreeWorking || w.State == wire.WorktreeUnknown {
		if w.Branch != "" {
			text += ". Branch " + console.Line(w.Branch, 0)
		}
		text += fmt.Sprintf(". Look at it: troupe diff %s. %s", name, have)
	}
	v.say(text + ".")
}

// listWorktrees is /worktrees: all of them, or one.
func listWorktrees(ctx context.Context, v *conversation, name string) error {
	q, err := wire.WorktreeQuery{Cwd: v.trees.next.Cwd}, error(nil)
	switch name {
	case "":
	case "--all":
		q.All = true
	default:
		q, err = ownWorktree(v, "worktrees", name)
	}
	if err != nil {
		return err
	}
	list, err := v.trees.api.Setup().Workspaces().Worktrees(ctx, q)
	if err != nil {
		return err
	}
	return printed(v, func(c *console.Console) error { return c.WorktreeList(list, q.All) })
}

// ownWorktree is the worktree that a command is about: the one that is named, or the main agent's own.
func ownWorktree(v *conversation, command, name string) (wire.WorktreeQuery, error) {
	q := wire.WorktreeQuery{Cwd: v.trees.next.Cwd, Name: name}
	if q.Name == "" {
		q.Name = works(v).Name
	}
	switch {
	case q.Name == "":
		return q, &troupe.UserError{Problem: "which worktree? The main agent has none of its own",
			Hint: "As: /" + command + " NAME; /worktrees lists those there are."}
	case strings.HasPrefix(q.Name, "#") && v.tree != nil: // one of this conversation's, whoever else has that number
		id, err := v.find(q.Name)
		if err != nil {
			return q, err
		}
		q.Name = string(id)
	}
	return q, nil
}

// diffLines is how much of a difference is shown.
const diffLines = 400

// showDiff is /diff: what was changed in a worktree since it began.
func showDiff(ctx context.Context, v *conversation, words string) error {
	all := strings.Fields(words)
	stat := slices.Index(all, "--stat")
	if stat >= 0 {
		all = slices.Delete(all, stat, stat+1)
	}
	q, err := ownWorktree(v, "diff", strings.Join(all, " "))
	if err != nil {
		return err
	}
	d, err := v.trees.api.Setup().Workspaces().DiffWorktree(ctx, wire.WorktreeLook{WorktreeQuery: q, Stat: stat >= 0})
	if err != nil {
		return err
	}
	if d.Text == "" {
		v.say("Nothing was changed in " + console.Line(d.Worktree.Name, 64) + ".")
		return nil
	}
	lines := strings.SplitAfter(console.Source(strings.TrimRight(d.Text, "\n")), "\n")
	more := len(lines) - diffLines
	text := strings.Join(lines[:min(len(lines), diffLines)], "")
	v.flow(hung(console.PaintDiff(v.color, strings.TrimRight(text, "\n")), v.width()) + "\n")
	if more > 0 {
		count := console.Count(more, "more line")
		if d.Cut {
			count = "more than " + count
		}
		v.say(fmt.Sprintf("… %s; in a terminal `troupe diff %s` shows all.", count, console.Line(d.Worktree.Name, 64)))
	}
	return nil
}

// hung wraps lines of files: what goes on in another row stands further in, and passes for no line of its own.
func hung(text string, width int) string {
	const in = "    "
	if width < 2*len(in) {
		return text
	}
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if ansi.StringWidth(line) > width {
			line = strings.Join(console.Wrap(line, width-len(in)), "\n"+in)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// mergeUse is what /merge takes.
const mergeUse = "/merge [NAME] [--dry-run | --take mine | --take theirs | --into BRANCH | --hand-back]"

// mergeOrder reads what stands behind /merge: what `troupe merge` takes.
func mergeOrder(words string) (m wire.WorktreeMerge, err error) {
	fs := pflag.NewFlagSet("/merge", pflag.ContinueOnError)
	fs.Usage = func() {}
	console.MergeFlags(fs, &m)
	if err = fs.Parse(strings.Fields(words)); err == nil {
		err = console.CheckMerge(fs, m)
	}
	if err == nil && fs.NArg() > 1 {
		err = fmt.Errorf("it is one worktree that is merged, and not also %q", fs.Arg(1))
	}
	if err != nil {
		return m, &troupe.UserError{Problem: "/merge: " + problemOf(err), Hint: "It takes: " + mergeUse}
	}
	m.Name = fs.Arg(0)
	return m, nil
}

// problemOf is what went wrong, without what a command would do about it.
func problemOf(err error) string {
	if said, ok := errors.AsType[*troupe.UserError](err); ok {
		return said.Problem
	}
	return err.Error()
}

// pushTree is /push.
func pushTree(ctx context.Context, v *conversation, name string) error {
	q, err := ownWorktree(v, "push", name)
	if err != nil {
		return err
	}
	out, err := v.trees.api.Setup().Workspaces().PushWorktree(ctx, wire.WorktreePush{WorktreeQuery: q})
	if err != nil {
		return err
	}
	return printed(v, func(c *console.Console) error { return console.PushedTo(c, out) })
}

// mergeTree is /merge: it brings the work in a worktree to the folder, as `troupe merge` does.
func mergeTree(ctx context.Context, v *conversation, words string) error {
	m, err := mergeOrder(words)
	if err != nil {
		return err
	}
	if m.WorktreeQuery, err = ownWorktree(v, "merge", m.Name); err != nil {
		return err
	}
	out, err := v.trees.api.Setup().Workspaces().MergeWorktree(ctx, m)
	if err != nil {
		return err
	}
	if !m.HandBack {
		if v.tree != nil { // what is merged of this conversation's is taken back in it
			out.Undo = strings.Replace(out.Undo, fmt.Sprintf("troupe undo %s --merge", v.tree.root), "/undo merge", 1)
		}
		return printed(v, func(c *console.Console) error { return c.Merged(out) })
	}
	var said string
	tell := func() (err error) {
		said, err = console.TellHandedBack(ctx, v.trees.api, out)
		return err
	}
	if v.tree != nil && v.view.Cast.Knows(out.Worktree.Session) {
		err = v.tree.held(ctx, tell)
	} else { // of another conversation
		err = tell()
	}
	if err != nil {
		return err
	}
	return printed(v, func(c *console.Console) error { return c.HandedBack(out, said) })
}
