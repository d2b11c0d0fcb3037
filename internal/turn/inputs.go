package turn

import (
	"time"

	"github.com/troupe-dev/troupe"
)

// Inputs is what a step depends on besides the log: the clock, the mailbox, what this
// process has in hand, and what others decided.
type Inputs struct {
	Now    time.Time
	Unread []troupe.Mail // in order of sending
	// Over is the limit of the tree that has been reached; empty while none has.
	Over Bound
	// Near warns of a limit of the tree that is mostly used up; empty if none is. It is set
	// for roots.
	Near troupe.BudgetWarned
	// Working reports whether this process has a call of the last reply in hand.
	Working func(call int) bool
	// Judging reports whether that call is still being judged: it has not begun, and a stop keeps
	// it from that. nil: none is.
	Judging func(call int) bool
	// Told reports whether this process has told a task to stop, that strongly.
	Told func(id troupe.TaskID, now bool) bool
	// Taken is when this process took the session up from another one; zero if it did not.
	Taken Taken
	// Others: agents anywhere below a root are at work, or about to be, that were not told to
	// stop and began before the time of the root was up. It is set once that is up.
	Others bool
	// Late: the run was begun because the tree's time was up.
	Late bool
	// Hold keeps the session from its next model call: a replay waits for mail.
	Hold bool
	// Ready and Cut, in a replay, say which calls may begin, and which go on without what they
	// wait for; nil: all may, and the clock says.
	Ready, Cut func(call troupe.Coord) bool
	// Window is how many tokens a call may send before the conversation is shortened; 0 if
	// that is not known.
	Window int64
	// Schedule says how calls of a tool may be arranged.
	Schedule func(tool string) troupe.Schedule
	Settings troupe.Settings // of the tree
	// Broken is why the session has no folder to work in and cannot go on; "" if it has one.
	Broken string
	// Hooks reports whether hooks are due at a moment of the session; nil: there are none. Hooking: some run now, and
	// what they say is waited for.
	// After are the calls with a result that hooks are to be told of before the model is.
	Hooks   func(event troupe.HookEvent, match string) bool
	Hooking bool
	After   []int
}

// begun reports whether this process has begun a call and not ended it.
func (in Inputs) begun(i int) bool { return in.Working(i) && (in.Judging == nil || !in.Judging(i)) }

// cut reports whether a replay has the call go on without what it waits for.
func (in Inputs) cut(c *Call) bool { return in.Cut != nil && in.Cut(c.coord()) }
