package wire

import (
	"time"

	"github.com/troupe-dev/troupe"
)

// NoticeEvent is what a target can be told of.
type NoticeEvent string

// What targets are told of.
const (
	NoticeSessionEnded   NoticeEvent = "session.ended"   // a run of a main agent
	NoticeSubagentEnded  NoticeEvent = "subagent.ended"  // a run of another agent
	NoticeRequestOpened  NoticeEvent = "request.opened"  // a person is asked something
	NoticeSessionParked  NoticeEvent = "session.parked"  // nothing goes on with a session any more
	NoticeScheduleFailed NoticeEvent = "schedule.failed" // no run began for a moment of a schedule
	NoticeWebhookFailed  NoticeEvent = "webhook.failed"  // no run began for what was delivered to a webhook
	NoticeTest           NoticeEvent = "test"            // someone wants to see whether notices come; to all targets
)

// NoticeEvents are those that a target can be for.
func NoticeEvents() []NoticeEvent {
	return []NoticeEvent{NoticeSessionEnded, NoticeSubagentEnded, NoticeRequestOpened, NoticeSessionParked,
		NoticeScheduleFailed, NoticeWebhookFailed}
}

// TargetTerms are what an admin says of a target: an address at which a program is told of what happens.
type TargetTerms struct {
	Name      string        `json:"name" maxLength:"64" doc:"Letters, digits, dot, dash and underscore"`
	URL       string        `json:"url" maxLength:"2000" doc:"https; or http to an address of the server's own machine that its settings list"`
	Events    []NoticeEvent `json:"events" minItems:"1" maxItems:"10" enum:"session.ended,subagent.ended,request.opened,session.parked,schedule.failed,webhook.failed"`
	Folder    string        `json:"folder,omitempty" maxLength:"4096" doc:"Only what happens to sessions that work there; without it, to all"`
	Link      string        `json:"link,omitempty" maxLength:"500" doc:"The address of the server, which links in notices begin with"`
	Result    bool          `json:"result,omitempty" doc:"Notices hold the beginning of what an agent said at its end"`
	NewSecret bool          `json:"new_secret,omitempty" doc:"Give a target that is there another secret; the one before is good no more"`
	Version   int64         `json:"version,omitempty" doc:"Of the terms that are changed; 0 makes a new target"`
}

// Target is one, as it stands.
type Target struct {
	TargetTerms
	By        string       `json:"by" doc:"Who made it"`
	Stopped   string       `json:"stopped,omitempty" doc:"Why it is told nothing any more, until its terms are set again"`
	Waiting   int          `json:"waiting,omitempty" doc:"How many notices are to be delivered, or delivered again"`
	Dead      int          `json:"dead,omitempty" doc:"How many notices were given up, and are kept"`
	Delivered int64        `json:"delivered,omitempty" doc:"How many notices were ever delivered"`
	Failed    int64        `json:"failed,omitempty" doc:"How many tries ever failed"`
	Dropped   int64        `json:"dropped,omitempty" doc:"How many notices that were given up were forgotten for newer ones"`
	Last      *NoticeTry   `json:"last,omitempty"`
	Letters   []DeadLetter `json:"letters,omitempty" doc:"The newest of those that were given up, of one target"`
}

// NoticeTry is what came of a try to deliver a notice.
type NoticeTry struct {
	ID     string      `json:"id,omitempty" doc:"The webhook-id of the notice, the same at each try"`
	Type   NoticeEvent `json:"type"`
	At     time.Time   `json:"at"`
	Status int         `json:"status,omitempty" doc:"What the receiver answered; 0: it did not"`
	Why    string      `json:"why,omitempty" doc:"Why it is not delivered; empty: it is"`
}

// DeadLetter is a notice that was given up.
type DeadLetter struct {
	NoticeTry
	Tries   int              `json:"tries"`
	Session troupe.SessionID `json:"session,omitempty"`
}

// TargetChanged is a target after a change.
type TargetChanged struct {
	Target
	// Secret is shown once.
	Secret string `json:"secret,omitempty" doc:"What notices are signed with, where it was made by this call"`
}

// Replay has notices that were given up be delivered.
type Replay struct {
	Notice string `json:"notice,omitempty" maxLength:"100" doc:"Its webhook-id; without it, all of the target"`
}

// Replayed answers it.
type Replayed struct {
	Notices int `json:"notices" doc:"How many are delivered anew"`
}

// Notice is what is posted to a target, in the form that Standard Webhooks recommends.
type Notice struct {
	Type      NoticeEvent `json:"type"`
	Timestamp time.Time   `json:"timestamp"` // of what happened
	Data      NoticeData  `json:"data"`
}

// NoticeData says what happened: ids, names, numbers, and nothing that agents or models have written unless the target
// asks for it.
type NoticeData struct {
	Target  string           `json:"target"`
	Session troupe.SessionID `json:"session,omitempty"`
	Root    troupe.SessionID `json:"root,omitempty"`
	Parent  troupe.SessionID `json:"parent,omitempty"`
	Name    string           `json:"name,omitempty"` // of the session, the schedule or the webhook
	Agent   string           `json:"agent,omitempty"`
	By      string           `json:"by,omitempty"` // who began the tree
	Link    string           `json:"link,omitempty"`

	NoticeRun

	// Of a request.
	Request troupe.RequestID   `json:"request,omitempty"`
	Kind    troupe.RequestKind `json:"kind,omitempty"`
	Until   time.Time          `json:"until,omitzero"` // when it is denied by itself

	// Why nothing goes on, or nothing began.
	Why string `json:"why,omitempty"`
}

// NoticeRun is a run that ended.
type NoticeRun struct {
	Run         int           `json:"run,omitempty"`
	Status      troupe.Status `json:"status,omitempty"`
	Cause       troupe.Cause  `json:"cause,omitempty"`
	CostUSD     float64       `json:"cost_usd,omitempty"`
	TreeCostUSD float64       `json:"tree_cost_usd,omitempty"` // so far, of all runs and agents; of a main agent
	Tokens      int64         `json:"tokens,omitempty"`
	Turns       int           `json:"turns,omitempty"`
	DurationMS  int64         `json:"duration_ms,omitempty"`
	Result      string        `json:"result,omitempty"` // its beginning, where the target asks for it
}
