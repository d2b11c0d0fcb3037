package hook

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/troupe-dev/troupe"
)

// payloadOf is what a hook is told. There is no file with a session's transcript, so none is named.
func payloadOf(m troupe.HookMoment) map[string]any {
	out := map[string]any{
		"hook_event_name": m.Event,
		// The conversation is the tree; who of it this is about is said beside it, always.
		"session_id": m.Session.Root, "agent_id": m.Session.ID, "agent_type": m.Session.Type,
		"agent_name": nameOf(m), "agent_path": m.Path, "cwd": m.Session.Dir(), "permission_mode": m.Mode,
	}
	if c := m.Call; c != nil {
		out["tool_name"] = c.Name
		out["tool_use_id"] = fmt.Sprintf("%s/r%dc%d", m.Session.ID, c.Reply, c.Index)
		out["tool_input"] = c.Input
		if json.Valid([]byte(c.Input)) {
			out["tool_input"] = json.RawMessage(c.Input)
		}
	}
	maps.Copy(out, m.Fields)
	return out
}

func nameOf(m troupe.HookMoment) string {
	if m.Session.Name == "" {
		return "main"
	}
	return m.Session.Name
}
