package render_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
	"github.com/troupe-dev/troupe/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files again")

const root = troupe.SessionID("m00000000000")

// step is an event, or a delta, or words that the test notes in the golden file.
type step struct {
	event troupe.Event
	delta wire.Delta
	note  string
}

// script writes down what happens in a tree.
type script struct {
	steps  []step
	sealed bool
	no     int64
	after  int64 // the event that the call on its way was sealed by
	seq    map[troupe.SessionID]int64
}

func (s *script) is(id troupe.SessionID, bodies ...troupe.Body) *script {
	if s.seq == nil {
		s.seq = make(map[troupe.SessionID]int64)
	}
	for _, b := range bodies {
		switch b.(type) {
		case troupe.Replied, troupe.ModelFailed:
			s.sealed = s.sealed && id != root
		case troupe.CallSealed:
			s.sealed = true
		}
		s.seq[id]++
		if _, ok := b.(troupe.CallSealed); ok && id == root {
			s.no, s.after = 0, s.seq[id]
		}
		s.steps = append(s.steps, step{event: troupe.Event{Root: root, Session: id, Seq: s.seq[id], Body: b}})
	}
	return s
}

func (s *script) says(d ...wire.Delta) *script {
	if !s.sealed {
		s.is(root, troupe.CallSealed{})
	}
	for _, x := range d {
		if x.Session == "" {
			x.Session = root
		}
		s.no++
		x.No, x.After = s.no, s.after
		s.steps = append(s.steps, step{delta: x})
	}
	return s
}

func (s *script) note(text string) *script {
	s.steps = append(s.steps, step{note: text})
	return s
}

func text(d string) wire.Delta { return wire.Delta{Text: d} }

func born(name, kind, title string, parent troupe.SessionID) troupe.Created {
	return troupe.Created{Name: name, Title: title, Parent: parent, Profile: troupe.Profile{Type: kind}}
}

func call(reply, index int, name, input string) troupe.Block {
	return troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{Reply: reply, Index: index, Name: name,
		Input: input}}
}

func thinking(s string) troupe.Block { return troupe.Block{Type: troupe.ThinkingBlock, Text: s} }

func replied(n int, blocks ...troupe.Block) troupe.Replied {
	return troupe.Replied{Reply: n, Blocks: blocks}
}

func result(reply, index int, name, text string, isErr bool) troupe.ToolFinished {
	return troupe.ToolFinished{Name: name, Result: troupe.Result{Reply: reply, Call: index,
		Blocks: []troupe.Block{troupe.Text(text)}, IsError: isErr}}
}

func done(uses int, tokens, ms int64) troupe.Ended {
	return troupe.Ended{Outcome: troupe.Outcome{
		Status: troupe.Completed, DurationMS: ms,
		Tally: troupe.Tally{ToolUses: uses, Usage: troupe.Usage{Input: tokens}},
	}}
}

func failed(cause troupe.Cause, text string) troupe.Ended {
	e := done(3, 900, 1200)
	e.Outcome.Status, e.Outcome.Cause, e.Outcome.Error = troupe.Failed, cause, text
	return e
}

// play shows a script and returns all that was written, and the tail where a note asks.
func play(s *script, o render.Options) string {
	v := render.New(root, o)
	var out strings.Builder
	take := func() string {
		lines, tail := v.Take()
		out.WriteString(lines)
		return tail
	}
	for _, st := range s.steps {
		switch {
		case st.note != "":
			fmt.Fprintf(&out, "        [%s; behind it: %q]\n", st.note, take())
		case st.event.Body != nil:
			v.Event(st.event)
		default:
			v.Delta(st.delta)
		}
		take()
	}
	if tail := take(); tail != "" {
		fmt.Fprintf(&out, "        [behind it: %q]\n", tail)
	}
	return out.String()
}

