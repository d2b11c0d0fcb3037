package wire

import (
	"strings"

	"github.com/troupe-dev/troupe"
)

// Types of messages about sub-agents.
const (
	SubagentSpawned   = "subagent.spawned"
	SubagentProgress  = "subagent.progress"
	SubagentCompleted = "subagent.completed"
	SubagentFailed    = "subagent.failed"
	SubagentCancelled = "subagent.cancelled"
)

// Subagent is what a stream tells of a sub-agent of its session, in a message of this type.
type Subagent struct {
	Type   string           `json:"type" enum:"subagent.spawned,subagent.progress,subagent.completed,subagent.failed,subagent.cancelled"`
	ID     troupe.SessionID `json:"subagent_id"`
	Name   string           `json:"name"`
	Status string           `json:"status" enum:"spawning,running,completed,failed,cancelled,max_iterations"`
	Task   string           `json:"task,omitempty" doc:"Of one that is new: its title"`
	Mode   string           `json:"mode,omitempty" enum:"foreground,background" doc:"Of one that is new"`
	// Iterations are the model replies: of its life where it is at work, of the run that has ended.
	Iterations int    `json:"iterations,omitempty" doc:"Model replies: of its life in subagent.progress, else of the run that ended"`
	Tool       string `json:"current_tool,omitempty" doc:"In subagent.progress: the tool that it has called last, if it has not ended"`
	Result     string `json:"result,omitempty" doc:"The beginning of its last message, if it completed"`
	Error      string `json:"error,omitempty" doc:"Why it did not complete"`
	Run        int    `json:"-"` // that has ended
}

// Modes of sub-agents.
const (
	Foreground = "foreground"
	Background = "background"
)

// SubagentsIn are the messages that an event of a session's log makes: births and ends of its sub-agents, ends where it
// is told of them. Of births Mode is not known here.
func SubagentsIn(b troupe.Body) (out []Subagent) {
	born := func(t *troupe.Task) {
		if t != nil && t.Kind.OfSession() {
			out = append(out, Subagent{Type: SubagentSpawned, ID: troupe.SessionID(t.ID), Name: t.Name, Task: t.Title,
				Status: troupe.Spawning.OfSubagent()})
		}
	}
	ended := func(o *troupe.Outcome) {
		if o != nil && o.Session != "" {
			out = append(out, endOfSubagent(o))
		}
	}
	switch b := b.(type) {
	case troupe.ToolStarted:
		if b.Child != "" {
			born(b.Task)
		}
	case troupe.VerifyStarted:
		born(b.Task)
	case troupe.TeamChanged:
		for i := range b.Members {
			born(&b.Members[i])
		}
	case troupe.ToolFinished:
		ended(b.Outcome)
	case troupe.VerifyEnded:
		ended(&b.Outcome)
	case troupe.MailDelivered:
		for _, m := range b.Mail {
			ended(m.Ended)
			if m.Forked != nil {
				born(m.Forked.Task)
			}
		}
	}
	return out
}

// SubagentStep is how far a sub-agent has come by an event of its own log; false: the event is no step.
func SubagentStep(b troupe.Body, s *Subagent) bool {
	switch b := b.(type) {
	case troupe.Started:
		s.Status, s.Tool = troupe.Running.OfSubagent(), ""
	case troupe.Replied:
		s.Iterations, s.Tool = b.Reply, ""
		for _, block := range b.Blocks {
			if block.Call != nil && s.Tool == "" {
				s.Tool = block.Call.Name
			}
		}
	case troupe.ToolStarted:
		s.Tool = b.Name
	case troupe.Ended:
		s.Status, s.Tool = b.Outcome.Status.OfSubagent(), ""
	default:
		return false
	}
	return true
}

func endOfSubagent(o *troupe.Outcome) Subagent {
	out := Subagent{Type: SubagentFailed, ID: o.Session, Name: o.Name, Status: o.Status.OfSubagent(),
		Run: o.Run, Iterations: o.Tally.Turns, Error: beginning(o.Error)}
	switch o.Status {
	case troupe.Completed:
		out.Type, out.Result = SubagentCompleted, beginning(o.Result)
	case troupe.Cancelled:
		out.Type = SubagentCancelled
	case troupe.Failed, troupe.MaxTurns, troupe.Spawning, troupe.Running, troupe.Waiting:
	}
	return out
}

// beginning is as much of a text as a row of a list has room for.
func beginning(text string) string {
	const most = 400
	if text = strings.TrimSpace(text); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
