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
	// Over says which limit of the tree has been reached; empty while none has.
	Over string
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
	// Answerable: somebody may answer requests. Without, they are denied at once.
	Answerable bool
	// Hold keeps the session from its next model call: a replay waits for mail.
	Hold bool
	// Ready and Cut, in a replay, say which calls may begin, and which go on without what they
	// wait for; nil: all may, and the clock says.
	Ready, Cut func(call troupe.Coord) bool
	// Fallback is the model to go on with when the session's is not to be had; "" is none.
	Fallback string
	// Window is how many tokens a call may send before the conversation is shortened; 0 if
	// that is not known.
	Window int64
	// Schedule says how calls of a tool may be arranged.
	Schedule func(tool string) troupe.Schedule
	Policy   Policy
}

// Policy holds the settings of the loop itself.
type Policy struct {
	MaxAttempts int // of one model call
	MaxDenials  int // replies in a row all of whose calls were denied
	// FallbackAfter is how many attempts of one call the session's own model gets if there is
	// another to fall back to.
	FallbackAfter int
	// AutoBackground is how long a call waits for its child before the child goes on in the
	// background; 0: for ever.
	AutoBackground time.Duration
	// Gather is how long a session that has ended waits for more tasks to end before the end
	// of one wakes it: what ends together is told together.
	Gather time.Duration
}

// begun reports whether this process has begun a call and not ended it.
func (in Inputs) begun(i int) bool { return in.Working(i) && (in.Judging == nil || !in.Judging(i)) }

// cut reports whether a replay has the call go on without what it waits for.
func (in Inputs) cut(c *Call) bool { return in.Cut != nil && in.Cut(c.coord()) }
