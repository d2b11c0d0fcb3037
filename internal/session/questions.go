package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// askUser puts questions to a person, or gives their call its result once there is an answer, or nobody who could
// give one. What was asked is not judged again: it changes nothing, and its answer is heard.
func (rs *requests) askUser(i int, t tool.Descriptor, in troupe.AskUser) error {
	c := rs.a.st.Calls[i]
	if ans, ok := rs.ofAgent(c); ok {
		return rs.a.stage(resultOf(c, turn.RenderSaid(in.Questions, ans, ans.By == byRuntime), false))
	}
	_, settled, err := rs.a.calls.judgeIntent(i, t.Intended(in), func() string { return c.Name + " " + c.Input })
	if err != nil || settled {
		return err
	}
	if rs.a.tree.settings().AskFor <= 0 {
		nobody := troupe.Answer{Effect: troupe.Deny, Note: "this run cannot ask a person (troupe -p can with --ask)"}
		return rs.a.stage(resultOf(c, turn.RenderSaid(in.Questions, nobody, true), false))
	}
	return rs.openRequest(i, troupe.RequestBody{
		Kind: troupe.RequestQuestion, Reason: troupe.WaitQuestion, Questions: in.Questions,
		Decision: troupe.Decision{Effect: troupe.Ask, Step: stepOfAgent, Why: whyAsked(len(in.Questions))},
		Action:   renderQuestions(in.Questions),
	})
}

func whyAsked(n int) string {
	if n == 1 {
		return "it is for you to decide"
	}
	return fmt.Sprintf("these %d things are for you to decide", n)
}

// ofAgent is the answer to what the call itself puts to a person, if there is one: in the log, or in the recording
// that is played.
func (rs *requests) ofAgent(c turn.Call) (troupe.Answer, bool) {
	if c.Asked != nil && c.Asked.Kind.OfAgent() && c.Answer != nil {
		return *c.Answer, true
	}
	if r := rs.a.h.d.Replay; r != nil {
		return r.Answer(rs.a.id, troupe.Coord{Reply: c.Reply, Call: c.Index})
	}
	return troupe.Answer{}, false
}

// renderQuestions is what is asked as text, for surfaces that show nothing else.
func renderQuestions(list []troupe.Question) string {
	var b strings.Builder
	for i, q := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s\n", q.Header, q.Text)
		for n, o := range q.Options {
			fmt.Fprintf(&b, "  %d  %s", n+1, o.Label)
			if o.Description != "" {
				b.WriteString(" - " + o.Description)
			}
			if o.Label == q.Default {
				b.WriteString(" (the default)")
			}
			b.WriteByte('\n')
		}
		if q.Multi {
			b.WriteString("  several may be chosen\n")
		}
	}
	return b.String()
}

// maskQuestions takes secrets out of what a person is asked.
func (h *Hub) maskQuestions(list []troupe.Question) []troupe.Question {
	list = slices.Clone(list)
	for i := range list {
		q := &list[i]
		q.Header, q.Text, q.Default = h.d.Mask(q.Header), h.d.Mask(q.Text), h.d.Mask(q.Default)
		q.Options = slices.Clone(q.Options)
		for n := range q.Options {
			q.Options[n] = troupe.Option{Label: h.d.Mask(q.Options[n].Label),
				Description: h.d.Mask(q.Options[n].Description)}
		}
	}
	return list
}
