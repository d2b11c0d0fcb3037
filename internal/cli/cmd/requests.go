package cmd

import (
	"context"
	"fmt"
	"io"
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
		_, err := fmt.Fprintln(c.Out, "No requests are open.")
		return err
	}
	for i, r := range list {
		if i > 0 {
			fmt.Fprintln(c.Out)
		}
		writeRequest(c.Out, r, c.Now())
	}
	return nil
}

// writeRequest shows one request whole. Every line of what an agent wrote is marked, so that none
// of it can pass for words of ours.
func writeRequest(w io.Writer, r wire.Request, now time.Time) {
	fmt.Fprintf(w, "%s  %s asks %s\n", r.ID, console.VisibleLine(r.Path), askedFor(r))
	fmt.Fprintf(w, "  why      %s\n", console.VisibleLine(r.Why))
	for i, want := range r.Listed() {
		label := ""
		if i == 0 {
			label = "wants"
		}
		fmt.Fprintf(w, "  %-8s │ %s\n", label, console.VisibleLine(want))
	}
	if r.Rule != "" {
		fmt.Fprintf(w, "  rule     %s\n", console.VisibleLine(r.Rule))
	}
	for i, line := range strings.Split(console.Visible(strings.TrimRight(r.Action, "\n")), "\n") {
		label := ""
		if i == 0 {
			label = "action"
		}
		fmt.Fprintf(w, "  %-8s │ %s\n", label, line)
	}
	for i, line := range printedLines(r.Output) {
		label := ""
		if i == 0 {
			label = "printed"
		}
		fmt.Fprintf(w, "  %-8s │ %s\n", label, line)
	}
	if r.Calls > 1 {
		fmt.Fprintf(w, "  calls    the answer is for %d calls\n", r.Calls)
	}
	fmt.Fprintf(w, "  since    %s (%s)%s\n", r.Since.Local().Format("2006-01-02 15:04:05"),
		console.Duration(max(0, now.Sub(r.Since).Milliseconds())), untilText(r, now))
	if !r.Running && r.Server != "" {
		fmt.Fprintf(w, "  lost     the process that ran it has ended, and with it the call that asked, which is\n"+
			"           interrupted when the session goes on: troupe -p --resume %s\n", r.Root)
		return
	}
	if !r.Running {
		fmt.Fprintf(w, "  waits    no process is running it; resume it with: troupe -p --resume %s\n", r.Root)
	}
	if len(r.Questions) > 0 {
		fmt.Fprintf(w, "  answer   %s\n", howToChoose(r))
		return
	}
	if r.Kind == troupe.RequestPlan {
		fmt.Fprintf(w, "  answer   troupe answer %s allow [--accept-edits], or deny --note WHAT TO CHANGE\n", r.ID)
		return
	}
	always := ""
	if r.Grant != "" {
		always = fmt.Sprintf("   (--session, --always: %s from now on)", console.VisibleLine(r.Grant))
	}
	fmt.Fprintf(w, "  answer   troupe answer %s allow|deny%s\n", r.ID, always)
	if r.Wider != "" {
		fmt.Fprintf(w, "  folder   troupe answer %s allow --folder   (%s from now on)\n", r.ID,
			console.VisibleLine(r.Wider))
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
		if r.Kind == troupe.RequestPlan {
			what = "not approved"
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
	if r.Kind == troupe.RequestPlan {
		return "to carry out its plan"
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
