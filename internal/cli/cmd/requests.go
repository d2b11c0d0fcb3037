package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newRequests makes the command.
func newRequests(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "requests", Short: "List open requests", Args: console.NoArgs,
		Long: `List the open requests of all sessions: which agent asks, why, and the exact
action. Invisible characters are shown as escapes. A request stays open when its process ends.`,
		Example: "troupe requests\ntroupe answer 9m20 allow",
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) error {
			return listRequests(ctx, c, a, asJSON)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func listRequests(ctx context.Context, c *console.Console, a api.API, asJSON bool) error {
	list, err := a.Requests(ctx, "")
	if err != nil {
		return err
	}
	if asJSON {
		return jsonList(c, list)
	}
	if len(list) == 0 {
		return c.Say("No requests are open.")
	}
	for i, r := range list {
		if i > 0 {
			fmt.Fprintln(c.Out)
		}
		writeRequest(c, r, c.Now())
	}
	return nil
}

// field begins a line of a request, and further is what the rows of a line begin with that a terminal breaks.
const field, further = "  %-8s ", "           "

// part shows one thing about a request. At a terminal it breaks between words.
func part(c *console.Console, label, text string) {
	rows := []string{text}
	if c.OutTTY && c.Width > 2*len(further) {
		rows = console.Wrap(text, c.Width-len(further))
	}
	for i, row := range rows {
		if i > 0 {
			label = ""
		}
		_ = c.Printf(field+"%s\n", label, row)
	}
}

// quote shows what an agent or a command wrote. Every row of it is marked, so that none can pass for words of ours.
func quote(c *console.Console, label string, lines []string) {
	for _, line := range lines {
		rows := []string{line}
		if c.OutTTY && c.Width > 2*len(further) {
			rows = console.Wrap(line, c.Width-len(further)-len("│   "))
		}
		for i, row := range rows {
			mark := "│ "
			if i > 0 {
				mark = "│   " // the line goes on
			}
			_ = c.Printf(field+"%s\n", label, strings.TrimRight(mark+row, " "))
			label = ""
		}
	}
}

// writeRequest shows one request whole.
func writeRequest(c *console.Console, r wire.Request, now time.Time) {
	_ = c.Say(console.Sprintf("%s  %s asks %s", r.ID, console.VisibleLine(r.Path), askedFor(r)))
	part(c, "why", console.VisibleLine(r.Why))
	var wants []string
	for _, want := range r.Listed() {
		wants = append(wants, console.VisibleLine(want))
	}
	quote(c, "wants", wants)
	if r.Rule != "" {
		part(c, "rule", console.VisibleLine(r.Rule))
	}
	if r.WorktreeName != "" {
		part(c, "works in", fmt.Sprintf("worktree %s: %s", console.Line(r.WorktreeName, 64),
			console.Line(r.Worktree, 0)))
	}
	quote(c, "action", strings.Split(console.Source(strings.TrimRight(r.Action, "\n")), "\n"))
	quote(c, "printed", printedLines(r.Output))
	if r.Calls > 1 {
		part(c, "calls", fmt.Sprintf("the answer is for %d calls", r.Calls))
	}
	part(c, "since", fmt.Sprintf("%s (%s)%s", r.Since.Local().Format("2006-01-02 15:04:05"),
		console.Duration(max(0, now.Sub(r.Since).Milliseconds())), untilText(r, now)))
	if !r.Running && r.Server != "" {
		part(c, "lost", fmt.Sprintf("the process that ran it has ended, and with it the call that asked, which is "+
			"interrupted when the session goes on: troupe -p --resume %s", r.Root))
		return
	}
	if !r.Running {
		part(c, "waits", fmt.Sprintf("no process is running it; resume it with: troupe -p --resume %s", r.Root))
	}
	if len(r.Questions) > 0 {
		part(c, "answer", howToChoose(r))
		return
	}
	if r.Kind == troupe.RequestTool {
		part(c, "answer", fmt.Sprintf("troupe answer %s --text RESULT, or deny --note WHY", r.ID))
		return
	}
	if r.Kind == troupe.RequestPlan {
		part(c, "answer", fmt.Sprintf("troupe answer %s allow [--accept-edits], or deny --note WHAT TO CHANGE", r.ID))
		return
	}
	always := ""
	if r.Grant != "" {
		flags := "--session, --always"
		if r.NoAlways {
			flags = "--session"
		}
		always = fmt.Sprintf("   (%s: %s from now on)", flags, console.VisibleLine(r.Grant))
	}
	part(c, "answer", fmt.Sprintf("troupe answer %s allow|deny%s", r.ID, always))
	if r.Wider != "" {
		part(c, "folder", fmt.Sprintf("troupe answer %s allow --folder   (%s from now on)", r.ID,
			console.VisibleLine(r.Wider)))
	}
}

// printedLines is what a command printed, confined, before somebody was asked about it.
func printedLines(output string) []string {
	if output = strings.TrimSpace(output); output == "" {
		return nil
	}
	return strings.Split(console.Visible(output), "\n")
}

func untilText(r wire.Request, now time.Time) string {
	switch left := r.Until.Sub(now); {
	case r.Until.IsZero():
		return ""
	case left <= 0:
		return ", its time is over"
	default:
		what := "denied"
		switch {
		case r.Server != "":
			what = "declined"
		case r.Kind == troupe.RequestQuestion:
			what = "the default holds"
		}
		switch r.Kind {
		case troupe.RequestPlan:
			what = "not approved"
		case troupe.RequestTool:
			what = "given up"
		default:
		}
		return fmt.Sprintf(", %s in %s unless answered", what, console.Duration(left.Milliseconds()))
	}
}

// askedFor completes the line that says who asks.
func askedFor(r wire.Request) string {
	switch n := len(r.Questions); {
	case n == 1:
		return "a question"
	case n > 1:
		return fmt.Sprintf("%d questions", n)
	}
	switch r.Kind {
	case troupe.RequestPlan:
		return "to carry out its plan"
	case troupe.RequestTool:
		return "a client to carry out " + console.VisibleLine(r.Tool)
	default:
	}
	return "for " + console.VisibleLine(r.Tool)
}

// howToChoose says how the questions of a request are answered.
func howToChoose(r wire.Request) string {
	if len(r.Questions) == 1 {
		return fmt.Sprintf("troupe answer %s --choice LABEL, or --text WORDS", r.ID)
	}
	text := "troupe answer " + r.ID
	for i := range r.Questions {
		text += fmt.Sprintf(" --choice %d=LABEL", i+1)
	}
	return text + "   (or --text 1=WORDS)"
}
