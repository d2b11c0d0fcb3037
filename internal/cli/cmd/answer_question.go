package cmd

import (
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// picked is what --choice and --text say, as they were given.
type picked struct{ choices, texts []string }

func (p picked) any() bool { return len(p.choices)+len(p.texts) > 0 }

// answers sorts what was given by the questions of a request. Where there are several, each value begins with the
// header or the number of its question.
func (p picked) answers(r wire.Request) ([]troupe.Said, error) {
	if len(r.Questions) == 0 {
		return nil, &troupe.UserError{Problem: fmt.Sprintf("request %s asks for a yes or a no, and no question", r.ID),
			Hint: fmt.Sprintf("Say one: troupe answer %s allow, or deny.", r.ID), Code: troupe.ExitUsage}
	}
	out := make([]troupe.Said, len(r.Questions))
	for _, value := range p.choices {
		i, value, err := questionFor(r, "--choice", value)
		if err != nil {
			return nil, err
		}
		out[i].Choices = append(out[i].Choices, value)
	}
	for _, value := range p.texts {
		i, value, err := questionFor(r, "--text", value)
		if err != nil {
			return nil, err
		}
		if out[i].Text != "" {
			out[i].Text += "\n"
		}
		out[i].Text += value
	}
	for i, q := range r.Questions {
		if _, err := q.Settle(out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func questionFor(r wire.Request, flag, value string) (int, string, error) {
	if len(r.Questions) == 1 {
		return 0, value, nil
	}
	of, rest, ok := strings.Cut(value, "=")
	for i, q := range r.Questions {
		if of = strings.TrimSpace(of); ok && (strings.EqualFold(of, q.Header) || of == fmt.Sprint(i+1)) {
			return i, rest, nil
		}
	}
	var headers []string
	for _, q := range r.Questions {
		headers = append(headers, q.Header)
	}
	return 0, "", &troupe.UserError{
		Problem: fmt.Sprintf("%s %q does not say which question it answers", flag, value),
		Hint: fmt.Sprintf("%s asks %d questions: write QUESTION=ANSWER, where QUESTION is one of: %s.", r.ID,
			len(r.Questions), strings.Join(headers, ", ")),
		Code: troupe.ExitUsage,
	}
}
