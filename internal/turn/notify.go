package turn

import (
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// RenderNotification is how the end of a task in the background appears to its owner. The
// form is the one that models know from elsewhere; what the task itself said is escaped, so
// that it cannot look like another notification.
func RenderNotification(o troupe.Outcome) string {
	switch {
	case o.Team != "":
		return renderIdle(o)
	case o.Vocabulary == troupe.VocabularySubagents:
		return renderSubagentEnd(o)
	}
	var b strings.Builder
	b.WriteString(warning(o))
	fmt.Fprintf(&b, "<task-notification>\n<task-id>%s</task-id>\n", o.TaskID())
	if o.Coord.Reply > 0 {
		fmt.Fprintf(&b, "<tool-use-id>%d.%d</tool-use-id>\n", o.Coord.Reply, o.Coord.Call)
	}
	if o.Output != "" {
		fmt.Fprintf(&b, "<output-file>%s</output-file>\n", value(o.Output, maxError))
	}
	fmt.Fprintf(&b, "<status>%s</status>\n<summary>%s</summary>\n", o.TaskStatus(), summary(o))
	text, cut := Cap(o.Result, MaxResult)
	if text != "" {
		fmt.Fprintf(&b, "<result%s>\n%s\n</result>\n", form(o), troupe.Escape(text))
	}
	b.WriteString(rest(o, text, cut))
	fmt.Fprintf(&b,
		"<usage><total_tokens>%d</total_tokens><tool_uses>%d</tool_uses><duration_ms>%d</duration_ms></usage>\n"+
			"</task-notification>",
		o.Tally.Usage.Total(), o.Tally.ToolUses, o.DurationMS)
	if !o.Kind.OfSession() {
		return b.String()
	}
	b.WriteByte('\n')
	renderVerified(&b, o.Verified)
	b.WriteString("<runtime-evidence>\n")
	renderEvidence(&b, o.Evidence)
	renderWorkspace(&b, o.Workspace)
	renderHanded(&b, o.Handed)
	b.WriteString("</runtime-evidence>")
	return b.String()
}

func summary(o troupe.Outcome) string {
	what := "Agent"
	switch o.Kind {
	case troupe.TaskShell:
		what = "Command"
	case troupe.TaskMonitor:
		what = "Monitor"
	case troupe.TaskWorkflow:
		what = "Workflow"
	case troupe.TaskAgent, troupe.TaskDream:
	}
	name, earlier := value(o.Name, maxValue), ""
	if o.Earlier {
		earlier = " (an earlier run; it has gone on since)"
	}
	switch o.TaskStatus() {
	case troupe.TaskCompleted:
		return fmt.Sprintf("%s \"%s\" completed", what, name) + earlier
	case troupe.TaskKilled:
		return fmt.Sprintf("%s \"%s\" was stopped: %s", what, name, value(o.Error, maxError)) + earlier
	case troupe.TaskFailed, troupe.TaskRunning:
	}
	return fmt.Sprintf("%s \"%s\" failed: %s", what, name, value(o.Error, maxError)) + earlier
}

// RenderTasks is the list of a session's tasks, for its model. Of agents that are among about it says more.
func RenderTasks(tasks []troupe.Task, about map[troupe.TaskID]troupe.Session) string {
	if len(tasks) == 0 {
		return "no tasks: nothing was started in the background, and no agent"
	}
	var b strings.Builder
	for _, t := range tasks {
		place := "foreground"
		if t.Background {
			place = "background"
		}
		fmt.Fprintf(&b, "%s %s (%s, %s): %s", t.ID, value(t.Name, maxValue), t.Kind, place, t.Status)
		if t.Title != "" && t.Title != t.Name {
			fmt.Fprintf(&b, " - %s", value(t.Title, maxValue))
		}
		if s, ok := about[t.ID]; ok {
			fmt.Fprintf(&b, "; %s, model %s, %s", value(s.Type, maxValue), value(s.Model, maxValue),
				turns(s.Tally.Turns))
		}
		if !t.StartedAt.IsZero() {
			fmt.Fprintf(&b, "; started %s", t.StartedAt.UTC().Format(time.RFC3339))
		}
		if t.Output != "" {
			fmt.Fprintf(&b, "; output: %s", value(t.Output, maxError))
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}

// turns is a number of turns in words.
func turns(n int) string {
	if n == 1 {
		return "1 turn"
	}
	return fmt.Sprintf("%d turns", n)
}

// RenderFiles is the list of files that a session has written, for its model: a line each, whatever
// their names hold.
func RenderFiles(files []troupe.FileTouch) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s (+%d -%d)\n", value(f.Path, maxError), f.Added, f.Removed)
	}
	return b.String()
}

func replies(n int) string {
	if n == 1 {
		return "1 model reply"
	}
	return fmt.Sprintf("%d model replies", n)
}

// Progress is how far a session has come.
func Progress(t troupe.Tally) string {
	uses := "tool uses"
	if t.ToolUses == 1 {
		uses = "tool use"
	}
	return fmt.Sprintf("%s, %d %s, %d tokens so far", replies(t.Turns), t.ToolUses, uses, t.Usage.Total())
}
