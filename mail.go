package troupe

import (
	"fmt"
	"time"
)

// MailKind says what a piece of mail is. A receiver acts on the kind, never on the text.
type MailKind string

// Kinds of mail.
const (
	// MailPrompt is an instruction: a person's or a parent's words.
	MailPrompt MailKind = "prompt"
	// MailChildEnded tells a parent that a child's run is over; Ended is set.
	MailChildEnded MailKind = "child_ended"
)

// Mail is a durable message to a session. It stands in the receiver's tree until the
// transaction that logs its delivery marks it delivered.
type Mail struct {
	ID     MailID    `json:"id"`
	Root   SessionID `json:"root"` // of the receiver
	To     SessionID `json:"to"`
	From   SessionID `json:"from,omitempty"` // "" is a person
	Kind   MailKind  `json:"kind"`
	SentAt time.Time `json:"sent_at"`

	Blocks []Block  `json:"blocks,omitempty"` // MailPrompt
	Ended  *Outcome `json:"ended,omitempty"`  // MailChildEnded
}

// Outcome is the typed result of one run of a session.
type Outcome struct {
	Session    SessionID `json:"session"`
	Run        int       `json:"run"`
	Coord      Coord     `json:"coord"` // the parent's call this answers
	Name       string    `json:"name"`
	Type       string    `json:"type"`
	Status     Status    `json:"status"`
	Cause      Cause     `json:"cause,omitempty"`
	Result     string    `json:"result,omitempty"` // final words, whole
	Error      string    `json:"error,omitempty"`
	Evidence   Evidence  `json:"evidence"`
	Tally      Tally     `json:"tally"` // of this run
	DurationMS int64     `json:"duration_ms"`
}

// ChildEndedMailID makes the end of one run of one child a single piece of mail, however
// often it is sent.
func ChildEndedMailID(child SessionID, run int) MailID {
	return MailID(fmt.Sprintf("end:%s:%d", child, run))
}

// PromptMailID is the id of the prompt that a birth carries.
func PromptMailID(child SessionID) MailID { return MailID("prompt:" + string(child)) }
