// Package plan holds EnterPlanMode and ExitPlanMode. Both are intents: the session's driver changes the mode, reads the
// plan and puts it before a person.
package plan

import (
	_ "embed"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

const (
	enter = "EnterPlanMode"
	exit  = "ExitPlanMode"
)

//go:embed enter.md
var enterDoc string

//go:embed exit.md
var exitDoc string

// Tools returns EnterPlanMode and ExitPlanMode.
func Tools() []tool.Descriptor {
	return []tool.Descriptor{
		describe(enter, enterDoc, troupe.MainAgent, func(input string) (troupe.Intent, error) {
			return troupe.EnterPlan{}, tool.Decode(enter, input, nil)
		}),
		// Models that learned the tool elsewhere send the plan along, so that it is taken and not advertised: what is
		// written to the file can be read and corrected before.
		describe(exit, exitDoc, troupe.Planners, func(input string) (troupe.Intent, error) {
			var in troupe.ExitPlan
			err := tool.Decode(exit, input, []tool.Field{{Name: "plan", String: &in.Plan}})
			return in, err
		}),
	}
}

func describe(name, doc string, holder troupe.Holder, decode func(string) (troupe.Intent, error)) tool.Descriptor {
	d := tool.Describe(troupe.ToolFacts{Name: name, Class: troupe.ClassRead, Holder: holder}, doc, nil)
	d.Intent = func(input string) (troupe.Intent, error) {
		in, err := decode(input)
		if err != nil {
			return nil, err
		}
		return in, nil
	}
	return d
}
