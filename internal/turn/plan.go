package turn

import (
	"strings"

	"github.com/troupe-dev/troupe"
)

// RenderPlanApproved is how an approved plan appears to the agent that made it. lead: its lead approved it.
func RenderPlanApproved(plan string, lead bool) string {
	text := approver(lead) + " approved the plan, and plan mode has ended. Carry it out now; if it turns out not to " +
		"work, say so before you do something else."
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
		mark := "user-answer"
		if ans.Lead {
			mark = "lead-answer"
		}
		b.WriteString(approver(ans.Lead) + " did not approve the plan, and said:\n" + troupe.Quote(mark, ans.Note))
	default:
		b.WriteString(approver(ans.Lead) + " did not approve the plan.")
	}
	b.WriteString("\nYou are still in plan mode.")
	if !nobody {
		b.WriteString(" Change the plan, and call ExitPlanMode again.")
	}
	return b.String()
}

// approver is who says yes or no to a plan.
func approver(lead bool) string {
	if lead {
		return "The lead of your team"
	}
	return "The user"
}
