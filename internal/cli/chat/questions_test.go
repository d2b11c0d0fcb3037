package chat

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

func twoQuestions() wire.Request {
	options := []troupe.Option{{Label: "Left", Description: "the old way"}, {Label: "Right"}}
	return wire.Request{ID: "q", Path: "main/x", Kind: troupe.RequestQuestion, Running: true,
		Questions: []troupe.Question{
			{Header: "Way", Text: "Which way?", Options: options, Default: "Left"},
			{Header: "Tests", Text: "Which\x1b tests?", Options: options, Default: "Right", Multi: true},
		}}
}

// TestQuestions: one question after the other is shown with numbers, and answered by numbers, labels or words; nothing
// is sent before the last. What is no answer says why.
func TestQuestions(t *testing.T) {
	t.Parallel()
	const first = "┏━ main/x asks: question 1 of 2: Way\n┃   Which way?\n┃ 1  Left: the old way (holds without an " +
		"answer)\n" +
		"┃ 2  Right\n┗━ a number, or words of your own; n for no answer\n"
	if got := showRequest(twoQuestions(), &box{local: time.UTC}); got != first {
		t.Errorf("got\n%s\nwant\n%s", got, first)
	}
	if got := showRequest(twoQuestions(), &box{local: time.UTC, said: 1}); strings.Contains(got, "\x1b") ||
		!strings.Contains(got, "question 2 of 2: Tests") || !strings.Contains(got, "one or more numbers (1,2)") {
		t.Errorf("the second is shown as\n%s", got)
	}
	for lines, want := range map[string]wire.Answer{
		"2|1, 2": {Allow: true, Answers: []troupe.Said{{Choices: []string{"Right"}},
			{Choices: []string{"Left", "Right"}}}},
		"left|none at all": {Allow: true, Answers: []troupe.Said{{Choices: []string{"Left"}}, {Text: "none at all"}}},
		"y|2":              {Allow: true, Answers: []troupe.Said{{Text: "y"}, {Choices: []string{"Right"}}}},
		"3|1,2|1|2": {Allow: true, Answers: []troupe.Said{{Choices: []string{"Left"}},
			{Choices: []string{"Right"}}}},
		"1|n":                {},
		"n, find out itself": {Note: "find out itself"},
	} {
		m := machine{terminal: true, begun: true}
		m.requests([]wire.Request{twoQuestions()})
		var got []wire.Answer
		for line := range strings.SplitSeq(lines, "|") {
			if len(got) > 0 {
				t.Errorf("%s: it was answered before %q", lines, line)
			}
			for _, a := range m.line(line, -1) {
				if a.kind == actAnswer {
					got = append(got, a.answer)
				}
			}
		}
		if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s: %+v, want %+v", lines, got, want)
		}
	}
}

// TestPlanIsAnswered: a plan takes yes, yes with edits, and no with words.
func TestPlanIsAnswered(t *testing.T) {
	t.Parallel()
	r := wire.Request{ID: "p", Path: "main", Kind: troupe.RequestPlan, Running: true, Tool: "ExitPlanMode",
		Action: "# Plan\n1. Do it."}
	const want = "┏━ main asks: shall this plan be carried out?\n┃   # Plan\n┃   1. Do it.\n" +
		"┃ y  yes: it is carried out, in the mode before\n┃ e  yes, and files in the folder may be edited without " +
		"asking\n" +
		"┗━ n  no, it goes on planning; n and words says what to change\n"
	if got := showRequest(r, &box{local: time.UTC}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r.Action = "# Plan\n\n- **First** run `go test ./...`.\n\n| a | b |\n|---|---|\n| 1 | 2 |"
	for _, width := range []int{24, 60, 100} {
		got := showRequest(r, &box{local: time.UTC, markdown: true, color: true, width: width})
		plain := ansi.Strip(got)
		if strings.ContainsAny(plain, "#*`|") || !strings.Contains(plain, "┃   Plan\n") ||
			!strings.Contains(got, "\x1b[1mFirst\x1b[0m") {
			t.Errorf("at %d columns\n%s", width, got)
		}
		for line := range strings.Lines(plain) {
			if w := ansi.StringWidth(strings.TrimSuffix(line, "\n")); w > width {
				t.Errorf("%d of %d columns: %s", w, width, line)
			}
		}
	}
	for line, want := range map[string]wire.Answer{
		"y": {Allow: true}, "e": {Allow: true, Mode: troupe.ModeAcceptEdits}, "n": {},
		"n two steps": {Note: "two steps"},
	} {
		m := machine{terminal: true, begun: true}
		m.requests([]wire.Request{r})
		if p := m.prompt(); p != "y/e/n/? + Enter? " {
			t.Errorf("the prompt is %q", p)
		}
		acts := m.line(line, -1)
		if len(acts) != 1 || !reflect.DeepEqual(acts[0].answer, want) {
			t.Errorf("%s: %+v, want %+v", line, acts, want)
		}
	}
}
