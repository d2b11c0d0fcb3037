package troupe

import "time"

// Session is the projection of one session's log: what lists, trees and bills show. The
// store keeps it in the transaction that appends the events it is folded from, and a test
// rebuilds it from the log and compares.
type Session struct {
	ID     SessionID
	Root   SessionID // its tree; a root's own ID
	Parent SessionID // "" for a root
	Coord  Coord     // the call of the parent that asked for it
	Name   string    // unique among its siblings, without regard to case; of a root, SessionChanged may give another
	Title  string    // short description of the work
	Depth  int       // 0 for a root
	Cwd    string    // absolute: the folder whose settings and trust hold for it
	// Workspace is where its tools act; the zero value: in Cwd.
	Workspace Workspace
	Type      string // name of its profile
	Team      string // that it is a member of, and its parent leads; "" if of none
	Model     string // "provider/id"
	By        string // who began the tree, as Caller.Name; of roots only

	Status  Status
	Waiting WaitReason
	Cause   Cause
	Run     int   // 0 before it first started; each return from an end begins another
	Seq     int64 // number of its last event
	Tally   Tally
	Result  string // final words of the last completed run
	Error   string // why the last run failed, or why a model call is waited for again

	CreatedAt time.Time
	StartedAt time.Time // of the current run; zero before it
	EndedAt   time.Time // of the current run; zero while live
	// Until is when a waiting session goes on by itself; zero if only others can make it.
	Until time.Time
	// AsleepAt is when it was put away with its tree; zero: it was not. Of a tree, its root says so.
	AsleepAt time.Time
	// Archived: lists leave its tree out, and nothing of it goes on. Of a tree, its root says so.
	Archived bool
	// Cut: the end of its log was lost once, so that Tally may be less than what it has cost.
	Cut bool
	// Reserved is what a model call under way may cost, held back from the tree's limits.
	Reserved Reservation
}

// Reservation is an estimate that is counted against limits while a model call is under way.
type Reservation struct {
	Tokens int64 `json:"tokens,omitempty"`
	Cost   Money `json:"cost,omitempty"`
	Turns  int   `json:"turns,omitempty"` // model replies
}

// Minus returns what r holds beyond o.
func (r Reservation) Minus(o Reservation) Reservation {
	return Reservation{r.Tokens - o.Tokens, r.Cost - o.Cost, r.Turns - o.Turns}
}

// Add returns the sum of both.
func (r Reservation) Add(o Reservation) Reservation {
	return Reservation{r.Tokens + o.Tokens, r.Cost + o.Cost, r.Turns + o.Turns}
}

// Active reports whether the session takes one of its tree's active slots. Roots never do,
// and neither does a session that waits for anybody but a model: else parents could hold
// every slot that their own children queue for, and a question that nobody answers all work.
func (s Session) Active() bool {
	switch s.Status {
	case Running:
		return s.Depth > 0
	case Waiting:
		return s.Depth > 0 && s.Waiting == WaitModel
	default:
		return false
	}
}

// WokenBy reports whether mail begins another run of a session that has ended. The end of a task does so only
// where the session came to an end of its own: a run that failed, used up its limit or was stopped has its verdict,
// and the task's end is there to be read by whatever sets the session to work again.
func (s Session) WokenBy(m Mail) bool {
	return m.Wakes() && !(s.Status.Ended() && s.Status != Completed && m.Kind.OfTask())
}

// Lease says which process may advance a session. Epoch grows each time ownership moves;
// an append under an older epoch is refused, however late its process wakes up.
type Lease struct {
	Owner OwnerID
	Epoch int64
}

// Owner is a process that hosts sessions.
type Owner struct {
	ID        OwnerID
	PID       int
	Host      string
	Socket    string // where it serves the API; "" if it does not
	StartedAt time.Time
}

// Tree is what a root and all its descendants add up to, and what bounds them.
type Tree struct {
	Root  SessionID
	Name  string // of the root; "" if it was not named
	Caps  Caps
	Total int // sessions ever born below the root
	// SincePrompt is how many of them were born since the last words of a person.
	SincePrompt int
	Active      int // sessions below the root that hold a slot now
	Tally       Tally
	// Reserved is the sum of what the sessions' model calls under way may cost.
	Reserved Reservation
}

// TreeDelta is a change to a Tree's sums.
type TreeDelta struct {
	// Prompted: a person's words were delivered, so births are counted anew, before those of Total.
	Prompted bool
	Total    int // also counts for SincePrompt
	Active   int
	Tally    Tally

	Reserved Reservation
}

// IsZero reports whether the delta changes nothing.
func (d TreeDelta) IsZero() bool { return d == TreeDelta{} }
