package troupe

// Status is where a session is in its life. docs/state.md draws the machine; a test in internal/turn compares its
// table and its diagram with what is allowed, for every status and event. The store's CHECK constraints repeat the
// statuses, and the store's suite tries them.
type Status string

// The statuses of a session. Running, Waiting and Spawning are live; the others are ends,
// from which new mail starts another run.
const (
	// Spawning: born, but not yet admitted to one of the tree's active slots. After a
	// restart it is still queued.
	Spawning Status = "spawning"
	// Running: it can make its next step, or a tool is at work for it. After a restart
	// read-only calls run again and interrupted effects are reported as such.
	Running Status = "running"
	// Waiting: it can do nothing until what Waiting names has happened.
	Waiting Status = "waiting"
	// Completed: the model ended its turn; Result holds its words.
	Completed Status = "completed"
	// Failed: it could not go on; Cause and Error say why.
	Failed Status = "failed"
	// Cancelled: a person or its parent stopped it.
	Cancelled Status = "cancelled"
	// MaxTurns: it used up the model replies its profile allows.
	MaxTurns Status = "max_turns"
)

// Statuses lists every status, in the order of a life.
func Statuses() []Status {
	return []Status{Spawning, Running, Waiting, Completed, Failed, Cancelled, MaxTurns}
}

// Live reports whether a session in this status still has something to do or to wait for.
func (s Status) Live() bool { return s == Spawning || s == Running || s == Waiting }

// Ended reports whether the session's current run is over.
func (s Status) Ended() bool { return !s.Live() }

// WaitReason says what a waiting session waits for. It is empty in every other status.
type WaitReason string

// What a session can wait for.
const (
	// WaitModel: a model call is under way or backing off. After a restart the call is
	// recorded as interrupted and made again.
	WaitModel WaitReason = "model"
	// WaitApproval: a permission request is open. It stays open over a restart.
	WaitApproval WaitReason = "approval"
	// WaitQuestion: a question to a person is open. It stays open over a restart.
	WaitQuestion WaitReason = "question"
	// WaitChildren: foreground children are at work. After a restart they are resumed first.
	WaitChildren WaitReason = "children"
	// WaitMail: nothing to do until mail arrives.
	WaitMail WaitReason = "mail"
)

// WaitReasons lists every reason.
func WaitReasons() []WaitReason {
	return []WaitReason{WaitModel, WaitApproval, WaitQuestion, WaitChildren, WaitMail}
}

// Cause says why a run ended otherwise than by completing. It decides the exit code.
type Cause string

// Why a run ended.
const (
	CauseNone       Cause = ""            // it completed
	CauseError      Cause = "error"       // something failed for good
	CausePermission Cause = "permission"  // it needed what it was denied
	CauseLimit      Cause = "limit"       // turns, tokens or money ran out
	CauseInterrupt  Cause = "interrupted" // a person, a signal or its parent stopped it
	CauseRefusal    Cause = "refusal"     // the model declined to answer
	CauseNoModel    Cause = "no_model"    // its model is not to be had (gone, or no key)
)

// For is the status in words, with what is waited for.
func (s Status) For(w WaitReason) string {
	if w == "" {
		return string(s)
	}
	return string(s) + " for " + string(w)
}
