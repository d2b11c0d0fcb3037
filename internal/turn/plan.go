package turn

import (
	"strings"

	"github.com/troupe-dev/troupe"
)

// RenderPlanApproved is how an approved plan appears to the agent that made it.
func RenderPlanApproved(plan string) string {
	text := "The user approved the plan, and plan mode has ended. Carry it out now; if it turns out not to work, say " +
		"so " +
		"before you do something else."
	if plan != "" {
		text += "\n" + troupe.Quote("approved-plan", plan)
	}
	return text
}

// RenderPlanRefused is how a plan appears that was not approved. With nobody, no person has said anything.
func RenderPlanRefused(ans troupe.Answer, nobody bool) string {
	var b strings.Builder
	switch {
	case nobody:
		b.WriteString("The plan was not approved: " + value(ans.Note, maxError) + ". That is no answer to it.")
	case ans.Note != "":
		b.WriteString("The user did not approve the plan, and said:\n" + troupe.Quote("user-answer", ans.Note))
	default:
		b.WriteString("The user did not approve the plan.")
	}
	b.WriteString("\nYou are still in plan mode.")
	if !nobody {
		b.WriteString(" Change the plan, and call ExitPlanMode again.")
	}
	return b.String()
}
