package wire

import (
	"encoding/json"

	"github.com/troupe-dev/troupe"
)

// Place is where a run would be begun, and with which flags.
type Place struct {
	Cwd string `json:"cwd"`
	Permissions
	Model  string `json:"model,omitempty"`
	Agents string `json:"agents,omitempty"` // definitions as JSON
}

// Untrusted is what a folder's own files would allow and has not been trusted yet: the lines
// that a person is shown before they decide.
type Untrusted struct {
	Folder string   `json:"folder"`
	Lines  []string `json:"lines"`
	// Changed: it was trusted before, and these lines came and went since.
	Changed bool     `json:"changed,omitempty"`
	Added   []string `json:"added,omitempty"`
	Gone    []string `json:"gone,omitempty"`
	// Edited are lines of before whose files have other contents now.
	Edited []string `json:"edited,omitempty"`
	Wide   string   `json:"wide,omitempty"` // why it is more than a project
	// TooMuch is why it cannot be trusted: there is more than can be shown, and Lines are not all of it.
	TooMuch string `json:"too_much,omitempty"`
	Hash    string `json:"hash"` // of the exact bytes that Lines are of
}

// Trust trusts a folder with what Untrusted showed of it.
type Trust struct {
	Cwd    string `json:"cwd"` // what Untrusted was asked about
	Folder string `json:"folder"`
	Hash   string `json:"hash"`
}

// Explained is what the gate would answer, and what is odd in its rules.
type Explained struct {
	Verdicts []Verdict `json:"verdicts"`
	Warnings []string  `json:"warnings,omitempty"`
}

// Call is a call to be explained: a line of what `troupe permissions explain` reads.
type Call struct {
	ID json.RawMessage `json:"id,omitempty"` // anything; it comes back with the verdict
	// Agent is "main" (or ""), a type of agent, or types separated by slashes: who would call.
	Agent string          `json:"agent,omitempty"`
	Mode  troupe.Mode     `json:"mode,omitempty"` // of the main agent; "" is the one a run would have
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input,omitempty"`
}

// Verdict is what would become of a call.
type Verdict struct {
	ID       json.RawMessage `json:"id"`
	Decision troupe.Effect   `json:"decision"`
	// Sandbox is the level that a command runs in: at once if it is allowed, with leave if it is
	// asked about. It is none for what is no command.
	Sandbox troupe.Level `json:"sandbox"`
	Rule    string       `json:"rule"`   // the rule that decided, "" if none did
	Source  string       `json:"source"` // where it stands
	Why     string       `json:"why"`
	// Kept says, of a command that may run, what it will find that it cannot read, and what would
	// change that. It stands at the end of Why too.
	Kept string `json:"kept,omitempty"`
}

// RuleRow is one rule in force, as `troupe permissions list` shows it.
type RuleRow struct {
	Effect  troupe.Effect `json:"effect"`
	Rule    string        `json:"rule"`
	Source  string        `json:"source"`
	Meaning string        `json:"meaning"`
	// Shadows and Shadowed name rules that this one overrides, or that override it.
	Shadows  []string `json:"shadows,omitempty"`
	Shadowed []string `json:"shadowed_by,omitempty"`
	Problem  string   `json:"problem,omitempty"` // why it is not followed as written
	Managed  bool     `json:"managed,omitempty"` // set by whoever manages the machine
}

// Kept is a path or pattern of paths that is kept from agents, and why.
type Kept struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// RuleList is what holds in a folder.
type RuleList struct {
	Mode   troupe.Mode    `json:"mode"`
	Levels []troupe.Level `json:"sandboxes"`
	// Untrusted: the folder's own files would allow something, and were not trusted.
	Untrusted bool      `json:"untrusted"`
	Rules     []RuleRow `json:"rules"`
	// Without are the rules of those files that do not count until the folder is trusted.
	Without []RuleRow `json:"untrusted_rules,omitempty"`
	// Hidden is what nothing an agent does may read, and Protected what nothing changes without
	// a rule or an answer that names it.
	Hidden    []Kept   `json:"hidden"`
	Protected []Kept   `json:"protected"`
	Warnings  []string `json:"warnings,omitempty"` // what is odd in the rules
}
