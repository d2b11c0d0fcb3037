package turn

import (
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
)

// RenderSaid is how the answer to questions appears to the agent that asked. A person's own words are marked as such,
// and cannot look like the runtime's. With nobody, no person has answered: the defaults hold.
func RenderSaid(asked []troupe.Question, ans troupe.Answer, nobody bool) string {
	var b strings.Builder
	switch {
	case nobody:
		fmt.Fprintf(&b, "There was no answer: %s. The defaults hold:\n", value(ans.Note, maxError))
		for _, q := range asked {
			from := "your first option"
			if q.Named {
				from = "which you named as the default"
			}
			fmt.Fprintf(&b, "- %s: %s (%s)\n", value(q.Header, maxValue), value(q.Default, maxValue), from)
		}
		b.WriteString("Go on with them, and say in your answer what you have assumed.")
		return b.String()
	case ans.Effect != troupe.Allow:
		b.WriteString("The user does not want to answer this")
		if ans.Note != "" {
			b.WriteString(", and said:\n" + troupe.Quote("user-answer", ans.Note))
		}
		b.WriteString(".\nDecide it yourself as carefully as you can, or leave out what depends on it.")
		return b.String()
	}
	b.WriteString("The user answered:\n")
	for i, q := range asked {
		var s troupe.Said
		if i < len(ans.Said) {
			s = ans.Said[i]
		}
		fmt.Fprintf(&b, "- %s:", value(q.Header, maxValue))
		if len(s.Choices) > 0 {
			b.WriteString(" " + value(strings.Join(s.Choices, "; "), maxError))
		}
		b.WriteByte('\n')
		if s.Text != "" {
			b.WriteString(troupe.Quote("user-answer", s.Text) + "\n")
		}
	}
	if ans.Note != "" {
		b.WriteString("They also said:\n" + troupe.Quote("user-answer", ans.Note) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
