package turn

import (
	"time"

	"github.com/troupe-dev/troupe"
)

// Action is what to do next: one of the types below.
type Action interface{ action() }

type (
	// Admit begins a run, if the tree has a slot for it. One that is Late begins only to stop
	// what is at work past the tree's time, and to say so.
	Admit struct {
		Run   int
		Late  bool
		Again bool // see troupe.Started
		Keep  bool // see troupe.Started
	}
	// Deliver logs this mail: ends of children as results of their calls, the rest as
	// words in the conversation.
	Deliver struct{ Mail []troupe.Mail }
	// CallModel seals a model call and makes it.
	CallModel struct{ Reply, Attempt int }
	// RunCalls takes these calls of the last reply to the gate and runs what may run.
	RunCalls struct{ Calls []int }
	// Skip gives these calls a result without running them.
	Skip struct {
		Calls []int
		Why   string
	}
	// Interrupt cancels the model call and the tools that are under way.
	Interrupt struct{}
	// StopTasks tells tasks to stop, or with Tree whoever is at work below the session.
	StopTasks struct {
		Tasks []troupe.TaskID
		Now   bool
		Tree  bool
	}
	// Answer settles open requests that nobody will answer.
	Answer struct {
		Calls []int
		By    string
	}
	// Background answers calls whose children take long; the children go on.
	Background struct{ Calls []int }
	// Report answers calls that have waited for a task for long enough.
	Report struct{ Calls []int }
	// Compact asks the model for a summary and begins a new generation with it. Clip leaves
	// out the bulk of old tool output, because the whole does not fit.
	Compact struct {
		Reply, Attempt int
		Clip           bool
		Why            string
	}
	// Nudge has the model go on after a reply that said nothing or was cut.
	Nudge struct{ Text string }
	// Switch moves the session to another model.
	Switch struct {
		Model, Why string
		Effort     troupe.Effort // "": as before
		Skill      string        // that wants it; "": none does
		Back       bool          // it is again as before a skill, effort and all
	}
	// Warn tells the session of a limit that is mostly used up.
	Warn struct{ Warning troupe.BudgetWarned }
	// End ends the run.
	End struct {
		Status        troupe.Status
		Cause         troupe.Cause
		Result, Error string
		Limit         string // that was reached; "" if it was none of those that can be set
	}
	// Park does nothing until something happens, or until then if a time is set. Look is a
	// time to look again that nobody waits for: the tree may be over before.
	Park struct{ Until, Look time.Time }
)

func (Admit) action() {}

func (Deliver) action() {}

func (CallModel) action() {}

func (RunCalls) action() {}

func (Skip) action() {}

func (Interrupt) action() {}

func (StopTasks) action() {}

func (Answer) action() {}

func (Background) action() {}

func (Report) action() {}

func (Compact) action() {}

func (Nudge) action() {}

func (Switch) action() {}

func (Warn) action() {}

func (End) action() {}

func (Park) action() {}
