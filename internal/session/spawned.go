package session

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// describeSpawn says all that an Agent call asks for: who says yes to it says yes to that. Each part is on a line that
// no other part can make, and the task comes last.
func describeSpawn(sp troupe.Spawn) string {
	var b strings.Builder
	part := func(what, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", what, troupe.VisibleLine(value))
		}
	}
	yes := func(what string, wanted bool) {
		if wanted {
			fmt.Fprintln(&b, what)
		}
	}
	part("start an agent of type "+troupe.VisibleLine(sp.Type), sp.Description)
	part("name", sp.Name)
	part("team", sp.Team)
	part("model", sp.Model)
	part("effort", string(sp.Effort))
	if sp.MaxTurns > 0 {
		part("turns", strconv.Itoa(sp.MaxTurns)+" at most")
	}
	if sp.Tools != nil {
		part("tools", "these alone: "+strings.Join(sp.Tools, ", "))
	}
	part("without", strings.Join(sp.Without, ", "))
	part("capabilities", strings.Join(sp.Subagent.Capabilities, ", "))
	if sp.Writes != nil {
		part("writes", "these files alone: "+strings.Join(sp.Writes, ", "))
	}
	part("folder", string(sp.Workspace))
	part("merge", string(sp.Merge))
	part("schema of its result", sp.Schema)
	yes("in the background", sp.Background)
	yes("checked by another agent before its result counts", sp.Verify)
	if sp.Role != "" {
		b.WriteString("with a system prompt of its own:\n")
		for line := range strings.Lines(sp.Role) {
			b.WriteString("  | " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	return b.String() + sp.Prompt
}
