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
		describe(enter, enterDoc, troupe.MainAgent, func() troupe.Intent { return troupe.EnterPlan{} }),
		describe(exit, exitDoc, troupe.Planners, func() troupe.Intent { return troupe.ExitPlan{} }),
	}
}

func describe(name, doc string, holder troupe.Holder, made func() troupe.Intent) tool.Descriptor {
	d := tool.Describe(troupe.ToolFacts{Name: name, Class: troupe.ClassRead, Holder: holder}, doc, nil)
	d.Intent = func(input string) (troupe.Intent, error) {
		if err := tool.Decode(name, input, nil); err != nil {
			return nil, err
		}
		return made(), nil
	}
	return d
}
