// Package gate decides whether a call may run. It is the only place that does: no tool
// asks for permission by itself, and no call reaches a tool without a Decision from here.
//
// Deciding is pure. One table is walked in order (see Table) for the session that calls and
// again for each of its ancestors, and the strictest answer counts; a child can therefore
// never do what its parent may not, however modes and rules change while both live.
package gate

import "github.com/troupe-dev/troupe"

// Query is one call to be judged.
type Query struct {
	Tool   string
	Access troupe.Access
	// Chain is the line of authority, the root first and the calling session last.
	Chain []Layer
	// Roots are the folders that count as the session's own, absolute and resolved: its
	// workspace first, then its output folder. Reads and acceptEdits are free only there.
	Roots []string
	// Home anchors rules that begin with ~/.
	Home string
	// Levels are the sandboxes that this machine has; none: commands cannot be confined, and
	// what they do is judged by reading them.
	Levels []troupe.Level
	// Protected are absolute paths and patterns ("**" and "*" as in rules) that no mode and no
	// rule leaves open to writing unless it names them.
	Protected []string
	// SafeGit: the repository's own configuration has no programs that git would run.
	SafeGit bool
}

// Layer is one session's part in the line of authority.
type Layer struct {
	Agent string // its path, for messages
	Mode  troupe.Mode
	// Offered are the tools of its profile; nil means all. A tool that is not here is
	// denied, whatever rules say.
	Offered []string
	// Sandbox is the most that commands are left, here and below; "" is no bound of its own.
	Sandbox troupe.Level
	Rules   []Rule
}
