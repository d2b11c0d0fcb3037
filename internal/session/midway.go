package session

import (
	"context"
	"errors"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// midway is a question that a server asks in the middle of a call. Whoever runs the call waits for the answer; it is
// told once the log has it. A process that ends takes the question with it: the call was interrupted.
type midway struct {
	server string
	list   []troupe.Question
	id     troupe.RequestID
	answer *troupe.Answer // when it is settled
	told   chan troupe.Answer
}

var errNotAsked = errors.New("the session is being left; nothing can be asked")

// questionOf is tool.Env.Question for a call that a job runs.
func (rs *requests) questionOf(i int, job *job) func(context.Context, string, []troupe.Question) (troupe.Answer,
	error) {
	a := rs.a
	return func(ctx context.Context, server string, list []troupe.Question) (troupe.Answer, error) {
		q := &midway{server: server, list: list, told: make(chan troupe.Answer, 1)}
		if !a.post(inMidway{i, job, q}) {
			return troupe.Answer{}, errNotAsked
		}
		select {
		case ans := <-q.told:
			return ans, nil
		case <-ctx.Done():
			return troupe.Answer{}, ctx.Err()
		}
	}
}

// askMidway puts the question to a person. Nothing but a person's answer accepts it.
func (rs *requests) askMidway(in inMidway) error {
	refuse := func(why string) error {
		in.told <- troupe.Answer{By: byRuntime, Effect: troupe.Deny, Note: why}
		return nil
	}
	switch {
	case rs.a.calls.working[in.call] != in.job:
		return refuse("the call is over")
	case rs.a.tree.settings().AskFor <= 0:
		return refuse("this run cannot ask a person (troupe -p can with --ask)")
	case rs.midway[in.call] != nil:
		return refuse("another question of this call is open")
	case rs.a.st.Calls[in.call].Stage != turn.CallStarted:
		// The log does not know yet that it runs, so that it has no place for a question of it.
		return refuse("a tool that only reads cannot ask in the middle of a call")
	}
	if rs.midway == nil {
		rs.midway = make(map[int]*midway)
	}
	in.id = rs.a.st.NextRequest(in.call)
	rs.midway[in.call] = in.midway
	return rs.openRequest(in.call, troupe.RequestBody{
		Kind: troupe.RequestQuestion, Reason: troupe.WaitQuestion, Questions: in.list, Server: in.server,
		Decision: troupe.Decision{Effect: troupe.Ask, Step: stepOfAgent, Why: "the MCP server " + in.server +
			" asks it, and gets what you answer; its words were not checked"},
		Action: renderQuestions(in.list),
	})
}

// tellMidway hands over the answers that the log has, and forgets the questions of calls that are over.
func (rs *requests) tellMidway() {
	for i, q := range rs.midway {
		switch {
		case q.answer != nil:
			q.told <- *q.answer
			delete(rs.midway, i)
		case i >= len(rs.a.st.Calls) || rs.a.st.Calls[i].Request == nil || rs.a.st.Calls[i].Request.ID != q.id:
			delete(rs.midway, i)
		}
	}
}
