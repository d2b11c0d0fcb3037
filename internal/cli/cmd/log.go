package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/live"
	"github.com/troupe-dev/troupe/internal/wire"
)

type logFlags struct{ json, follow, tree bool }

// newLog makes the command.
func newLog(c *console.Console) *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use: "log ID|NAME", Short: "Print what a session said and did",
		Example:           "troupe log 7k3f\ntroupe log \"main/Auth Explorer\" --follow\ntroupe log 7k3f --tree --json",
		Args:              oneSession,
		ValidArgsFunction: c.Sessions,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			return showLog(ctx, c, a, args[0], f)
		}),
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "Print one event a line, as it stands in the log")
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "Go on printing until the session has ended")
	cmd.Flags().BoolVar(&f.tree, "tree", false, "Print its sub-agents' events too")
	return cmd
}

func showLog(ctx context.Context, c *console.Console, a api.API, ref string, f logFlags) error {
	s, err := a.Find(ctx, ref, c.Cwd)
	if err != nil {
		return err
	}
	only := s.ID
	if f.tree {
		only = ""
	}
	stream, err := a.Follow(ctx, wire.Follow{Root: s.Root, Only: only})
	if err != nil {
		return err
	}
	defer stream.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer c.Interrupts.Take(cancel)()
	last, end := console.Lingering(ctx)
	defer end()
	names := make(map[troupe.SessionID]string)
	before := false // it had ended when it was last asked
	for {
		// Whether it has ended is asked first: what was logged by then is read after.
		ended, left, wakes, err := isOver(last, a, s, f.tree, names)
		var events []troupe.Event
		if err == nil {
			events, err = stream.Rest(last)
		}
		if err != nil {
			if last.Err() != nil {
				return nil // it was interrupted, and the server does not answer
			}
			return err
		}
		if err := printEvents(c, events, names, s, f); err != nil {
			return err
		}
		if f.follow && left != "" {
			fmt.Fprintf(c.Err, "troupe: %s\n", leftText(s, left))
		}
		if !f.follow || ended && (before || !wakes) || left != "" || ctx.Err() != nil {
			return nil
		}
		before = ended
		// A process that dies writes nothing, so it is not waited for long.
		soon, enough := context.WithTimeout(ctx, time.Second)
		batch, err := stream.Next(soon)
		enough()
		if err != nil {
			return err
		}
		if err := printEvents(c, batch.Events, names, s, f); err != nil {
			return err
		}
	}
}

// isOver reports whether nothing more will come unless a person resumes the session: it has ended, or it was left
// behind by its process. A main agent has ended when all agents have: the end of one in the background wakes it, and
// that takes a moment (wakes). So has the whole tree. It notes the names and numbers of agents. left is why nothing
// goes on with it; "" where something does.
func isOver(ctx context.Context, a api.API, s wire.Session, tree bool, names map[troupe.SessionID]string) (ended bool,
	left string, wakes bool, err error) {
	t, err := a.Tree(ctx, s.Root)
	if err != nil {
		return false, "", false, err
	}
	for _, x := range t.Sessions {
		if x.Number > 0 {
			names[x.ID] = fmt.Sprintf("#%d %s", x.Number, x.Name)
		}
	}
	all := tree || s.Parent == ""
	ended = !slices.ContainsFunc(t.Sessions, func(x wire.Session) bool {
		return (all || x.ID == s.ID) && !x.Status.Ended()
	})
	if !ended && !t.Running && !t.Kept {
		left = cmp.Or(t.Sessions[0].Parked, noProcess)
	}
	return ended, left, all && (t.Running || t.Kept) && len(t.Sessions) > 1, nil
}

// leftText says why nothing goes on with a session, and what has it go on.
func leftText(s wire.Session, left string) string {
	if left == noProcess {
		return console.Sprintf("the process that ran session %s is gone, and the session has not ended; "+
			"`troupe -p --resume %s` goes on with it", s.ID, s.Root)
	}
	return console.Sprintf("session %s is parked: %s; `troupe send %s \"...\"` has it go on", s.ID, left, s.Root)
}

// noProcess is why nothing goes on with a session where no more is known.
const noProcess = "no process has it in hand"

