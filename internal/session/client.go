package session

import (
	"encoding/json"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// askClient has a client of the API carry a call out, or gives the call its result once there is an answer, or no time
// left for one. It waits as a question does: in the log, so that any process goes on with it.
func (rs *requests) askClient(i int, t tool.Descriptor, in troupe.AskClient) error {
	c := rs.a.st.Calls[i]
	if ans, ok := rs.ofAgent(c); ok {
		text, isError := turn.RenderCarried(c.Asked, ans, ans.By == byRuntime)
		return rs.a.stage(resultOf(c, text, isError))
	}
	whole := func() string { return c.Name + " " + string(in.Input) }
	_, settled, err := rs.a.calls.judgeIntent(i, t.Intended(in), whole)
	if err != nil || settled {
		return err
	}
	if rs.a.h.d.Replay != nil { // of a call that was answered the recording has the answer
		text, isError := turn.RenderCarried(nil, troupe.Answer{Note: "the recording has no answer"}, true)
		return rs.a.stage(resultOf(c, text, isError))
	}
	return rs.openRequest(i, troupe.RequestBody{
		Kind: troupe.RequestTool, Reason: troupe.WaitQuestion, Input: in.Input, Action: whole(),
		Until: rs.a.h.d.Now().Add(in.Deadline),
		Decision: troupe.Decision{Effect: troupe.Ask, Step: stepOfAgent,
			Why: "the client that began the session carries this tool out, and answers with what came of it"},
	})
}

// withoutClients takes tools from a child that its parent does not have, of those that a client carries out.
func withoutClients(p *troupe.Profile, parent *troupe.Profile, tools tool.Set) {
	var out []string
	for _, name := range p.Tools {
		if t, ok := tools.Find(name); !ok || !t.Client || slices.Contains(parent.Tools, name) {
			out = append(out, name)
		}
	}
	p.Tools = out
}

// scheduleOf says how calls of a tool may be arranged, also of one that only this tree has.
func scheduleOf(a *actor) func(name string) troupe.Schedule {
	return func(name string) troupe.Schedule {
		if t, known := a.h.d.Tools.Find(name); known {
			return t.Schedule
		}
		return toolsOf(a, &a.st.Profile).Schedule(name)
	}
}

// maskedJSON is a JSON value without secrets: where it is none any more, as a text.
func maskedJSON(mask func(string) string, value json.RawMessage) json.RawMessage {
	text := mask(string(value))
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	out, err := json.Marshal(text)
	if err != nil {
		return nil // a text always can be
	}
	return out
}
