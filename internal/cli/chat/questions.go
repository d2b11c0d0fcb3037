package chat

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// questionOf is the question of a request that comes after so many answers.
func questionOf(r wire.Request, said int) (troupe.Question, bool) {
	if said >= len(r.Questions) {
		return troupe.Question{}, false
	}
	return r.Questions[said], true
}

// question says what is asked: in the first line, and in those below it.
func (x *box) question(r wire.Request, q troupe.Question) (head string, lines []string) {
	head = "a question"
	if n := len(r.Questions); n > 1 {
		head = fmt.Sprintf("question %d of %d", x.said+1, n)
	}
	if r.Server != "" {
		head += " of the MCP server " + console.Line(r.Server, 40)
	}
	return head + ": " + console.Line(q.Header, 60), strings.Split(console.Visible(q.Text), "\n")
}

// options are what can be answered to the question that is shown, a line each.
func (x *box) options(r wire.Request) []string {
	q, ok := questionOf(r, x.said)
	if !ok {
		return []string{"write your answer, or n for none"}
	}
	var out []string
	for i, o := range q.Options {
		line := fmt.Sprintf("%d  %s", i+1, console.VisibleLine(o.Label))
		if o.Description != "" {
			line += ": " + console.VisibleLine(o.Description)
		}
		if o.Label == q.Default {
			line += " (holds without an answer)"
		}
		out = append(out, line)
	}
	if r.Server != "" && len(q.Options) == 0 {
		return []string{"words of your own; n declines all that it asks"}
	}
	how := "a number, or words of your own; n for no answer"
	if q.Multi {
		how = "one or more numbers (1,2), or words of your own; n for no answer"
	}
	return append(out, how)
}

// ofPlan is what a key answers to a plan.
func ofPlan(key string) string {
	switch key {
	case "y":
		return "yes: it is carried out, in the mode before"
	case "e":
		return "yes, and files in the folder may be edited without asking"
	}
	return "no, it goes on planning; n and words says what to change"
}

// togglePlan begins plan mode, or ends it: in the mode that was left for it here, if that is known.
func togglePlan(ctx context.Context, v *conversation) error {
	now, err := currentMode(ctx, v)
	switch {
	case err != nil:
		return err
	case now != troupe.ModePlan:
		return setMode(ctx, v, string(troupe.ModePlan))
	}
	return setMode(ctx, v, string(cmp.Or(v.modeBefore, troupe.ModeDefault)))
}

// unanswered says what becomes of a request at its deadline.
func unanswered(r wire.Request) string {
	if r.Server != "" {
		return "declined at "
	}
	switch r.Kind {
	case troupe.RequestQuestion:
		return "the default holds from "
	case troupe.RequestPlan:
		return "not approved at "
	case troupe.RequestPermission, troupe.RequestCost, troupe.RequestBackground, troupe.RequestTool:
	}
	return "denied at "
}

// chosen reads a line as the answer to a question: numbers or labels of its options, or words. What else a line may
// be to a request, such as n, is not taken.
func chosen(q troupe.Question, text, word string) (said troupe.Said, problem string, taken bool) {
	text = strings.TrimSpace(text)
	if label := q.Option(text); label != "" {
		return troupe.Said{Choices: []string{label}}, "", true
	}
	numbers := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", ;", r) })
	if len(numbers) > 0 && strings.Trim(text, "0123456789,; ") == "" {
		said, err := q.Settle(troupe.Said{Choices: numbers})
		if err != nil {
			return said, err.Error(), true
		}
		return said, "", true
	}
	switch {
	case word == "" || word == "v" || word == "?" || word == "n" || word == "no" || hasWord(word, "n") ||
		strings.HasPrefix(word, "/"):
		return said, "", false
	}
	said, err := q.Settle(troupe.Said{Text: unescape(text)})
	if err != nil {
		return said, err.Error(), true
	}
	return said, "", true
}

// tellQuestion notes what was said to the question that is shown. With the last of them the request is answered.
func (m *machine) tellQuestion(ask wire.Request, said troupe.Said, problem string, mark int) ([]act, bool) {
	switch {
	case mark >= 0 && mark < m.mark:
		return []act{lateFor()}, true
	case problem != "":
		return []act{say("%s", problem)}, true
	}
	if m.said = append(m.said, said); len(m.said) < len(ask.Questions) {
		m.mark++
		return []act{{kind: actShow}}, true
	}
	return m.settle(ask, wire.Answer{Allow: true, Answers: m.said}), true
}

func lateFor() act {
	return say("This request came up while you were typing. Answer once more, if that was meant for it.")
}
