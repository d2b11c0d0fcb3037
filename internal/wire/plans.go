package wire

import (
	"time"

	"github.com/troupe-dev/troupe"
)

// Plan is what a session in plan mode has written down.
type Plan struct {
	Name string `json:"name"`
	File string `json:"file"`
	// Session is whose plan it is; "" if that is gone.
	Session troupe.SessionID `json:"session,omitempty"`
	Root    troupe.SessionID `json:"root,omitempty"`
	State   PlanState        `json:"state,omitempty"`
	// Request is the open one, and By who answered the last one.
	Request string    `json:"request,omitempty"`
	By      string    `json:"by,omitempty"`
	Changed time.Time `json:"changed"`
	Text    string    `json:"text,omitempty"` // where one plan is asked for
}

// PlanState is what became of a plan.
type PlanState string

// States of plans.
const (
	PlanDraft    PlanState = "draft"
	PlanWaits    PlanState = "waits"
	PlanApproved PlanState = "approved"
	PlanRejected PlanState = "rejected"
)
