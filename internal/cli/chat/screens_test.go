//go:build unix

package chat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// screens plays what a person does at terminals of 60 and 100 columns. What is on the screen in
// the end is compared with testdata/screens.
func screens(t *testing.T, name string, f func() *fake, b wire.Begin, play func(p *person, f *fake)) {
	t.Helper()
	screensOf(t, name, f, b, func(p *person, f *fake) {
		p.t.Helper()
		p.sees("\n>")
		play(p, f)
	})
}

// screensOf is screens for a conversation that does not begin with an empty prompt.
func screensOf(t *testing.T, name string, f func() *fake, b wire.Begin, play func(p *person, f *fake)) {
	t.Helper()
	for _, width := range []int{60, 100} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			f := f()
			p := sitAt(t, f, b, width)
			play(p, f)
			shown := p.Shown()
			shown = shown[max(strings.Index(shown, "\n> "), 0)+1:]
			shown = strings.ReplaceAll(shown, p.cwd, "/ws") // it has another name each time
			goldenScreen(t, filepath.Join("testdata", "screens", fmt.Sprintf("%s-%d.txt", name, width)), shown+"\n")
		})
	}
}

func goldenScreen(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s is missing; run the test with -update", file)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

func callBlock(reply, index int, name, input string) troupe.Block {
	return troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{Reply: reply, Index: index, Name: name,
		Input: input}}
}

// TestWorkIsSeen: whatever goes on, a line says what it is, for how long, and what ends it.
func TestWorkIsSeen(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, what string) {
			switch what {
			case "wait":
				f.add(rootID, troupe.CallSealed{Reply: 1, Model: "anthropic/claude-opus"})
			case "run":
				f.add(rootID, troupe.Replied{Reply: 1, Blocks: []troupe.Block{
					callBlock(1, 0, "Bash", `{"command":"go test ./... -run TestLogin","timeout":300000}`),
					callBlock(1, 1, "Agent", `{"description":"Look at auth"}`),
				}}, troupe.ToolStarted{Reply: 1, Name: "Bash"},
					troupe.ToolStarted{Reply: 1, Call: 1, Name: "Agent", Child: childID})
				f.add(childID, troupe.Created{Name: "Auth Explorer", Title: "Look at auth", Parent: rootID,
					Profile: troupe.Profile{Type: "Explore"}}, troupe.Started{Run: 1},
					troupe.CallSealed{Reply: 1, Model: "anthropic/claude-haiku"})
				f.prints(troupe.Coord{Reply: 1}, "ok a\nok b\nok c\nok d\n--- FAIL: TestLogin (0.1s)\n")
			}
		})
	}
	screens(t, "work", f, wire.Begin{}, func(p *person, f *fake) {
		p.Keys("wait\r")
		p.seconds.Store(14)
		p.shows("\n… waiting for claude-opus · 12 s · Esc stops\n»")
		p.Keys("run\r")
		p.seconds.Store(40)
		p.shows("FAIL: TestLogin")
		p.shows("waiting for claude-haiku · 3")
		f.mu.Lock()
		f.slow = true
		f.mu.Unlock()
		p.Keys("use tabs, please\r")
		p.shows("queued: “use tabs, please”")
		p.Keys("/tasks\r")
		p.Until("the rows twice", func(s string) bool { return strings.Count(s, "claude-haiku") == 2 })
	})
}

