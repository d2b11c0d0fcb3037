// Package gate decides whether a call may run. It is the only place that does: no tool
// asks for permission by itself, and no call reaches a tool without a Decision from here.
//
// Deciding changes nothing and depends on nothing but the Query; the one thing that may leave the process is
// Query.GitChanges, which asks git what a checkout or the like would overwrite. One table is walked in order (see
// table) for the session that calls and again for each of its ancestors, and the strictest answer counts; a child
// can therefore never do what its parent may not, however modes and rules change while both live. Commands are
// taken apart first (package command); what the kernel then lets them do is part of the answer.
package gate

import (
	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// Query is one call to be judged.
type Query struct {
	Tool   string
	Access troupe.Access
	// Chain is the line of authority, the root first and the calling session last.
	Chain []Layer
	// Roots are the folders that count as the session's own, absolute and resolved: its
	// workspace first, then its output folder. Reads and acceptEdits are free only there, and
	// commands begin in the first.
	Roots []string
	// Readable are folders that may be read as the session's own are, and no more than read.
	Readable []string
	// Scratchpad is the folder that the agents of the tree share, one of Roots; "" if there is none. What else lies
	// beside it is of other trees.
	Scratchpad string
	// Home anchors rules that begin with ~/.
	Home string
	// Levels are the sandboxes that this machine has; none: commands cannot be confined, and
	// what they do is judged by reading them.
	Levels []troupe.Level
	// Protected are absolute paths and patterns ("**" and "*" as in rules) that no mode but
	// bypassPermissions, and no rule, leaves open to writing unless the rule names them.
	Protected []string
	// PartOfGit names what is as protected as those and can only be told by what lies beside it: the part of
	// a repository's own folder that a path would be or lie in; "" if it would not. nil: that is not known.
	PartOfGit func(path string) string
	// Closed says why settings keep a path from being written whatever a person answers, "" if they do not; nil: they
	// keep none.
	Closed func(path string) (why string)
	// SafeGit: git runs with everything switched off that a repository's own settings could
	// have it run.
	SafeGit bool
	// Hidden says why a path may not be read by anything that an agent does; nil: nothing is hidden.
	Hidden func(path string) (why string, hidden bool)
	// Bound says why a path is none of those that a server has its agents read, "" if it is one; nil: they read
	// anywhere. Where it is set, commands run in a sandbox or not at all.
	Bound func(path string) (why string)
	// HiddenFiles lists files and folders that are hidden and exist, for what a command may
	// read without naming it; nil: nobody knows. It is asked only where no kernel hides them.
	HiddenFiles func() []string
	// Named is the path by which rules that are offered name a place: of one in a folder that was made for the session,
	// which the next run does not have, that in the tree it was made from (see Mirror). nil: by its own.
	Named func(path string) string
	// Resolve says where an absolute path leads when links are followed, as far as it exists;
	// nil: nobody knows. It is asked about paths that stand in commands; those of Access are
	// resolved by their tools.
	Resolve func(path string) string
	// GitChanges lists the files that a command of git would change in the work tree, absolute; nil args: one about
	// which nothing is known; none: one that runs elsewhere. nil: nobody knows. It is asked only where a sandbox would
	// stop git half-way.
	GitChanges func(args []string) []string
	// Judged is what something else than rules said about the call; nil: nothing.
	Judged *troupe.Judgement

	decided
}

// decided is what is known once a query is decided.
type decided struct {
	known *Tools
	via   *troupe.ToolFacts // the tool that the call is made through; nil: none
}

// Layer is one session's part in the line of authority. All but the first of a chain are children:
// when they call, the whole filter of tools holds for them (see withheld).
type Layer struct {
	// Session is its id: rules may be for one session and those below it.
	Session troupe.SessionID
	Agent   string // its path, for messages
	Mode    troupe.Mode
	// Offered are the tools of its profile; nil means all. A tool that is not here is denied, whatever rules say.
	// Without are those that the profile takes away; they count first.
	Offered []string
	Without []string
	// Starts are the only types of agent that it may start; nil means all.
	Starts []string
	// UserDefined: its profile did not come with the program.
	UserDefined bool
	// Background: nobody waits for it, so it may not stop to deal with people.
	Background bool
	// MayHaveAgents: it may have agents of its own, and so the tools to deal with them.
	MayHaveAgents bool
	// Member: it is a member of a team.
	Member bool
	// Vocabulary is in which words it deals with agents of its own.
	Vocabulary troupe.Vocabulary
	// Sandbox is the most that commands are left, here and below; "" is no bound of its own.
	Sandbox troupe.Level
	// Plan is the file that it may write its plan to while it is in plan mode; "" if it has none.
	Plan string
	// Memory is what it keeps for agents of its type; nil: nothing.
	Memory *troupe.Memory
	// Writes are the only files that it and all below it may change, see Tools.Writes; nil: whatever rules leave it.
	Writes []rule.Rule
	// Managed are the rules of whoever manages the machine. Those that deny come before
	// everything else; the others count like rules of the session.
	Managed []rule.Rule
	Rules   []rule.Rule

	narrowed []narrowing
}

// rules walks what a layer adds to the rules in force, the managed ones first.
func (l *Layer) rules(visit func(r *rule.Rule, managed bool)) {
	for i := range l.Managed {
		visit(&l.Managed[i], true)
	}
	for i := range l.Rules {
		visit(&l.Rules[i], false)
	}
}

// placesOf are what the anchors of the query's paths stand for.
func placesOf(roots []string, home string) rule.Places {
	at := rule.Places{Home: home}
	if len(roots) > 0 {
		at.Project = roots[0]
	}
	return at
}

// Tools is what the gate knows of the tools there are. It does not change.
type Tools struct{ *rule.Tools }

// NewTools makes the gate's view of tools.
func NewTools(facts []troupe.ToolFacts) *Tools { return &Tools{rule.NewTools(facts)} }
