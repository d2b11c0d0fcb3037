package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/command"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// PlanOf is the file that the last session of a chain writes its plan to; "" if it does not plan.
func PlanOf(chain []Layer) string {
	if n := len(chain); n > 0 && chain[n-1].Mode == troupe.ModePlan {
		return chain[n-1].Plan
	}
	return ""
}

// writesPlan: all that the call does is to write the plan of the session that calls. A command never is that,
// whatever it names: what else it does cannot be told.
func writesPlan(c *call) bool {
	return c.plan != "" && !c.isCommand() && c.url == "" && c.class == troupe.ClassEdit && len(c.paths) > 0 &&
		!c.unclear && !slices.ContainsFunc(c.paths, func(p callPath) bool { return p.name != c.plan })
}

// dangerous: an allow rule that leaves open what is run by it: every command, an interpreter with whatever text, every
// type of agent. It does not count while anyone in the line plans or is in mode auto.
func dangerous(r *rule.Rule) bool {
	if r.Facts == nil {
		return false
	}
	switch r.Facts.Argument {
	case troupe.CommandArgument:
		if r.Kind == rule.KindTool {
			return true
		}
		if r.Kind != rule.KindCommand || r.Words.Exact() {
			return false
		}
		words := strings.Fields(r.Words.Lits[0])
		return len(words) == 0 || interprets(path.Base(words[0]))
	case troupe.AgentArgument:
		return r.Kind == rule.KindTool
	default:
		return false
	}
}

// interprets: the program runs a text or another program of the caller's choice.
func interprets(name string) bool {
	return command.Interprets(name) || command.RunsPackages(name) || command.StartsOthers(name) ||
		command.ChangesShell(name) || command.RunsText(name)
}
