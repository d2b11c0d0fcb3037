// Package question is the AskUserQuestion tool: an intent. It only decodes a call into the questions; the session's
// driver asks them, and answers the call when a person has, or nobody did in time.
package question

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

const name = "AskUserQuestion"

//go:embed ask.md
var doc string

const (
	maxHeader = 60
	maxText   = 2000
	maxLabel  = 100
	maxWords  = 500 // of what an option means
)

// fields reads the questions into in, one after the other.
func fields(in *[]troupe.Question) []tool.Field {
	return []tool.Field{{
		Name: "questions", Required: true, Min: 1, Max: troupe.MaxQuestions,
		Objects: func() []tool.Field {
			*in = append(*in, troupe.Question{})
			return ofQuestion(&(*in)[len(*in)-1])
		},
	}}
}

func ofQuestion(q *troupe.Question) []tool.Field {
	return []tool.Field{
		{Name: "question", String: &q.Text, Required: true, NotEmpty: true, MaxBytes: maxText},
		{Name: "header", String: &q.Header, Doc: "one or two words", Required: true, NotEmpty: true,
			MaxBytes: maxHeader},
		{Name: "options", Required: true, Min: troupe.MinOptions, Max: troupe.MaxOptions,
			Objects: func() []tool.Field {
				q.Options = append(q.Options, troupe.Option{})
				o := &q.Options[len(q.Options)-1]
				return []tool.Field{
					{Name: "label", String: &o.Label, Required: true, NotEmpty: true, MaxBytes: maxLabel},
					{Name: "description", String: &o.Description, Doc: "what it means, what it costs",
						MaxBytes: maxWords},
				}
			}},
		{Name: "multiSelect", Also: "multi_select", Bool: &q.Multi},
		{Name: "default", String: &q.Default, Doc: "a label; else the first option's", MaxBytes: maxLabel},
	}
}

// Tools returns AskUserQuestion.
func Tools() []tool.Descriptor {
	d := tool.Describe(troupe.ToolFacts{
		Name: name, Class: troupe.ClassRead, Holder: troupe.NamedAgents,
		Misspellings: []string{"askuser", "askquestion", "askuserquestions"},
	}, doc, fields(new([]troupe.Question)))
	d.Intent = func(input string) (troupe.Intent, error) { return decode(input) }
	return []tool.Descriptor{d}
}

func decode(input string) (troupe.AskUser, error) {
	var in troupe.AskUser
	if err := tool.Decode(name, input, fields(&in.Questions)); err != nil {
		return troupe.AskUser{}, err
	}
	for i := range in.Questions {
		if why := settle(&in.Questions[i]); why != "" {
			return troupe.AskUser{}, &tool.InputError{Tool: name,
				Problem: fmt.Sprintf("item %d of `questions`: %s", i+1, why)}
		}
	}
	return in, nil
}

// settle puts a question in order. It says what is wrong with it; "" if nothing is.
func settle(q *troupe.Question) string {
	q.Header, q.Text = line(q.Header), strings.TrimSpace(q.Text)
	labels := make(map[string]bool, len(q.Options))
	for i := range q.Options {
		o := &q.Options[i]
		o.Label, o.Description = line(o.Label), line(o.Description)
		key := strings.ToLower(o.Label)
		if labels[key] {
			return fmt.Sprintf("two options have the label %q", o.Label)
		}
		labels[key] = true
	}
	if q.Named = line(q.Default) != ""; !q.Named {
		q.Default = q.Options[0].Label
		return ""
	}
	label := q.Option(line(q.Default))
	if label == "" {
		return "`default` must be the label of one of its options"
	}
	q.Default = label
	return ""
}

// line is a text on one line: it stands in a list.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }
