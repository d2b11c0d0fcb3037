package cmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestNarrow: lists at a terminal of 60 and of 100 columns have no line that it would break within a word, tell their
// rows apart, and say nothing twice.
func TestNarrow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 21, 0, 0, 0, time.UTC)
	tasks := []wire.Task{
		{Path: "background-runner", ID: "ahmm54p13sz3", Kind: troupe.TaskAgent, Name: "auth-explorer", Number: 1,
			Title: "Explore the authentication code of the server", Status: troupe.TaskRunning, Background: true,
			DurationMS: 232_000, Doing: "running"},
		{Path: "background-runner", ID: "b1.1", Kind: troupe.TaskShell, Name: "Run the whole test suite",
			Status: troupe.TaskRunning, Background: true, DurationMS: 232_000},
		{Path: "asking", ID: "rf3mn0bttms1", Kind: troupe.TaskAgent, Name: "asking", Title: "ask me",
			Status: troupe.TaskRunning, DurationMS: 232_000, Doing: "waiting for approval until 21:14:09"},
	}
	request := wire.Request{ID: "rf3mn0bttms1.1.0", Path: "asking", Tool: "Bash", Running: true, Since: now,
		Until: now.Add(10 * time.Minute), Grant: "Bash(touch made-by-agent.txt && echo a rather long command that " +
			"goes on)",
		Why: "it ran read-only and wanted to create /home/me/project/made-by-agent.txt; yes runs it again with " +
			"exactly that", Action: "touch made-by-agent.txt && echo a rather long command that goes on",
		Output: "touch: cannot touch 'made-by-agent.txt': Permission denied\n(Exit code 1.)"}
	session := wire.Session{ID: "jwwkw24fmnp4", Name: "login-refactoring-of-the-server", Status: troupe.Completed,
		Tree:  &wire.Sums{},
		Title: "Fix the login of the server so that tokens are renewed"}
	plan := wire.Plan{Name: "fix-the-login", Changed: now, State: "approved", By: "you (terminal)",
		File: "/home/me/.local/share/troupe/plans/fix-the-login.md"}
	for _, width := range []int{60, 100} {
		show := func(fn func(c *console.Console) error) string {
			t.Helper()
			var out bytes.Buffer
			if err := fn(&console.Console{Out: &out, OutTTY: true, Width: width, Now: func() time.Time { return now },
				Lookup: func(string) (string, bool) { return "", false }}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("a line has %d columns of %d: %s", n, width, line)
				}
			}
			return out.String()
		}
		has := func(text string, wants ...string) {
			t.Helper()
			for _, want := range wants {
				if !strings.Contains(text, want) {
					t.Errorf("at %d there is no %q in\n%s", width, want, text)
				}
			}
		}
		text := show(func(c *console.Console) error { return writeTasks(c, tasks) })
		has(text, "#1 auth-expl", "Run the whole", "ask me", "waiting for")
		if strings.Count(text, "running") != 3 || strings.Count(text, "asking") != 1 {
			t.Errorf("at %d something is said twice:\n%s", width, text)
		}
		has(show(func(c *console.Console) error { return writeSessions(c, []wire.Session{session}) }), "login-ref",
			"Fix the log")
		text = show(func(c *console.Console) error { writeRequest(c, request, now); return nil })
		for _, word := range strings.Fields(request.Why + " " + request.Action + " " + request.Output + " " +
			request.Grant) {
			has(text, word)
		}
		has(show(func(c *console.Console) error { return c.Plans([]wire.Plan{plan}) }), "approved by you (terminal)")
		has(show(func(c *console.Console) error { return c.Plans(nil) }), "with one.")
		text = show(func(c *console.Console) error {
			return c.AgentTypes(wire.AgentList{Agents: []wire.AgentType{{Name: "security-reviewer-of-everything",
				Source: "/home/me/project/.claude/agents/security.md",
				Description: "Reviews every change for security " +
					"problems before it is merged"}}})
		})
		has(text, "before it is", "merged", "security-reviewer-of-everything")
	}
}
