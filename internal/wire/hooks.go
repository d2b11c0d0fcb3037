package wire

import (
	"encoding/json"

	"github.com/troupe-dev/troupe"
)

// HookQuery asks which hooks are set at a place and, with an event, what they say to a made-up one.
type HookQuery struct {
	Place
	Event troupe.HookEvent `json:"event,omitempty"`
	// Tool and Input are the call, for events that are about one.
	Tool  string          `json:"tool,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	// Agent is the type of agent that it would happen to; "": the main one. Match is what matchers are compared with
	// where it is neither a tool nor an agent.
	Agent string `json:"agent,omitempty"`
	Match string `json:"match,omitempty"`
	// Text is what a person would have said.
	Text string `json:"text,omitempty"`
}

// HookList is what is set, and what became of trying it.
type HookList struct {
	Hooks    []HookRow        `json:"hooks"`
	Problems []string         `json:"problems"`
	Ran      []troupe.HookRan `json:"ran,omitempty"`
	// Follows is what would come of it, in words; "" if nothing was tried.
	Follows string `json:"follows,omitempty"`
}

// HookRow is a hook that is set.
type HookRow struct {
	Event   troupe.HookEvent `json:"event"`
	Matcher string           `json:"matcher,omitempty"`
	// of the calls that the matcher covers, those that this rule speaks of
	If      string  `json:"if,omitempty"`
	Type    string  `json:"type"`
	Run     string  `json:"run"` // the command, address or prompt
	Source  string  `json:"source"`
	Scope   string  `json:"scope"`
	Agent   string  `json:"agent,omitempty"` // whose definition it stands in
	Skill   string  `json:"skill,omitempty"` // in whose file it stands
	Seconds float64 `json:"seconds"`         // that it may take
	Async   bool    `json:"async,omitempty"`
	// Off says why it does not count, and Broken why it fails; "" if that is not so.
	Off    string `json:"off,omitempty"`
	Broken string `json:"broken,omitempty"`
}
