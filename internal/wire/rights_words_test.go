package wire

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestDemandsNameWhatTakesThem: what needs the right admin says which part of it does.
func TestDemandsNameWhatTakesThem(t *testing.T) {
	t.Parallel()
	var agents Begin
	agents.Agents = "{}"
	for want, d := range map[string]Demand{
		"--agents,":                  agents.Needs(),
		"--model script:x.yaml,":     Begin{Model: "script:x.yaml"}.Needs(),
		"--fallback-model script/a,": Begin{Fallback: "script/a"}.Needs(),
		"to trust a folder":          Begin{Permissions: Permissions{Trust: true}}.Needs(),
		"the mode bypassPermissions": ModeChoice{Mode: string(troupe.ModeBypass)}.Needs(),
		"the rule Edit(/etc/**),":    Permissions{Allow: []string{"Read", "Edit(/etc/**)"}}.Needs(),
		"--model script:y,":          Place{Model: "script:y"}.Needs(),
		"the answer \"always\",":     Answer{Allow: true, Always: true}.Needs(),
	} {
		if d.Right != troupe.RightAdmin || !strings.HasPrefix(d.What, want) {
			t.Errorf("%q, want %q (%s)", d.What, want, d.Right)
		}
	}
	if d := (Begin{Model: "sonnet", Permissions: Permissions{Allow: []string{"Edit"}}}).Needs(); d != (Demand{}) {
		t.Errorf("%+v", d)
	}
}
