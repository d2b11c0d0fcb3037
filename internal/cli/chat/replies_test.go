//go:build unix

package chat

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// markdown is a reply with the forms that models write.
const markdown = "## What I did\n\nThe login **works** now; see `auth.go` and [the notes](docs/notes.md).\n\n" +
	"1. The first step is long enough that it is wrapped on a narrow terminal, under its own words.\n" +
	"2. The second.\n   - with a part\n\n```go\nfunc main() {\n\tfmt.Println(1)\n}\n```\n\n> a quote\n\n---\n2 * 3 * " +
	"4 __init__"

// TestResultsAreSeen: the lines of a failed command that say why, what an edit changed, what a child
// reports, a reply without the marks of Markdown; and all of it with /show.
func TestResultsAreSeen(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, what string) {
			if what != "go" {
				return
			}
			failed := finished(1, 0, "Bash", "ok a\nok b\nok c\n--- FAIL: TestLogin (0.00s)\n    login_test.go:12: "+
				"got 1, want 2\n"+
				"FAIL\nFAIL\texample.com/auth\t0.01s\nFAIL\n(Exit code 1.)")
			failed.Evidence.Commands = []troupe.CommandRun{{Command: "go test ./...", ExitCode: 1}}
			edited := finished(1, 1, "Edit", "auth.go was changed.")
			edited.Evidence.Files = []troupe.FileTouch{{Path: "/p/auth.go", Wrote: true, Added: 2, Removed: 1}}
			f.add(rootID, troupe.Replied{Reply: 1, Blocks: []troupe.Block{
				callBlock(1, 0, "Bash", `{"command":"go test ./..."}`),
				callBlock(1, 1, "Edit", `{"file_path":"auth.go","old_string":"func a() {\n\treturn 1\n}",`+
					`"new_string":"func a() {\n\tb()\n\treturn 2\n}"}`),
			}}, failed, edited)
			end := ended(troupe.Completed)
			end.Outcome.Result = "# Report\n\nThe login is in **auth.go:12**.\n\n- one\n- two\n- three\n- four\n- five"
			f.add(childID, troupe.Created{Name: "Auth Explorer", Title: "Look at auth", Parent: rootID,
				Profile: troupe.Profile{Type: "Explore"}}, troupe.Started{Run: 1}, end)
			f.says(markdown)
		})
	}
	screens(t, "results", f, wire.Begin{}, func(p *person, _ *fake) {
		p.Keys("go\r")
		p.sees("1.5 s\n>")
		p.Keys("/show 1\r")
		p.sees("0.01s\nFAIL\n>")
		p.Keys("/show 9\r")
		p.shows("there is no result 9")
	})
}

// TestWideCodeIsDrawnOnce: a line of code with tabs, wider than the screen, that comes in pieces.
func TestWideCodeIsDrawnOnce(t *testing.T) {
	t.Parallel()
	const code = "\ts := append([]float64(nil), xs...) // a copy, because the caller's slice must not be changed at " +
		"all\n"
	f := func() *fake {
		return newFake(func(f *fake, _ string) {
			f.add(rootID, troupe.CallSealed{Reply: 1})
			f.streams("```go\n" + code[:90])
		})
	}
	screens(t, "wide", f, wire.Begin{}, func(p *person, f *fake) {
		p.Keys("go\r")
		p.shows("caller's")
		f.streams(code[90:98])
		p.shows("not be")
		f.streams(code[98:] + "```\n")
		f.says("```go\n" + code + "```\n")
		p.sees("1.5 s\n>")
	})
}

// TestErrorsAreSaidOnce: what a model call failed with for good is not repeated at the end.
func TestErrorsAreSaidOnce(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, _ string) {
		end := ended(troupe.Failed)
		end.Outcome.Error = "the key was refused (gave up after 3 attempts)"
		f.add(rootID, troupe.ModelFailed{Reply: 1, Message: "the key was refused"}, end)
	})
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("go\r")
	p.sees("✗ the key was refused\n── failed · 0 tool uses · 2k tokens · 1.5 s\n(gave up after 3 attempts)\n>")
}

// TestDenialsAreNoFailure: a run that ends because nothing is allowed has not failed for those who said so.
func TestDenialsAreNoFailure(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, _ string) {
		end := ended(troupe.Failed)
		end.Outcome.Cause = troupe.CausePermission
		end.Outcome.Error = "stopped after 3 replies in a row whose every tool call was denied"
		f.add(rootID, end)
	})
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("go\r")
	p.sees("── stopped · 0 tool uses · 2k tokens · 1.5 s\nstopped after 3 replies in a row whose every tool call was " +
		"denied\n>")
}
