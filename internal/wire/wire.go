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

// Run is what `troupe -p --output-format json` prints.
type Run struct {
	Type      string           `json:"type"` // "result"; tells it apart in stream-json
	SessionID troupe.SessionID `json:"session_id"`
	Name      string           `json:"name,omitempty"`
	Status    troupe.Status    `json:"status"`
	Cause     troupe.Cause     `json:"cause,omitempty"`
	Result    string           `json:"result"`
	Error     string           `json:"error"`
	// Usage and CostUSD are of the whole tree; the rows of Agents add up to them.
	Usage   troupe.Usage `json:"usage"`
	CostUSD float64      `json:"cost_usd"`
	// Unpriced lists models whose price is not known; their tokens are in Usage, but cost nothing in CostUSD.
	Unpriced   []string        `json:"unpriced,omitempty"`
	DurationMS int64           `json:"duration_ms"` // of this invocation; elsewhere of the last run
	NumTurns   int             `json:"num_turns"`   // model replies of the main agent
	Denials    []troupe.Denial `json:"denials,omitempty"`
	// Limits tells, of a run that a limit has ended, how much of each is used.
	Limits []Limit `json:"limits,omitempty"`
	// Suspects asks, of a run whose model was not to be had, what may be wrong with it.
	Suspects string  `json:"suspects,omitempty"`
	Agents   []Agent `json:"agents"`
}

// Agent is one session of a tree.
type Agent struct {
	ID         troupe.SessionID  `json:"id"`
	Name       string            `json:"name"`
	Path       string            `json:"path"`
	Type       string            `json:"type"`
	Model      string            `json:"model"`
	Parent     troupe.SessionID  `json:"parent"` // "" for the main agent
	Status     troupe.Status     `json:"status"`
	Waiting    troupe.WaitReason `json:"waiting,omitempty"`
	Until      *time.Time        `json:"until,omitempty"` // when it goes on by itself, if it waits and will
	Cause      troupe.Cause      `json:"cause,omitempty"`
	Error      string            `json:"error,omitempty"`
	Usage      troupe.Usage      `json:"usage"`
	CostUSD    float64           `json:"cost_usd"`
	Turns      int               `json:"turns"`
	ToolUses   int               `json:"tool_uses"`
	DurationMS int64             `json:"duration_ms"`
}

// NewAgent maps one session. now ends the duration of a session that is still live.
func NewAgent(s troupe.Session, path string, now time.Time) Agent {
	var until *time.Time
	if !s.Until.IsZero() {
		at := s.Until.UTC()
		until = &at
	}
	return Agent{
		Until: until,
		ID:    s.ID, Name: s.Name, Path: path, Type: s.Type, Model: s.Model, Parent: s.Parent,
		Status: s.Status, Waiting: s.Waiting, Cause: s.Cause, Error: s.Error,
		Usage: s.Tally.Usage, CostUSD: s.Tally.Cost.Dollars(), Turns: s.Tally.Turns,
		ToolUses: s.Tally.ToolUses, DurationMS: DurationMS(s, now),
	}
}

// DurationMS is how long the session's last run took, or has taken until now.
func DurationMS(s troupe.Session, now time.Time) int64 {
	switch {
	case s.StartedAt.IsZero():
		return 0
	case s.EndedAt.IsZero():
		return now.Sub(s.StartedAt).Milliseconds()
	}
	return s.EndedAt.Sub(s.StartedAt).Milliseconds()
}

// Session is a row of `troupe sessions --json`.
type Session struct {
	ID      troupe.SessionID  `json:"id"`
	Name    string            `json:"name,omitempty"`
	Title   string            `json:"title"`
	Status  troupe.Status     `json:"status"`
	Waiting troupe.WaitReason `json:"waiting,omitempty"`
	Cwd     string            `json:"cwd"`
	Model   string            `json:"model"`
	Agents  int               `json:"agents"` // sessions born below it
	Usage   troupe.Usage      `json:"usage"`  // of the tree
	CostUSD float64           `json:"cost_usd"`
	// Unpriced: no price is known for its main agent's model, so that CostUSD is not all of it.
	Unpriced  bool      `json:"unpriced,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	// Running says that a live process has it in hand. A session that is not ended and
	// not running was left by a crash or an interrupt and can be resumed.
	Running bool `json:"running"`
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
