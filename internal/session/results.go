package session

import (
	"cmp"

	"github.com/troupe-dev/troupe"
)

// after lists the calls with a result that hooks are to be told of before the model is: those that the session carries
// out itself, and commands that were begun in the background. Hooks of all others are told before there is a result in
// the log, which theirs may not wait for: an agent's end is one transaction with what tells its parent.
func (hk *hooking) after() (out []int) {
	h := hooksOf(hk.a.tree)
	if h == nil {
		return nil
	}
	for i := range hk.a.st.Calls {
		c := &hk.a.st.Calls[i]
		result, _ := c.Result()
		if result == nil || result.Denied != nil || hk.told[troupe.Coord{Reply: c.Reply, Call: c.Index}] {
			continue
		}
		if t, ok := toolsOf(hk.a, &hk.a.st.Profile).Find(c.Name); !ok || t.Intent == nil && result.Task == nil {
			continue
		}
		if h.Due(hk.ofResult(i)) {
			out = append(out, i)
		}
	}
	return out
}

// ofResult is what hooks are told of a result.
func (hk *hooking) ofResult(i int) troupe.HookMoment {
	c := &hk.a.st.Calls[i]
	result, took := c.Result()
	event := troupe.HookPostToolUse
	if result.Result.IsError {
		event = troupe.HookPostFailure
	}
	// No more of the session is looked at than this takes: it is asked before each step.
	at := candidate{call: *c, snapshot: &snapshot{h: hk.a.h, tree: hk.a.tree, self: hk.a.st.Session}}
	// which looks at nothing but the input
	if t, ok := toolsOf(hk.a, &hk.a.st.Profile).Find(c.Name); ok && t.Intent != nil {
		if a, err := t.Access(at.env(), c.Input); err == nil {
			at.access = &a
		}
	}
	m := at.ofCall(event, c.Call, at.access)
	m.Fields = resultFields(troupe.JoinText(result.Result.Blocks), result.Result.IsError, took.Milliseconds())
	return m
}

// resultFields is what hooks are told of what came of a call.
func resultFields(text string, failed bool, ms int64) map[string]any {
	out := map[string]any{"tool_response": map[string]any{"content": text, "is_error": failed}, "duration_ms": ms}
	if failed {
		out["error"] = text
	}
	return out
}

// afterResults logs what hooks say about results that are in the log already, and tells the model before its next
// reply.
func (hk *hooking) afterResults(in inMoment) error {
	if hk.told == nil {
		hk.told = map[troupe.Coord]bool{}
	}
	for n, i := range in.calls {
		c, said := &hk.a.st.Calls[i], in.said[n]
		at := troupe.Coord{Reply: c.Reply, Call: c.Index}
		hk.told[at] = true // whatever the log says of it: a hook that left nothing is not asked again and again
		for r := range said.Ran {
			said.Ran[r].Coord = &at
		}
		if err := hk.a.noteHooks(said.Ran); err != nil {
			return err
		}
		text := ""
		if said.Effect == troupe.Deny {
			text = said.By + " objects to what the call of " + c.Name + " did: " +
				cmp.Or(said.Why, "it gives no reason")
		}
		if said.Context != "" {
			if text != "" {
				text += "\n\n"
			}
			text += "Of the call of " + c.Name + ": " + fromHooks(said.Context)
		}
		if err := hk.notice(said, text); err != nil {
			return err
		}
	}
	return nil
}
