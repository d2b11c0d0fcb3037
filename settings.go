package troupe

import "time"

// Settings are what a run of a tree was started with besides profile, authority and caps. They
// stand in the log of the root, so that any process goes on with the tree as the one before it.
type Settings struct {
	// AskFor is how long a request waits for an answer; 0: there is none to be had, and it is
	// denied at once.
	AskFor time.Duration `json:"ask_for,omitempty"`
	// Fallback is the model to go on with when a session's own is not to be had; "" is none.
	Fallback string `json:"fallback,omitempty"`
	// Definitions is the hash of the tree's document that says which types of agents there are;
	// "" if that was not kept.
	Definitions string `json:"definitions,omitempty"`
	// Attended: a person is in the conversation, so that the end of a run is not the end of the work.
	Attended bool `json:"attended,omitempty"`
	// Fork: an Agent call that names no type starts a fork.
	Fork   bool   `json:"fork,omitempty"`
	Policy Policy `json:"policy"`
	// HandoffModel is the model that checks what agents hand to their parents, "provider/id"; "": rules alone do.
	HandoffModel string `json:"handoff_model,omitempty"`
	// Given holds for the tree until others are given, in whatever process it goes on.
	Given Given `json:"given,omitzero"`
}

// Given are the limits that a person gave a run by flags, in the place of those in the settings. 0: none was given.
type Given struct {
	MaxTotal  int   `json:"max_total,omitempty"`
	MaxTokens int64 `json:"max_tokens,omitempty"`
	MaxCost   Money `json:"max_cost,omitempty"`
}

// Policy holds the settings of the loop itself.
type Policy struct {
	// MaxAttempts is how often one model call is tried; 0: as often as patience lasts.
	MaxAttempts int `json:"max_attempts,omitempty"`
	// Patience is how long a model call that fails is tried again; 0: without end, because a person
	// watches. Attempts that are billed are few in any case.
	Patience   time.Duration `json:"patience,omitempty"`
	MaxDenials int           `json:"max_denials,omitempty"` // replies in a row all of whose calls were denied
	// MaxRepeats is how many replies in a row may make the same calls with the same results; 0: however many.
	MaxRepeats int `json:"max_repeats,omitempty"`
	// FallbackAfter is how many attempts of one call the session's own model gets if there is
	// another to fall back to.
	FallbackAfter int `json:"fallback_after,omitempty"`
	// AutoBackground is how long a call waits for its child before the child goes on in the
	// background; 0: for ever.
	AutoBackground time.Duration `json:"auto_background,omitempty"`
	// WaitAbove is how much money a session has to save by it to wait, with its first call, for another session's call
	// to have the provider cache what both begin with; 0: none waits.
	WaitAbove Money `json:"wait_above,omitempty"`
	// MaxMessages is how many messages two agents write to each other, without a tool call of either between them,
	// before they and the lead of their team are told; 0: however many.
	MaxMessages int `json:"max_messages,omitempty"`
	// Gather is how long a session that has ended waits for more tasks to end before the end
	// of one wakes it: what ends together is told together.
	Gather time.Duration `json:"gather,omitempty"`
}

// DefaultPolicy is the policy of logs that do not name one. Thirty attempts with growing pauses
// are some forty minutes of a provider that is down, unless there is another model to fall back to
// after three; three replies of nothing but denied calls are a model that does not take no for an
// answer, and ten that do the same are one that goes in a circle. Ends of tasks that are less than
// 200 ms apart are told together, as long as others are at work; the last one waits for none.
func DefaultPolicy() Policy {
	return Policy{
		MaxAttempts: 30, MaxDenials: 3, MaxRepeats: 10, FallbackAfter: 3, AutoBackground: 2 * time.Minute,
		Gather: 200 * time.Millisecond,
	}
}
