package gate_test

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
)

// TestServersAreAskedAbout: a call to an MCP server is one that may do anything; no mode but the one that never asks
// allows it, and in an agent that only reads not even that one.
func TestServersAreAskedAbout(t *testing.T) {
	t.Parallel()
	tools := gate.NewTools(nil)
	for _, c := range []struct {
		mode  troupe.Mode
		bound troupe.Level
		rule  string
		want  troupe.Effect
	}{
		{troupe.ModeDefault, "", "", troupe.Ask}, {troupe.ModeAcceptEdits, "", "", troupe.Ask},
		{troupe.ModeDontAsk, "", "", troupe.Deny}, {troupe.ModePlan, "", "mcp__a", troupe.Deny},
		{troupe.ModeBypass, "", "", troupe.Allow}, {troupe.ModeBypass, troupe.LevelWorkspace, "", troupe.Allow},
		{troupe.ModeBypass, troupe.LevelReadOnly, "", troupe.Ask},
		{troupe.ModeBypass, troupe.LevelReadOnly, "mcp__a__b", troupe.Allow},
		{troupe.ModeDefault, troupe.LevelReadOnly, "mcp__a", troupe.Ask},
		{troupe.ModeDefault, troupe.LevelReadOnly, "mcp__a__*", troupe.Ask},
		{troupe.ModeDefault, troupe.LevelReadOnly, "mcp__a mcp__a__b", troupe.Allow},
		{troupe.ModeDefault, troupe.LevelReadOnly, "hook", troupe.Ask},
		{troupe.ModeDefault, "", "hook", troupe.Allow},
		{troupe.ModeDefault, "", "mcp__a", troupe.Allow}, {troupe.ModeDefault, "", "mcp__a__*", troupe.Allow},
		{troupe.ModeDefault, "", "mcp__a__b", troupe.Allow}, {troupe.ModeDefault, "", "mcp__a__c", troupe.Ask},
		{troupe.ModeDefault, "", "mcp__*", troupe.Ask}, {troupe.ModeDefault, "", "mcp__A", troupe.Ask},
		{troupe.ModeDefault, "", "mcp__a_", troupe.Ask},
	} {
		granted := troupe.Authority{Mode: c.mode}
		var hook *troupe.Judgement
		for _, text := range strings.Fields(c.rule) {
			if text == "hook" {
				hook = &troupe.Judgement{By: "a hook", Effect: troupe.Allow}
				continue
			}
			granted.Rules = append(granted.Rules, troupe.Rule{Effect: troupe.Allow, Text: text})
		}
		p := troupe.Profile{Tools: []string{"mcp__a__b"}, Sandbox: c.bound}
		d := tools.Decide(gate.Query{Tool: "mcp__a__b", Judged: hook, Access: troupe.Access{Class: troupe.ClassExec},
			Chain: []gate.Layer{tools.LayerOf("main", p, granted, false, false)}})
		if d.Effect != c.want {
			t.Errorf("%+v: %+v", c, d)
		}
	}
}