func printEvents(c *console.Console, events []troupe.Event, names map[troupe.SessionID]string, s wire.Session,
	f logFlags) error {
	console.Arrange(events)
	for _, e := range events {
		if b, ok := e.Body.(troupe.Created); ok && names[e.Session] == "" {
			names[e.Session] = b.Name
			if b.Name == "" {
				names[e.Session] = "main"
			}
		}
		if f.json {
			if err := c.Events([]troupe.Event{e}); err != nil {
				return err
			}
			continue
		}
		who := ""
		if f.tree {
			who = console.Line(names[e.Session], 24) + " "
		}
		if _, err := fmt.Fprintf(c.Out, "%s %s%4d  %s\n", e.At.Local().Format("15:04:05.000"), who, e.Seq,
			describeEvent(e)); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// line is the beginning of what is said of an event: one line, whatever stands in it.
func line(format string, args ...any) string { return console.Line(fmt.Sprintf(format, args...), 0) }

// describeEvent is one event for people. Texts are shown whole, indented.
func describeEvent(e troupe.Event) string {
	switch b := e.Body.(type) {
	case troupe.Created:
		mode := ""
		if b.Authority.Mode != "" {
			mode = ", mode " + string(b.Authority.Mode)
		}
		text := line("born as %s on %s%s, tools %s", b.Profile.Kind(), b.Profile.Model, mode,
			strings.Join(b.Profile.Tools, " "))
		if b.Profile.Writes != nil {
			text += ", may change only " + console.Line(strings.Join(b.Profile.Writes, ", "), 0)
		}
		for _, note := range b.Profile.Notes {
			text += "; " + console.Line(note, 0)
		}
		return text
	case troupe.Started:
		return line("run %d begins", b.Run)
	case troupe.MailDelivered:
		var out []string
		for _, m := range b.Mail {
			out = append(out, describeMail(m))
		}
		return strings.Join(out, "\n      ")
	case troupe.CallSealed:
		text := line("asks %s for reply %d", b.Model, b.Reply)
		if b.Compact {
			text = line("asks %s for a summary", b.Model)
		}
		if b.Because != "" {
			text += " " + line("(generation %d: %s)", b.Generation, b.Because)
		}
		return text
	case troupe.Replied:
		return describeReply(b)
	case troupe.ModelFailed:
		text := line("model call failed (%s, attempt %d): %s", b.Fault, b.Attempt, console.Line(b.Message, 0))
		if !b.RetryAt.IsZero() {
			text += "; next attempt at " + console.Clock(b.RetryAt.Local(), e.At)
		}
		return text + indent(b.Partial)
	case troupe.ModelChanged:
		return line("goes on with %s: %s", b.Model, b.Why)
	case troupe.AuthorityChanged:
		text := line("authority is now %s with %d rules", console.Mode(b.Authority.Mode), len(b.Authority.Rules))
		if b.By != "" {
			text += "; " + console.Line(b.By, 0)
		}
		return text
	case troupe.Compacted:
		text := line("begins generation %d with a summary (%s) · %s tokens · %s · %d ms", b.Generation, b.Why,
			troupe.FormatTokens(b.Usage.Total()), b.Cost, b.DurationMS)
		if b.Brief != nil {
			text += indent(troupe.JoinText(b.Brief.Blocks()))
		}
		return text + indent(troupe.JoinText(b.Blocks))
	case troupe.BudgetWarned:
		return "is warned: " + console.Line(b.Text, 0)
	default:
		return describeCall(e)
	}
}

func describeMail(m troupe.Mail) string {
	from := ""
	switch {
	case m.From == m.To && m.Kind == troupe.MailNotice:
		from = "the runtime"
	case m.From != "":
		from = line("session %s", m.From)
	default:
		from = console.Person(m.Caller)
	}
	text := line("%s from %s", m.Kind, from)
	if m.Kind == troupe.MailNotice {
		text = "notice from " + from
	}
	if m.Message != nil {
		text = console.MessageFrom(*m.Message)
	}
	switch {
	case m.Forked != nil && m.Forked.Refused != "":
		text += ": no fork was started: " + console.Line(m.Forked.Refused, 0)
	case m.Heard != nil:
		text = line("monitor %s tells: %s", m.Heard.Task, console.Line(m.Heard.Name, 60))
		if m.Heard.Left > 0 {
			text += " " + line("(%d earlier lines are in %s)", m.Heard.Left, console.Line(m.Heard.Output, 0))
		}
		text += indent(strings.Join(m.Heard.Lines, "\n"))
	case m.Ended != nil:
		o := m.Ended
		text = line("task %s ended: %s %s", o.TaskID(), console.Line(o.Name, 60),
			console.EndWord(string(o.TaskStatus())))
		if o.Error != "" {
			text += ": " + console.Line(o.Error, 0)
		}
		text += indent(o.Result)
	case m.Stop != nil:
		text = "told to stop after this step"
		if m.Stop.Void {
			return "resumed before a stop had ended it"
		}
		if m.Stop.Now {
			text = "told to stop now"
		}
		text += " by " + console.Line(m.Stop.By, 60)
	}
	text += indent(troupe.JoinText(m.Blocks))
	if m.Brief != nil {
		text += indent(troupe.JoinText(m.Brief.Blocks()))
	}
	return text
}

func describeReply(b troupe.Replied) string {
	text := line("reply %d · %s tokens · %s · %d ms", b.Reply, troupe.FormatTokens(b.Usage.Total()), b.Cost,
		b.DurationMS)
	if b.Doubt != "" {
		text += "; " + console.Line(b.Doubt, 0)
	}
	for _, block := range b.Blocks {
		switch block.Type {
		case troupe.TextBlock:
			text += indent(block.Text)
		case troupe.ThinkingBlock:
			text += indent("(thinks) " + block.Text)
		case troupe.CallBlock:
			text += indent(line("call %d: %s", block.Call.Index, block.Call.Name) + " " + block.Call.Input)
		case troupe.ImageBlock, troupe.ResultBlock, troupe.OpaqueBlock:
		}
	}
	return text
}

// describeAuto is what the model of mode auto is asked, and says.
func describeAuto(e troupe.Event) string {
	switch b := e.Body.(type) {
	case troupe.AutoAsked:
		return line("call %d of reply %d: the model of mode auto is asked (%s)", b.Call, b.Reply,
			console.Model(b.Model))
	case troupe.AutoJudged:
		word := "does not allow it"
		switch {
		case b.Failed:
			word = "gives no verdict"
		case b.Effect == troupe.Allow:
			word = "allows it"
		}
		return line("call %d of reply %d: the model of mode auto %s: %s · %s tokens · %s", b.Call, b.Reply, word,
			console.Line(b.Why, 0), troupe.FormatTokens(b.Usage.Total()), b.Cost)
	}
	return ""
}

// describeHandoff is what the model and the agent that check a result are asked, and say.
func describeHandoff(e troupe.Event) string {
	switch b := e.Body.(type) {
	case troupe.HandoffAsked:
		return line("the model that checks results is asked about reply %d (%s)", b.Reply, console.Model(b.Model))
	case troupe.VerifyStarted:
		if b.Task == nil {
			return line("its work is not verified: %s", console.Line(b.Refused, 0))
		}
		return line("its work is verified by agent %s, child %s", b.Task.Name, b.Task.ID)
	case troupe.VerifyEnded:
		return line("agent %s has verified it: %s", b.Outcome.Name, cmp.Or(troupe.VerdictOf(b.Outcome.Result),
			"no verdict ("+console.EndWord(string(b.Outcome.Status))+")"))
	case troupe.HandoffJudged:
		word := "flags it"
		switch {
		case b.Failed:
			word = "gives no verdict"
		case b.Effect == troupe.Allow:
			word = "has nothing against it"
		}
		return line("the model that checks results %s: %s · %s tokens · %s", word, console.Line(b.Why, 0),
			troupe.FormatTokens(b.Usage.Total()), b.Cost)
	}
	return ""
}

// describePlace is what was done to the session's own folder.
func describePlace(e troupe.Event) string {
	switch b := e.Body.(type) {
	case troupe.WorkspaceReady:
		text := line("its folder is there, from commit %.12s", b.Base.Commit)
		if b.Base.Dirty > 0 {
			text += " (with " + console.Count(b.Base.Dirty, "changed file") + " of the caller)"
		}
		for _, l := range b.Base.Left {
			text += indent(line("not carried over: %s", console.Line(l, 0)))
		}
		return text
	case troupe.WorkspaceSaved:
		if b.Problem != "" {
			return line("its folder could not be saved: %s", console.Line(b.Problem, 0))
		}
		return line("its folder is saved as tree %.12s", b.Checkpoint.Tree)
	case troupe.WorkspaceChanged:
		if b.Workspace.Folder != "" {
			return line("goes on in %s", b.Workspace.Folder)
		}
		return "goes back to the folder it was begun in"
	case troupe.WorkspaceMerged:
		text := line("merges its work into %s: %s", console.Line(b.Into, 0), console.Count(len(b.Files), "file"))
		for _, f := range b.Files {
			text += indent(console.Line(strings.TrimPrefix(f.Path, b.Into+"/"), 0))
		}
		return text
	}
	return ""
}

func describeCall(e troupe.Event) string {
	switch b := e.Body.(type) {
	case troupe.HookRan:
		return describeHook(b)
	case troupe.ToolJudged:
		return line("call %d of reply %d is judged by %s: %s %s", b.Call, b.Reply, b.By,
			cmp.Or(string(b.Effect), "nothing to say"), console.Line(b.Why, 0))
	case troupe.AutoAsked, troupe.AutoJudged:
		return describeAuto(e)
	case troupe.WorkspaceReady, troupe.WorkspaceSaved, troupe.WorkspaceChanged, troupe.WorkspaceMerged:
		return describePlace(e)
	case troupe.ToolStarted:
		text := line("call %d of reply %d begins: %s (%s)", b.Call, b.Reply, b.Name, b.Decision.Step)
		if b.Child != "" {
			text += line(", child %s", b.Child)
		}
		if b.Wait != nil {
			text += line(", waits for task %s until %s", b.Wait.Task, console.Clock(b.Wait.Until.Local(), e.At))
		}
		return text
	case troupe.ToolFinished:
		word := "result"
		switch {
		case b.Denied != nil:
			word = "denied"
		case b.Result.IsError:
			word = "error"
		}
		return line("call %d of reply %d: %s %s · %d ms", b.Result.Call, b.Result.Reply, b.Name, word,
			b.DurationMS) + indent(troupe.JoinText(b.Result.Blocks))
	case troupe.RequestOpened:
		return line("asks for %s of call %d of reply %d: %s", b.Reason, b.Call, b.Reply,
			b.Decision.Why) + indent(b.Action)
	case troupe.RequestAnswered:
		text := line("call %d of reply %d: %s by %s", b.Call, b.Reply, b.Effect, console.Line(b.By, 60))
		if b.Rule != "" {
			text += ", and from now on " + console.Line(b.Rule, 0)
		}
		if b.Input != "" {
			text += ", with another input: " + console.Line(b.Input, 0)
		}
		return text + indent(b.Note)
	case troupe.Ended:
		text := line("run %d ends: %s", b.Outcome.Run, console.EndWord(string(b.Outcome.Status)))
		if b.Outcome.Error != "" {
			text += ": " + console.Line(b.Outcome.Error, 0)
		}
		text += indent(console.Verified(b.Outcome.Verified))
		if b.Outcome.Unchecked != "" {
			text += indent(console.Line(b.Outcome.Unchecked, 0))
		}
		return text + indent(console.Flags(b.Outcome.Flags)) + indent(console.Workspace(b.Outcome.Workspace))
	}
	if text := describeHandoff(e); text != "" {
		return text
	}
	if b, ok := e.Body.(troupe.Queued); ok {
		return line("%s", cmp.Or(b.Why, "waits for an active slot"))
	}
	if b, ok := e.Body.(troupe.TeamChanged); ok {
		return console.Line(live.Team(b), 0)
	}
	switch b := e.Body.(type) {
	case troupe.Slept:
		return "is put away, and sleeps"
	case troupe.Woke:
		return "is woken"
	case troupe.SessionChanged:
		return changedText(b)
	case troupe.Imported:
		return line("comes from another home, where it worked in %s; nothing that was allowed there holds",
			console.Line(b.Folder, 0))
	}
	return string(e.Body.Kind())
}

// changedText says what a person has changed about a session.
func changedText(b troupe.SessionChanged) string {
	var out []string
	if b.Name != "" {
		out = append(out, "is named "+console.Line(b.Name, 0))
	}
	if b.Title != "" {
		out = append(out, fmt.Sprintf("has the title %q", console.Line(b.Title, 0)))
	}
	if b.Archived {
		out = append(out, "is archived")
	}
	if b.Unarchived {
		out = append(out, "is out of the archive")
	}
	return strings.Join(out, ", ")
}

func indent(s string) string {
	s = strings.TrimRight(console.Clean(s), "\n")
	if s == "" {
		return ""
	}
	return "\n      " + strings.ReplaceAll(s, "\n", "\n      ")
}