func scripts() map[string]*script {
	const a, b, c = troupe.SessionID("a00000000000"), troupe.SessionID("b00000000000"), troupe.SessionID("c00000000000")
	begin := func() *script {
		return new(script).is(root, born("", "main", "", ""), troupe.Started{Run: 1},
			troupe.MailDelivered{Mail: []troupe.Mail{{ID: troupe.PromptMailID(root), Kind: troupe.MailPrompt,
				Blocks: []troupe.Block{troupe.Text("go")}}}})
	}
	tests := result(2, 0, "Bash", "FAIL", false)
	tests.Evidence.Commands = []troupe.CommandRun{{Command: "go test ./...", ExitCode: 1,
		Tests: &troupe.TestCount{Runner: "go test", Passed: 41, Failed: 1}}}
	edit := result(3, 0, "Edit", "ok", false)
	edit.Evidence.Files = []troupe.FileTouch{{Path: "/p/internal/auth/auth.go", Wrote: true, Added: 12, Removed: 3}}
	denied := result(4, 0, "Bash", "denied", true)
	denied.Denied = &troupe.Decision{Effect: troupe.Deny, Why: `the deny rule "Bash(git push *)" of --disallowed-tools`}

	out := map[string]*script{}
	out["turn"] = begin().
		says(wire.Delta{Thinking: "The person wants the failing test fixed, "},
			wire.Delta{Thinking: "so I look at it first.\nThen I run it."}).note("thinking").
		says(text("I will run the tests first, "), text("then read what fails, and only then chan")).note("streaming").
		says(text("ge anything."), wire.Delta{Tool: "Bash"}).note("a call begins").
		is(root, replied(2, thinking("The person wants…"), troupe.Text("I will run the tests first, then read what "+
			"fails, and only then change anything."), call(2, 0, "Bash",
			`{"command":"go test ./... -run 'TestLogin|TestLogout' -count=1 -race"}`)),
			troupe.ToolStarted{Reply: 2, Name: "Bash"}).note("a call is at work").
		is(root, tests,
			replied(3, call(3, 0, "Edit", `{"file_path":"/p/internal/auth/auth.go"}`),
				call(3, 1, "Read", `{"file_path":"/p/README.md"}`)),
			edit, result(3, 1, "Read", "open /p/README.md: no such file", true),
			replied(4, call(4, 0, "Bash", `{"command":"git push --force"}`)), denied,
			replied(5, troupe.Text("Done:\n\n```go\nfunc veryLongNameOfAFunctionThatIsNotWrappedBecauseItIsCode(ctx "+
				"context.Context) error {\n\treturn nil\n}\n```\nAll green. 日本語の文章も折り返されます、幅を数えて正しく折り返されるはずです。")),
			done(4, 31234, 8210))

	out["agents"] = begin().
		is(root, replied(1, call(1, 0, "Agent", `{"description":"trace auth callers"}`),
			call(1, 1, "Agent", `{"description":"find config readers"}`))).
		is(a, born("trace auth callers", "Explore", "trace auth callers", root), troupe.Started{Run: 1},
			replied(1, troupe.Text("I grep for the callers."), call(1, 0, "Grep", `{"pattern":"auth\\.Check"}`)),
			result(1, 0, "Grep", "…", false)).
		is(b, born("config", "Explore", "find everything that reads the configuration, wherever it may be hidden",
			root), troupe.Started{Run: 1}).
		is(a, replied(2, call(2, 0, "Read", `{"file_path":"/p/internal/auth/session_store_with_a_long_name.go"}`)),
			result(2, 0, "Read", "…", false)).
		is(b, troupe.ModelFailed{Reply: 1, Attempt: 1, Fault: troupe.FaultRetry,
			Message: "the provider is overloaded (529)", RetryAt: time.Date(2026, 11, 21, 14, 3, 0, 0, time.UTC)}).
		is(c, born("helper", "general-purpose", "count", a), troupe.Started{Run: 1}, done(0, 1200, 900)).
		is(a, done(12, 31000, 8200)).
		is(root, troupe.ToolFinished{Name: "Agent", Result: troupe.Result{Reply: 1, Call: 0},
			Outcome: &troupe.Outcome{}}).
		is(b, replied(1, call(1, 0, "Read", `{"file_path":"/p/c.go"}`)), result(1, 0, "Read", "…", false),
			failed(troupe.CauseLimit, "the limit of 3 turns is reached; resume it to give it as many again"))

	bash := troupe.ToolFinished{Name: "Bash", Result: troupe.Result{Reply: 1, Call: 1},
		Task: &troupe.Task{ID: "b1.1", Kind: troupe.TaskShell, Background: true}}
	out["background"] = begin().
		is(root, replied(1, call(1, 0, "Agent", `{"description":"watch the log"}`),
			call(1, 1, "Bash", `{"command":"npm run dev"}`))).
		is(a, born("watcher", "Explore", "watch the log", root), troupe.Started{Run: 1}).
		is(root, troupe.ToolFinished{Name: "Agent", Result: troupe.Result{Reply: 1, Call: 0},
			Task: &troupe.Task{ID: troupe.TaskID(a), Kind: troupe.TaskAgent, Background: true}}, bash,
			replied(2, troupe.Text("Both are under way.")), done(2, 800, 1500)).
		is(a, done(2, 5000, 61000)).
		is(root, troupe.Started{Run: 2}, troupe.MailDelivered{Mail: []troupe.Mail{
			{Kind: troupe.MailTaskEnded, Ended: &troupe.Outcome{Session: a, Name: "watcher"}},
			{Kind: troupe.MailTaskEnded, Ended: &troupe.Outcome{Kind: troupe.TaskShell, Task: "b1.1",
				Name: "npm run dev", Status: troupe.Failed, DurationMS: 12000}},
			{ID: "x", Kind: troupe.MailPrompt, Blocks: []troupe.Block{troupe.Text("and hurry")}},
			{ID: "y", Kind: troupe.MailPrompt, From: a, Blocks: []troupe.Block{troupe.Text("one more thing")}},
		}}, replied(3, troupe.Text("The watcher is done.")), done(0, 300, 700))

	out["waits"] = begin().
		is(root, replied(1, call(1, 0, "Agent", `{"description":"clean up"}`))).
		is(a, born("cleaner", "general-purpose", "clean up", root), troupe.Started{Run: 1},
			replied(1, call(1, 0, "Bash", `{"command":"rm -rf build"}`)),
			troupe.RequestOpened{Reply: 1, RequestBody: troupe.RequestBody{Reason: troupe.WaitApproval, Tool: "Bash",
				Action: "rm -rf build"}},
			troupe.RequestAnswered{Reply: 1, By: "user at terminal", Effect: troupe.Deny, Note: "build is needed"},
			troupe.BudgetWarned{Limit: "tokens", Text: "80 % of the tokens are used"},
			troupe.Compacted{Why: "the window was full"}, troupe.ModelChanged{Model: "anthropic/claude-haiku",
				Why: "fallback"}).
		says(text("half a sen")).
		is(root, troupe.ModelFailed{Reply: 2, Attempt: 1, Fault: troupe.FaultRetry, Message: "rate limited",
			RetryAt: time.Date(2026, 11, 21, 14, 3, 0, 0, time.UTC), Partial: "half a sen"}).
		says(text("A whole sentence.")).
		is(root, replied(2, troupe.Text("A whole sentence.")),
			troupe.ModelFailed{Reply: 3, Attempt: 1, Fault: troupe.FaultAuth, Message: "the key was refused"},
			failed(troupe.CauseNoModel, "no model to be had: the key was refused"))

	out["colors"] = begin()
	for i, color := range append(troupe.Colors(), "", "#ff0000") {
		id := troupe.SessionID(fmt.Sprintf("%c00000000000", 'a'+i))
		who := born(cmp.Or(color, "none"), "painted", "", root)
		who.Profile.Color = color
		out["colors"].is(id, who, troupe.Started{Run: 1}).is(root, troupe.ToolFinished{Name: "Agent",
			Result: troupe.Result{Reply: 1, Call: i}, Task: &troupe.Task{ID: troupe.TaskID(id),
				Kind: troupe.TaskAgent, Background: true}}).is(id, done(1, 100, 700))
	}

	out["hostile"] = begin().
		says(text("look: \x1b[2J\x1b]0;title\a\u202eevil\r\nnext")).
		is(root, replied(1, troupe.Text("look: \x1b[2J\x1b]0;title\a\u202eevil\r\nnext"),
			call(1, 0, "Ba\x1b[31msh", `{"command":"echo \u001b[8m hidden\n└─ done"}`))).
		is(root, result(1, 0, "Bash", "\x1b[2J└─ done\nfake", true), failed(troupe.CauseError, "bad\x1b[2J\nthing"))
	return out
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, s := range scripts() {
		for _, width := range []int{0, 60, 100} {
			for _, color := range []bool{false, true} {
				if color && width != 60 {
					continue
				}
				file := fmt.Sprintf("%s-%d", name, width)
				if color {
					file += "-color"
				}
				t.Run(file, func(t *testing.T) {
					t.Parallel()
					got := play(s, render.Options{Color: color, Width: width, Cwd: "/p", Local: time.UTC})
					golden(t, filepath.Join("testdata", file+".txt"), got)
					for line := range strings.Lines(got) {
						line = strings.TrimSuffix(line, "\n")
						code := strings.Contains(line, "veryLongName") || strings.Contains(line, "behind it")
						if n := ansi.StringWidth(line); width > 0 && n > width && !code {
							t.Errorf("%d columns: %q", n, line)
						}
						if plain := ansi.Strip(line); !color && strings.ContainsRune(line, 0x1b) ||
							strings.ContainsRune(plain, 0x1b) {
							t.Errorf("an escape sequence: %q", line)
						}
					}
				})
			}
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
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

// TestStreamedOnce cuts texts into any pieces and loses any number of the last of them:
// what is on the screen in the end is what it is without a single piece.
func TestStreamedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.SampledFrom([]int{0, 20, 60}).Draw(t, "width")
		full := rapid.StringOfN(rapid.SampledFrom([]rune("ab c  de\n\n日`||-")), 0, 300, -1).Draw(t, "text")
		blocks := []troupe.Block{troupe.Text(full), call(1, 0, "Read", `{}`)}
		o := render.Options{Width: width, Local: time.UTC, Markdown: rapid.Bool().Draw(t, "markdown")}
		want := play(new(script).is(root, replied(1, blocks...)), o)

		s := new(script)
		for rest := []rune(full); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			if rapid.IntRange(0, 9).Draw(t, "lost") == 0 {
				break
			}
			s.says(text(string(rest[:n])))
			rest = rest[n:]
		}
		if got := play(s.is(root, replied(1, blocks...)), o); got != want {
			t.Fatalf("width %d: got\n%q\nwant\n%q", width, got, want)
		}
	})
}

