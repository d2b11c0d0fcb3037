package app

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// byNobody stands in the log for an answer that a deadline gave.
const byNobody = "nobody"

// carried is what an answer says came of a call that a client carries out. It is an error if the request asks for that
// and the answer does not say it, or the other way round.
func (a requests) carried(q troupe.Request, ans wire.Answer, effect troupe.Effect) (*troupe.Carried, troupe.Effect,
	error) {
	wrong := func(problem, hint string) (*troupe.Carried, troupe.Effect, error) {
		return nil, effect, &troupe.UserError{Problem: problem, Hint: hint, Code: troupe.ExitUsage}
	}
	const how = `{"allow": true, "result": {"text": "…"}} says what came of it, {"allow": false, "note": "…"} that nothing did`
	switch asks := q.Kind == troupe.RequestTool; {
	case !asks && ans.Result == nil, asks && ans.Result == nil && !ans.Allow:
		return nil, effect, nil
	case !asks:
		return wrong(fmt.Sprintf("request %s asks for no result of a tool", q.ID),
			"A result answers requests of kind tool.")
	case ans.Result == nil:
		return wrong(fmt.Sprintf("request %s asks what came of the call, and the answer does not say it", q.ID),
			"In the API "+how+"; on the command line: troupe answer "+string(q.ID)+" --text RESULT, or deny.")
	case len(ans.Result.Text) > troupe.MaxCarried:
		return wrong(fmt.Sprintf("the result has %d bytes, the most is %d", len(ans.Result.Text), troupe.MaxCarried),
			"Answer with what matters of it, and where the rest is.")
	}
	return &troupe.Carried{Text: a.app.Mask(ans.Result.Text), IsError: ans.Result.IsError}, troupe.Allow, nil
}

// inTime refuses an answer that comes after the deadline of a call that a client carries out, whoever has noticed that
// it has passed. For a session that was put away no time passes.
func (a requests) inTime(r store.Reader, q troupe.Request) error {
	s, err := r.Session(q.Session)
	if err != nil {
		return fmt.Errorf("read session %s: %w", q.Session, err)
	}
	if !s.AsleepAt.IsZero() || a.app.env.Now().Before(q.Until) {
		return nil
	}
	return tooLate(q)
}

func tooLate(q troupe.Request) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("request %s is over: the time to carry out %s passed at %s", q.ID, q.Tool,
			q.Until.UTC().Format(time.RFC3339)),
		Hint: "The agent is told that there was no answer in time. The deadline of a tool is chosen when the session " +
			"begins.",
	}
}

// again is what an answer to a request that is not open any more comes to: nothing, if it was given with the same key
// before. missing is the error where nothing more is known.
func (a requests) again(r store.Reader, id string, ans wire.Answer, missing error) error {
	rows, err := r.Requests(store.RequestFilter{IDPrefix: id})
	i := slices.IndexFunc(rows, func(q troupe.Request) bool { return string(q.ID) == id })
	if err != nil || i < 0 {
		return missing
	}
	q, said := rows[i], rows[i].Answer
	if q.Settled.IsZero() { // its answer is on the way
		mail, err := r.Unread(q.Session)
		if err != nil {
			return fmt.Errorf("read the mail of session %s: %w", q.Session, err)
		}
		for _, m := range mail {
			if m.ID == troupe.AnswerMailID(q.ID) {
				said = m.Answer
			}
		}
	}
	switch {
	case said != nil && ans.Once != "" && said.Once == a.caller.Key(ans.Once):
		return nil
	case q.Kind != troupe.RequestTool:
		return missing
	case said == nil:
		return &troupe.UserError{Problem: fmt.Sprintf("request %s is over: its run was stopped", q.ID),
			Hint: "There is nothing to answer."}
	case said.By == byNobody && !q.Settled.Before(q.Until):
		return tooLate(q)
	}
	return &troupe.UserError{Problem: fmt.Sprintf("request %s was answered by %s", q.ID, said.By),
		Hint: "The first answer counts. One that is sent again takes the same idempotency_key."}
}
