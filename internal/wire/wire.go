// Package wire holds the JSON that Troupe speaks to other programs, and its mapping from
// the vocabulary. These shapes are promises: fields are added, never renamed or re-used.
// Durations are milliseconds, money is US dollars, times are RFC 3339 in UTC, token counts
// are what the provider reported.
package wire

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/troupe-dev/troupe"
)

// Report is what `troupe -p --output-format json` prints.
type Report struct {
	Type      string           `json:"type"` // "result"; tells it apart in stream-json
	SessionID troupe.SessionID `json:"session_id"`
	Name      string           `json:"name,omitempty"`
	Status    troupe.Status    `json:"status"`
	Cause     troupe.Cause     `json:"cause,omitempty"`
	Result    string           `json:"result"`
	// Structured is Result as the object that was asked for; nil: none was, or none came.
	Structured json.RawMessage `json:"structured,omitempty"`
	Error      string          `json:"error"`
	// Usage and CostUSD are of the whole tree; the rows of Agents add up to them.
	Usage   troupe.Usage `json:"usage"`
	CostUSD float64      `json:"cost_usd"`
	// Unpriced lists models whose price is not known; their tokens are in Usage, but cost nothing in CostUSD.
	Unpriced   []string `json:"unpriced,omitempty"`
	DurationMS int64    `json:"duration_ms"` // of this invocation; elsewhere of the last run
	// of all runs of the session together, without the time between them
	ActiveMS int64           `json:"active_ms"`
	NumTurns int             `json:"num_turns"` // model replies of the main agent
	Denials  []troupe.Denial `json:"denials,omitempty"`
	// Limit names, of a run that a limit has ended, that one; "" if it is none of Limits, which tells how much of
	// each is used. It is "repeats" for a run that made the same calls again and again.
	Limit  string  `json:"limit,omitempty"`
	Limits []Limit `json:"limits,omitempty"`
	// Suspects asks, of a run whose model was not to be had, what may be wrong with it.
	Suspects string    `json:"suspects,omitempty"`
	Agents   []Session `json:"agents"`
	Common
}

// Common is what the agents of a tree have together.
type Common struct {
	// Scratchpad is nil if there is nothing in it.
	Scratchpad *Scratchpad `json:"scratchpad,omitempty" doc:"The folder that its agents share, if anything is in it"`
	// Team is nil if there is none.
	Team *Team `json:"team,omitempty" doc:"The team that the main agent leads; only of troupe show"`
}

// Scratchpad is the folder that the agents of a tree share.
type Scratchpad struct {
	Folder string `json:"folder"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
}

// Event is a line of stream-json and of `troupe log --json`.
type Event struct {
	Type    troupe.Kind      `json:"type"`
	Session troupe.SessionID `json:"session"`
	Seq     int64            `json:"seq"`
	At      time.Time        `json:"at"`
	Data    json.RawMessage  `json:"data"`
}

// NewEvent maps one event of a log.
func NewEvent(e troupe.Event) (Event, error) {
	data, err := troupe.EncodeBody(e.Body)
	if err != nil {
		return Event{}, fmt.Errorf("session %s, event %d: %w", e.Session, e.Seq, err)
	}
	return Event{e.Body.Kind(), e.Session, e.Seq, e.At.UTC(), data}, nil
}
