package wire

import "github.com/troupe-dev/troupe"

// StatusQuery asks what the status line of a person's settings says of a conversation.
type StatusQuery struct {
	Cwd string `json:"cwd"`
	// Root is its main agent; "" before it has begun. Then Model and Mode are what it will begin with.
	Root    troupe.SessionID `json:"root,omitempty"`
	Model   string           `json:"model,omitempty"`
	Mode    troupe.Mode      `json:"mode,omitempty"`
	Columns int              `json:"columns,omitempty"` // of the screen; 0: unknown
}

// StatusLine is what it says. The text is as the command printed it: who shows it makes it harmless.
type StatusLine struct {
	Text    string `json:"text,omitempty"`
	Padding int    `json:"padding,omitempty"`
	// Command is what printed it, and Failed why that told nothing; both "" if no status line is set.
	Command string `json:"command,omitempty"`
	Failed  string `json:"failed,omitempty"`
}
