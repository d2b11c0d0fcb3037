package gate_test

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
)

// TestClientCalls: a call that a client of the API carries out needs no leave, and is held by rules that name its tool,
// by plan mode, by hooks, and by the sandbox of an agent that only reads.
func TestClientCalls(t *testing.T) {
	t.Parallel()
	tools := gate.NewTools(nil)
	exec, read := troupe.ClassExec, troupe.ClassRead
	for _, c := range []struct {
		mode  troupe.Mode
		class troupe.Class
		bound troupe.Level
		rules string
		want  troupe.Effect
	}{
		{troupe.ModeDefault, exec, "", "", troupe.Allow}, {troupe.ModeAcceptEdits, exec, "", "", troupe.Allow},
		{troupe.ModeAuto, exec, "", "", troupe.Allow}, {troupe.ModeDontAsk, exec, "", "", troupe.Allow},
		{troupe.ModeBypass, exec, "", "", troupe.Allow}, {troupe.ModePlan, exec, "", "", troupe.Deny},
		{troupe.ModePlan, exec, "", "allow:ticket", troupe.Deny}, {troupe.ModePlan, read, "", "", troupe.Allow},
		{troupe.ModeDefault, exec, "", "deny:ticket", troupe.Deny},
		{troupe.ModeDefault, exec, "", "deny:TICKET", troupe.Deny},
		{troupe.ModeDefault, exec, "", "deny:*", troupe.Deny},
		{troupe.ModeDefault, read, "", "deny:ticket", troupe.Deny},
		{troupe.ModeBypass, exec, "", "deny:ticket", troupe.Deny},
		{troupe.ModeDefault, exec, "", "ask:ticket", troupe.Ask},
		{troupe.ModeDontAsk, exec, "", "ask:ticket", troupe.Deny},
		{troupe.ModeDefault, exec, "", "hook:deny", troupe.Deny},
		{troupe.ModeDefault, exec, "", "hook:ask", troupe.Ask},
		{troupe.ModeDefault, exec, "", "deny:other", troupe.Allow},
		{troupe.ModeDefault, exec, troupe.LevelReadOnly, "", troupe.Ask},
		{troupe.ModeBypass, exec, troupe.LevelReadOnly, "", troupe.Ask},
		{troupe.ModeDefault, exec, troupe.LevelReadOnly, "allow:ticket", troupe.Allow},
		{troupe.ModeDefault, read, troupe.LevelReadOnly, "", troupe.Allow},
		{troupe.ModeDefault, exec, troupe.LevelWorkspace, "", troupe.Allow},
	} {
		granted := troupe.Authority{Mode: c.mode}
		var hook *troupe.Judgement
		for _, text := range strings.Fields(c.rules) {
			effect, tool, _ := strings.Cut(text, ":")
			if effect == "hook" {
				hook = &troupe.Judgement{By: "a hook", Effect: troupe.Effect(tool)}
				continue
			}
			granted.Rules = append(granted.Rules, troupe.Rule{Effect: troupe.Effect(effect), Text: tool})
		}
		p := troupe.Profile{Tools: []string{"ticket"}, Sandbox: c.bound}
		d := tools.Decide(gate.Query{Tool: "ticket", Judged: hook, Access: troupe.Access{Class: c.class, Client: true},
			Chain: []gate.Layer{tools.LayerOf("main", p, granted, false, false)}})
		if d.Effect != c.want {
			t.Errorf("%+v: %+v", c, d)
		}
	}
}

// TestClientsOfParents: an agent has a tool of a client, in the background too, if it was born with it and all above it
// have it.
func TestClientsOfParents(t *testing.T) {
	t.Parallel()
	tools := gate.NewTools(nil)
	layer := func(background bool, names ...string) gate.Layer {
		return tools.LayerOf("a", troupe.Profile{Tools: names}, troupe.Authority{Mode: troupe.ModeDefault}, true,
			background)
	}
	with, without := layer(false, "ticket"), layer(false, "Read")
	for _, c := range []struct {
		line []gate.Layer
		want troupe.Effect
	}{
		{[]gate.Layer{with}, troupe.Allow}, {[]gate.Layer{without}, troupe.Deny},
		{[]gate.Layer{with, with}, troupe.Allow}, {[]gate.Layer{with, without}, troupe.Deny},
		{[]gate.Layer{without, with}, troupe.Deny}, {[]gate.Layer{with, without, with}, troupe.Deny},
		{[]gate.Layer{with, layer(true, "ticket")}, troupe.Allow},
		{[]gate.Layer{with, layer(true, "Read")}, troupe.Deny},
	} {
		d := tools.Decide(gate.Query{Tool: "ticket", Access: troupe.Access{Class: troupe.ClassExec, Client: true},
			Chain: c.line})
		if d.Effect != c.want {
			t.Errorf("%d above it: %+v", len(c.line)-1, d)
		}
	}
}