// TestWaitingCommandIsSeen: a command that waits for others, or for what its sandbox hides, is not shown as one that
// runs, and its time begins when it does.
func TestWaitingCommandIsSeen(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, _ string) {
		f.waits(troupe.Coord{Reply: 1}, troupe.StageHidden)
	})
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("go\r")
	f.heardAll(t, "begin false", "go")
	f.until(t.Context(), func() bool { return len(f.deltas) == 0 })
	// What is said of a call may come before the reply that asks for it.
	f.add(rootID, troupe.Replied{Reply: 1, Blocks: []troupe.Block{
		callBlock(1, 0, "Bash", `{"command":"go test ./..."}`)}})
	p.seconds.Store(9)
	p.sees("\n… Bash go test ./... · 7 s · looking for hidden files · Esc stops\n»")
	f.add(rootID, troupe.ToolStarted{Reply: 1, Name: "Bash"})
	for _, tt := range []struct {
		stage troupe.Stage
		want  string
	}{
		{troupe.StageHidden, "2 s · looking for hidden files · Esc stops"},
		{troupe.StageProcessor, "2 s · waits for a processor · Esc stops"},
		{troupe.StageRepository, "2 s · waits for another command of git · Esc stops"},
		{troupe.StageRuns, "2 s of 2 min · Esc stops"},
	} {
		f.waits(troupe.Coord{Reply: 1}, tt.stage)
		p.shows("· 0 s " + strings.TrimPrefix(tt.want, "2 s "))
		p.seconds.Add(2)
		p.sees("\n… Bash go test ./... · " + tt.want + "\n»")
	}
	f.waits(troupe.Coord{Reply: 1}, troupe.StageProcessor)
	p.seconds.Add(2)
	p.shows("waits for a processor")
	f.prints(troupe.Coord{Reply: 1}, "ok\n") // the word that it runs may have got lost
	p.shows(" of 2 min · Esc stops")
}

// TestWorkGoesOn: the rows are drawn anew while nothing happens.
func TestWorkGoesOn(t *testing.T) {
	t.Parallel()
	p := sit(t, newFake(func(f *fake, _ string) { f.add(rootID, troupe.CallSealed{Reply: 1, Model: "x/m"}) }),
		wire.Begin{})
	p.sees("\n>")
	p.Keys("go\r")
	for n := int64(10); n < 13; n++ {
		p.seconds.Store(n)
		p.sees(fmt.Sprintf("\n… waiting for m · %d s · Esc stops\n»", n-2))
	}
}

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

// TestPermissionBox: a choice a line, short paths.
func TestPermissionBox(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, what string) {
			if what != "go" {
				return
			}
			f.ask(wire.Request{ID: "r1", Session: rootID, Path: "main/Auth Explorer", Tool: "Bash",
				Folder: "/ws/project",
				Action: "go test ./... > /ws/project/log.txt", Running: true, Grant: "Bash(go test *)",
				File: "/root/.config/troupe/folders/project-3a57877abbe9.json",
				Why: "it ran read-only and wanted to create /ws/project/log.txt; yes runs it again and lets it do " +
					"that",
				Until: time.Unix(0, 0).Add(5 * time.Minute)},
				wire.Request{ID: "r2", Session: rootID, Path: "main", Tool: "Read", Folder: "/ws/project",
					Action: `Read {"file_path":"/etc/hostname"}`, Running: true, Grant: "Read(//etc/hostname)",
					Why: "it is outside of /ws/project", Until: time.Unix(0, 0).Add(24 * time.Hour)})
		})
	}
	screens(t, "box", f, wire.Begin{}, func(p *person, _ *fake) {
		p.Keys("go\r")
		p.shows("1 more request waits")
		p.Keys("y\r")
		p.shows("/etc/hostname")
		p.sees("allowed by user at terminal\ny/s/a/n + Enter?")
	})
}

// TestBannerAndStatus: what the conversation works with is said at the beginning, above the prompt, and by
// /status; a mode in which nothing is asked is warned of; /mode marks the one that holds.
func TestBannerAndStatus(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, _ string) {
			f.add(rootID, troupe.CallSealed{Reply: 1, Model: "anthropic/opus"},
				troupe.Replied{Reply: 1, Cost: troupe.Dollars(0.25), Blocks: []troupe.Block{troupe.Text("hi")}},
				ended(troupe.Completed))
		})
	}
	screens(t, "status", f, wire.Begin{Permissions: wire.Permissions{Mode: troupe.ModeBypass}},
		func(p *person, _ *fake) {
			p.shows("troupe test · anthropic/opus · mode bypassPermissions ·")
			p.shows("Warning: in the mode bypassPermissions every call runs")
			p.Keys("hello\r")
			p.shows(" · $0.2500\n>")
			p.Keys("/mode\r")
			p.shows("\n* bypassPermissions\n")
			p.Keys("/clear\r")
			p.shows("begins a new conversation")
			p.Keys("/status\r")
			p.shows("none yet")
		})
}

