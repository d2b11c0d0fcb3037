package troupe

import (
	"fmt"
	"strconv"
	"strings"
)

// Bounds of what a person is asked at once.
const (
	MaxQuestions  = 4
	MinOptions    = 2
	MaxOptions    = 4
	MaxAnswerText = 8000 // bytes of a person's own words to one question
)

// Question is one question of a request of kind RequestQuestion.
type Question struct {
	Header  string   `json:"header"` // one or two words
	Text    string   `json:"question"`
	Options []Option `json:"options"`
	Multi   bool     `json:"multi,omitempty"` // several options may be chosen
	// Default is the label of the option that holds if nobody answers. Named: whoever asked said so; else it is the
	// first one.
	Default string `json:"default"`
	Named   bool   `json:"named,omitempty"`
}

// Option is one of the answers that a question offers.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Said is the answer to one question: options by their labels, a person's own words, or both.
type Said struct {
	Choices []string `json:"choices,omitempty"`
	Text    string   `json:"text,omitempty"`
}

// AskUser is the AskUserQuestion tool's decoded input.
type AskUser struct{ Questions []Question }

func (AskUser) intent() {}

// Option finds an option by its label, by that without regard to case if it is none, or by its number from 1; "" if
// there is none.
func (q Question) Option(name string) string {
	for _, o := range q.Options { // those that a server names may differ in case alone, or begin with a blank
		if o.Label == name {
			return o.Label
		}
	}
	name = strings.TrimSpace(name)
	for _, o := range q.Options {
		if strings.EqualFold(o.Label, name) {
			return o.Label
		}
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1].Label
	}
	return ""
}

// Settle is what a person said to a question, with the labels as the question has them. An error is for people.
func (q Question) Settle(s Said) (Said, error) {
	fail := func(format string, args ...any) (Said, error) {
		return Said{}, &UserError{Problem: fmt.Sprintf(format, args...), Hint: "Its options are " + q.labels() +
			"; words of your own will do as well.", Code: ExitUsage}
	}
	out := Said{Text: strings.TrimSpace(s.Text)}
	if len(out.Text) > MaxAnswerText {
		return fail("the answer to %q has %d bytes, the most is %d", q.Header, len(out.Text), MaxAnswerText)
	}
	seen := make(map[string]bool)
	for _, name := range s.Choices {
		label := q.Option(name)
		if label == "" {
			return fail("%q is no option of the question %q", name, q.Header)
		}
		if !seen[label] {
			out.Choices = append(out.Choices, label)
		}
		seen[label] = true
	}
	switch {
	case len(out.Choices) > 1 && !q.Multi:
		return fail("the question %q takes one option, and %d are chosen", q.Header, len(out.Choices))
	case len(out.Choices) == 0 && out.Text == "":
		return fail("the question %q has no answer", q.Header)
	}
	return out, nil
}

func (q Question) labels() string {
	names := make([]string, len(q.Options))
	for i, o := range q.Options {
		names[i] = fmt.Sprintf("%d %s", i+1, o.Label)
	}
	return strings.Join(names, ", ")
}
