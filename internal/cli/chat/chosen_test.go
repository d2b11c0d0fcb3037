package chat

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// FuzzChosen: a line that is taken as the answer to a question is one that the question takes, or the person is told
// what is wrong with it; a line that is something else, such as no, a command or nothing, answers nothing.
func FuzzChosen(f *testing.F) {
	for _, line := range []string{"1", "2, 3", "red", " RED ", "n", "no", "n not that", "/stop", "?", "v", "", "7",
		"1,9", "my own words", `\/etc`, ", ;", "1 1 2", "99999999999999999999"} {
		f.Add("red\ngreen\nn", line, true)
		f.Add("red\ngreen", line, false)
	}
	f.Fuzz(func(t *testing.T, labels, line string, multi bool) {
		q := troupe.Question{Header: "h", Text: "q", Multi: multi}
		names := strings.Split(labels, "\n")
		for _, l := range names {
			q.Options = append(q.Options, troupe.Option{Label: l})
		}
		word := strings.ToLower(strings.TrimSpace(line))
		said, problem, taken := chosen(q, line, word)
		other := word == "" || word == "n" || word == "no" || word == "?" || strings.HasPrefix(word, "/")
		if taken && other && q.Option(line) == "" {
			t.Fatalf("%q is taken as an answer: %+v, %q", line, said, problem)
		}
		empty := len(said.Choices) == 0 && said.Text == ""
		switch {
		case !taken || problem != "":
			if !empty || !taken && problem != "" {
				t.Fatalf("%q: %+v, %q, %v", line, said, problem, taken)
			}
			return
		case empty:
			t.Fatalf("%q is taken as an answer that says nothing", line)
		}
		again, err := q.Settle(said)
		if err != nil || !slices.Equal(again.Choices, said.Choices) || again.Text != said.Text {
			t.Fatalf("%q is taken as %+v, which the question takes as %+v, %v", line, said, again, err)
		}
	})
}
