package console

import (
	"github.com/troupe-dev/troupe"
)

// MessageFrom is one line about an agent's message: from which agent, and what it is if it is more than words.
func MessageFrom(m troupe.AgentMessage) string {
	text := "message from " + Line(m.Name, 60)
	switch m.Type {
	case troupe.MessageWords:
	case troupe.MessageAssigned:
		text += ", about the task list"
	case troupe.MessagePlan:
		text += ", which has a plan to approve"
	case troupe.MessagePermission:
		text += ", which asks for leave"
	case troupe.MessagePlanResponse, troupe.MessagePermissionResponse: // they are answers to requests, and no messages
	case troupe.MessageChatter:
		text = "two of the team write to each other and do nothing"
	case troupe.MessageShutdown:
		text += ", to come to an end"
	case troupe.MessageShutdownResponse:
		text += ", which does not come to an end"
		if m.Approve {
			text = "message from " + Line(m.Name, 60) + ", which comes to an end"
		}
	}
	if m.Summary != "" {
		text += " (" + Line(m.Summary, 80) + ")"
	}
	return text
}

// Person names who has said something: a user of a server by name; the one person of a home is any.
func Person(c *troupe.Caller) string {
	switch {
	case c != nil && c.Surface == troupe.SurfaceServer:
		return Line(c.Name, 64)
	case c != nil && (c.Surface == troupe.SurfaceSchedule || c.Surface == troupe.SurfaceWebhook):
		text := "a " + string(c.Surface)
		if c.Right != troupe.RightOwner {
			text += " of " + Line(c.Name, 64)
		}
		return text
	}
	return "a person"
}