// TestRetryIsPlain: what cannot be reached, which attempt comes, of how many, and in how long.
func TestRetryIsPlain(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, _ string) {
			f.add(rootID, troupe.CallSealed{Reply: 1, Model: "anthropic/opus"}, troupe.ModelFailed{Reply: 1, Attempt: 6,
				Fault: troupe.FaultRetry, Message: "cannot reach api.example.com (connection refused)",
				RetryAt: time.Unix(30, 0)})
		})
	}
	screens(t, "retry", f, wire.Begin{}, func(p *person, _ *fake) {
		p.seconds.Store(10)
		p.Keys("go\r")
		p.shows("in 20 s")
		p.seconds.Store(18)
		p.shows("of 29 in 12 s")
	})
}

// TestEscapeStops: Esc stops the turn and does nothing else.
func TestEscapeStops(t *testing.T) {
	t.Parallel()
	f := newFake(nil)
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("work\r")
	p.sees("»")
	p.Keys("\x1b")
	p.sees("\n── stopped · 0 tool uses · 2k tokens · 1.5 s\n>")
	p.Keys("\x04")
	p.leaves()
	f.heardAll(t, "begin false", "work", "stop m00000000000 now=true tree=false")
}

// TestUndoMeansThePrompt: /undo goes back to before the first turn of the last prompt that changed a file.
func TestUndoMeansThePrompt(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) { f.says("heard " + what) })
	changed := []wire.FileChange{{Path: "/ws/a"}}
	f.turns = []wire.Turn{{Number: 1, Asked: "one", Files: changed}, {Number: 2, Asked: "two"},
		{Number: 3, Asked: "two", Files: changed}, {Number: 4, Asked: "two", Files: changed},
		{Number: 5, Asked: "three"}}
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("hello\r")
	p.sees("1.5 s\n>")
	p.Keys("/undo\r")
	p.shows("there is no undo here")
	f.heardAll(t, "begin false", "hello", "undo 2")
}

// TestUndoTellsPromptsApart: two prompts of the same words are two, and the plan says which one it is about.
func TestUndoTellsPromptsApart(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		f := newFake(func(f *fake, what string) { f.says("heard " + what) })
		changed := []wire.FileChange{{Path: "/ws/a"}}
		at := time.Date(2026, 11, 21, 14, 2, 0, 0, time.UTC)
		f.turns = []wire.Turn{{Number: 1, Asked: "again", Prompt: 1, Files: changed},
			{Number: 2, Asked: "again", Prompt: 2, At: at},
			{Number: 3, Asked: "again", Prompt: 2, Files: changed}}
		f.undo = wire.Undo{Turn: 2, Plan: "p", Files: []wire.UndoFile{{Path: "/ws/a", Action: wire.UndoRemove}}}
		return f
	}
	screens(t, "undo", f, wire.Begin{}, func(p *person, f *fake) {
		p.Keys("hello\r")
		p.sees("1.5 s\n>")
		p.Keys("/undo\r")
		p.sees("y/n + Enter?")
		f.heardAll(t, "begin false", "hello", "undo 2")
	})
}

func finished(reply, index int, name, text string) troupe.ToolFinished {
	return troupe.ToolFinished{Name: name, Result: troupe.Result{Reply: reply, Call: index,
		Blocks: []troupe.Block{troupe.Text(text)}}}
}
