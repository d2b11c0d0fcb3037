package app

import (
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// said is what an answer says to the questions of a request, with the labels as these have them. It is an error if
// one has no answer that it takes, or the request asks none.
func (a requests) said(q troupe.Request, ans wire.Answer) ([]troupe.Said, error) {
	asks := q.Kind == troupe.RequestQuestion
	switch {
	case !ans.Allow || !asks && len(ans.Answers) == 0:
		return nil, nil
	case !asks:
		return nil, &troupe.UserError{Problem: fmt.Sprintf("request %s asks for a yes or a no, and no question", q.ID),
			Hint: fmt.Sprintf("Say one: troupe answer %s allow, or deny.", q.ID), Code: troupe.ExitUsage}
	case len(ans.Answers) != len(q.Questions):
		return nil, &troupe.UserError{
			Problem: fmt.Sprintf("request %s asks %s, and %d answered", q.ID, questions(len(q.Questions)),
				len(ans.Answers)),
			Hint: fmt.Sprintf("`troupe requests` shows what can be chosen; troupe answer %s --choice LABEL answers.",
				q.ID),
			Code: troupe.ExitUsage,
		}
	}
	out := make([]troupe.Said, len(q.Questions))
	for i, asked := range q.Questions {
		s := ans.Answers[i]
		s.Text = a.app.Mask(s.Text)
		var err error
		if out[i], err = asked.Settle(s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// modeFor is the mode that an answer to a plan asks for besides its yes.
func modeFor(q troupe.Request, ans wire.Answer) (troupe.Mode, error) {
	if ans.Mode == "" || ans.Allow && q.Kind == troupe.RequestPlan && ans.Mode == troupe.ModeAcceptEdits {
		return ans.Mode, nil
	}
	return "", &troupe.UserError{Problem: fmt.Sprintf("request %s takes no mode %q with its answer", q.ID, ans.Mode),
		Hint: "Only the approval of a plan does, and the mode is acceptEdits.", Code: troupe.ExitUsage}
}

func questions(n int) string {
	if n == 1 {
		return "1 question"
	}
	return fmt.Sprintf("%d questions", n)
}