// TestLostInTheMiddle: what comes behind a gap waits until all is there, so that nothing is
// shown twice; also in a view that was opened in the middle of a reply.
func TestLostInTheMiddle(t *testing.T) {
	t.Parallel()
	s := new(script).says(text("first line\nsecond "), text("with a "), text("gap\nthird"))
	s.steps = append(s.steps[:2], s.steps[3:]...)
	got := play(s.note("so far").is(root, replied(1, troupe.Text("first line\nsecond with a gap\nthird"))),
		render.Options{Local: time.UTC})
	if want := "first line\n        [so far; behind it: \"second \"]\nsecond with a gap\nthird\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	s = new(script).says(text("first line\n"), text("second"))
	s.steps = append(s.steps[:1], s.steps[2:]...)
	got = play(s.is(root, replied(1, troupe.Text("first line\nsecond"))), render.Options{Local: time.UTC})
	if want := "first line\nsecond\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestOvertaken has pieces come before the events they were sent after, and behind the event
// that makes their reply whole. Whatever overtakes what, each reply is shown once, and where
// it stands in the log.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	long := "reply number 2 of this run has some words"
	first := result(1, 0, "Glob", "a.go", false)
	s := new(script).says(text("reply "), text("one"), wire.Delta{Tool: "Glob"}).is(root,
		replied(1, troupe.Text("reply one"), call(1, 0, "Glob", `{"pattern":"*"}`)), first).
		is(root, troupe.CallSealed{Reply: 2})
	s.sealed = true
	s.says(text("reply number 2 of this "), text("run has "), text("some words")).is(root,
		replied(2, troupe.Text(long)), done(1, 0, 0))
	var events []troupe.Event
	var pieces []wire.Delta
	for _, st := range s.steps {
		if st.event.Body != nil {
			events = append(events, st.event)
		} else {
			pieces = append(pieces, st.delta)
		}
	}
	want := play(&script{steps: slices.DeleteFunc(slices.Clone(s.steps),
		func(st step) bool { return st.event.Body == nil })}, render.Options{Local: time.UTC})
	rapid.Check(t, func(t *rapid.T) {
		v := render.New(root, render.Options{Local: time.UTC})
		var out strings.Builder
		for e, p := 0, 0; e < len(events); {
			if p < len(pieces) && rapid.Bool().Draw(t, "piece") {
				v.Delta(pieces[p])
				p++
			} else {
				v.Event(events[e])
				v.Flush()
				e++
			}
			lines, _ := v.Take()
			out.WriteString(lines)
		}
		if got := out.String(); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// TestAnswersAndSavings: what was said to questions stands below them, under their headers where the call is known;
// how much a summary saved is told with it.
func TestAnswersAndSavings(t *testing.T) {
	t.Parallel()
	answer := troupe.RequestAnswered{Reply: 1, By: "you", Effect: troupe.Allow, Said: []troupe.Said{
		{Choices: []string{"Right"}}, {Choices: []string{"Unit", "E2E"}, Text: "and\x1b[2J by hand"}}}
	s := new(script).is(root, replied(1, troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 1,
		Name: "AskUserQuestion", Input: `{"questions": [{"header": "Way"}, {"header": "Tests"}]}`}})).is(root, answer)
	answer.Reply = 2
	s.is(root, answer, troupe.Compacted{Why: "asked for", Usage: troupe.Usage{Input: 4000, CacheRead: 80_000,
		Output: 2000}})
	const want = "answered by you:\n  Way: Right\n  Tests: Unit, E2E, and\\u{001b}[2J by hand\n" +
		"answered by you:\n  1. Right\n  2. Unit, E2E, and\\u{001b}[2J by hand\n" +
		"~ the conversation was shortened: 84k tokens became a summary of 2k; asked for\n"
	if got := play(s, render.Options{Local: time.UTC}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := play(s, render.Options{Local: time.UTC, Width: 60}); !strings.HasSuffix(got,
		"~ the conversation was shortened: 84k tokens became a\n  summary of 2k; asked for\n") {
		t.Errorf("at 60 columns:\n%s", got)
	}
}

// TestSummaryIsNotAReply: what is said while the conversation is shortened is not shown.
func TestSummaryIsNotAReply(t *testing.T) {
	t.Parallel()
	s := new(script).is(root, troupe.CallSealed{Compact: true}).says(text("a summary")).is(root,
		troupe.Compacted{Why: "asked for"})
	s.sealed = false
	s.says(text("a reply")).is(root, replied(1, troupe.Text("a reply")))
	got := play(s, render.Options{Local: time.UTC})
	if want := "~ the conversation was shortened: asked for\na reply\n"; got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestSaysWhat: lines that stand alone say what they are about.
func TestSaysWhat(t *testing.T) {
	t.Parallel()
	v := render.New(root, render.Options{Local: time.UTC})
	v.Cast.Know([]wire.Session{{ID: root}, {ID: "abc000000000", Name: "kid", Title: "trace callers"}})
	rule := troupe.Rule{Effect: troupe.Allow, Text: "Bash(go test *)", Source: "granted by you"}
	for i, e := range []troupe.Event{
		{Session: "abc000000000", Body: done(0, 0, 0)},
		{Session: root, Body: troupe.AuthorityChanged{Authority: troupe.Authority{Mode: "plan",
			Rules: []troupe.Rule{rule}}, By: rule.Source}},
		{Session: root, Body: troupe.AuthorityChanged{Authority: troupe.Authority{Mode: "plan",
			Rules: []troupe.Rule{rule}}, By: "mode plan"}},
		{Session: root, Body: troupe.AuthorityChanged{Authority: troupe.Authority{Mode: "acceptEdits"},
			By: "the approval of the plan by you"}},
		{Session: root, Body: troupe.AuthorityChanged{By: "the approval of the plan by the lead of the team"}},
	} {
		e.Seq = int64(i + 1)
		v.Event(e)
	}
	const want = "└─ 1 done · 0 tool uses · 0 tokens · 0.0 s · kid\n" +
		"permissions changed: Bash(go test *) is allowed from now on (granted by you)\n" +
		"permissions changed: mode plan\n" +
		"permissions changed: mode acceptEdits (the approval of the plan by you)\n" +
		"permissions changed: the mode of the agent above it (the approval of the plan by the lead of the team)\n"
	if got, _ := v.Take(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestBornIdle: a member that a team begins with has not worked by being there. Its beginning says what it is for, and
// the end of one that nobody waits for whose it is.
func TestBornIdle(t *testing.T) {
	t.Parallel()
	end := func(run int) troupe.Ended {
		e := done(0, 0, 0)
		e.Outcome.Run = run
		return e
	}
	s := new(script).is("abc000000000", troupe.Created{Name: "Ann", Title: "reads the docs", Parent: root,
		Background: true, Profile: troupe.Profile{Type: "Explore", Beginning: troupe.Beginning{Team: "rel"}}},
		troupe.Started{Run: 1}, end(1))
	if got := play(s, render.Options{Local: time.UTC}); got != "" {
		t.Errorf("it is nothing to tell:\n%s", got)
	}
	s.is("abc000000000", troupe.Started{Run: 2}, end(2))
	want := "┌─ #1 Ann · Explore (goes on): reads the docs\n└─ done · 0 tool uses · 0 tokens · 0.0 s · Ann\n"
	if got := play(s, render.Options{Local: time.UTC}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	want = "┌─ #1 Ann · Explore (goes on): reads the d…\n└─ done · 0 tool uses · 0 tokens · 0.0 s\n"
	if got := play(s, render.Options{Local: time.UTC, Width: 43}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestAnsweredByYou: by which process a person answered is for the log: it may be a pane beside this one.
func TestAnsweredByYou(t *testing.T) {
	t.Parallel()
	pane := troupe.Caller{Name: "you", Process: 7}
	for want, b := range map[string]troupe.RequestAnswered{
		"you":                  {By: pane.String(), Caller: &pane},
		"the lead of the team": {By: "the lead of the team", Caller: &pane, Lead: true},
		"a rule":               {By: "a rule"},
	} {
		if got := render.AnsweredBy(b); got != want {
			t.Errorf("%+v: %s, want %s", b, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	v := render.New(root, render.Options{})
	v.Cast.Know([]wire.Session{{ID: root}, {ID: "abc000000000", Name: "Auth Explorer"},
		{ID: "abd000000000", Name: "7"}})
	for word, want := range map[string]troupe.SessionID{
		"1": "abc000000000", "#2": "abd000000000", "auth explorer": "abc000000000", "abd": "abd000000000", "ab": "",
		"x": "", "3": "", "": "",
	} {
		if got, ok := v.Cast.Find(word); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", word, got, ok)
		}
	}
}

func BenchmarkDelta(b *testing.B) {
	v := render.New(root, render.Options{Width: 100})
	v.Event(troupe.Event{Session: root, Body: troupe.CallSealed{}})
	for n := int64(1); b.Loop(); n++ {
		v.Delta(wire.Delta{Session: root, Text: "token ", No: n})
		v.Take()
	}
}

// TestCallsFit: what a call was and what came of it stand on one line where they fit; on a narrow terminal what came
// has a line of its own, and is never broken by the edge.
func TestCallsFit(t *testing.T) {
	t.Parallel()
	end := result(1, 0, "Bash", "", false)
	end.Evidence.Commands = []troupe.CommandRun{{Command: "go test ./...", ExitCode: 1,
		Tests: &troupe.TestCount{Runner: "go test (packages)", Failed: 1}}}
	for width, want := range map[int]string{
		100: "! Bash go test ./...  exit 1 · go test (packages): 0 passed, 1 failed\n",
		60:  "! Bash go test ./...\n  exit 1 · go test (packages): 0 passed, 1 failed\n",
	} {
		v := render.New(root, render.Options{Width: width})
		for i, b := range []troupe.Body{replied(1, call(1, 0, "Bash", `{"command":"go test ./..."}`)), end} {
			v.Event(troupe.Event{Root: root, Session: root, Seq: int64(i + 1), At: time.Unix(0, 0), Body: b})
		}
		if lines, _ := v.Take(); lines != want {
			t.Errorf("at %d columns: %q", width, lines)
		}
	}
}
