package troupe_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestOptionsAlikeButForCase: a label is found as it is written before it is found without regard to case.
func TestOptionsAlikeButForCase(t *testing.T) {
	t.Parallel()
	q := troupe.Question{Header: "h", Options: []troupe.Option{{Label: "A"}, {Label: "a"}, {Label: " b"}, {Label: "b"}}}
	for in, want := range map[string]string{"A": "A", "a": "a", " b": " b", "b": "b", "B": "b", " a ": "A", "2": "a"} {
		if got := q.Option(in); got != want {
			t.Errorf("%q is the option %q, want %q", in, got, want)
		}
	}
}

// FuzzSettle: what is taken as an answer chooses labels of the question, each once and one unless it takes several, or
// says something within bounds; taking it twice changes nothing, and what is written as a label has is that option.
func FuzzSettle(f *testing.F) {
	f.Add("red\ngreen\nblue", "Red\n3\nred", "words", true)
	f.Add("red\ngreen", "1\n2", "", false)
	f.Add("A\na", "a", "", false)
	f.Add("2\n1", "1", " \n ", false)
	f.Add("s\nſ\nK\nk", "ſ\nk", "", true)
	f.Add("red", "", strings.Repeat("x", troupe.MaxAnswerText+1), true)
	f.Fuzz(func(t *testing.T, labels, choices, text string, multi bool) {
		q := troupe.Question{Header: "h", Text: "q", Multi: multi}
		names := strings.Split(labels, "\n")
		for _, l := range names {
			q.Options = append(q.Options, troupe.Option{Label: l})
		}
		said := troupe.Said{Text: text}
		if choices != "" {
			said.Choices = strings.Split(choices, "\n")
		}
		got, err := q.Settle(said)
		if err != nil {
			var ue *troupe.UserError
			if !errors.As(err, &ue) || ue.Hint == "" || len(got.Choices) > 0 || got.Text != "" {
				t.Fatalf("%v beside %+v", err, got)
			}
			return
		}
		for i, c := range got.Choices {
			if !slices.Contains(names, c) || slices.Contains(got.Choices[:i], c) {
				t.Fatalf("%q of %q is no label, or chosen twice", c, got.Choices)
			}
		}
		for _, c := range said.Choices {
			if c != "" && slices.Contains(names, c) && !slices.Contains(got.Choices, c) {
				t.Fatalf("%q is a label, and %q was chosen", c, got.Choices)
			}
		}
		if len(got.Choices) > 1 && !multi || len(got.Choices) == 0 && got.Text == "" ||
			len(got.Text) > troupe.MaxAnswerText || len(got.Choices) > len(said.Choices) {
			t.Fatalf("taken: %+v", got)
		}
		again, err := q.Settle(got)
		if err != nil || !slices.Equal(again.Choices, got.Choices) || again.Text != got.Text {
			t.Fatalf("%+v becomes %+v, %v", got, again, err)
		}
	})
}
