package wire

import (
	"encoding/json"

	"github.com/troupe-dev/troupe"
)

// Permissions are what flags say about what agents may do, on top of the settings.
type Permissions struct {
	Mode  troupe.Mode `json:"mode,omitempty"`
	Allow []string    `json:"allow,omitempty"` // rules
	Deny  []string    `json:"deny,omitempty"`
	// Trust the folder as it is: what its own files allow counts from here on.
	Trust bool `json:"trust,omitempty"`
}

// Taking says what is done to have a session go on that could not by itself.
type Taking struct {
	// TakeOver takes it from a process that does not answer. It is for the surface that has the home open.
	TakeOver bool `json:"-"`
	// Wake has a session go on that was put away; without it, it is refused. It is named by Resume.
	Wake bool `json:"wake,omitempty"`
	// Left takes up a session that a process has left, as it was set to work; nothing else is set going. Root is the id
	// that a new one gets. Both are for the server that keeps sessions going.
	Left bool `json:"-"`
	// Exact means that folder and no other.
	Exact bool             `json:"exact_folder,omitempty" doc:"In this cwd or not at all; else a server that has just one folder takes that"`
	Root  troupe.SessionID `json:"-"`
}

// Begin asks for a run. Zero fields leave the choice to the settings, or, when a session goes on,
// to what it was born with.
type Begin struct {
	Prompt string `json:"prompt,omitempty"`
	Spoken
	Cwd  string `json:"cwd"`
	Name string `json:"name,omitempty"` // of a new session

	// Resume is a session to go on with (see Find); Continue means the newest of Cwd.
	Resume   string `json:"resume,omitempty"`
	Continue bool   `json:"continue,omitempty"`
	Taking
	// Idle takes a session up without setting it going.
	Idle bool `json:"idle,omitempty"`

	Permissions
	Model     string        `json:"model,omitempty"`
	Effort    troupe.Effort `json:"effort,omitempty"`   // of the model of the main agent
	Fallback  string        `json:"fallback,omitempty"` // the model to go on with when the chosen one is not to be had
	MaxTurns  int           `json:"max_turns,omitempty"`
	MaxUSD    float64       `json:"max_usd,omitempty"` // of the whole tree, as are tokens
	MaxTokens int64         `json:"max_tokens,omitempty"`
	MaxAgents int           `json:"max_agents,omitempty"` // started after each prompt of a person
	MaxMS     int64         `json:"max_ms,omitempty"`     // of the tree, from when it was set to work
	Role
	// Attended: a person is there to answer requests. They wait for AskMS, or else for as long as the
	// settings say. Where no one is there they wait for AskMS, and without it are denied at once. Both
	// are of the surface that begins or goes on, and are not kept from one to the next.
	Attended bool  `json:"attended,omitempty"`
	AskMS    int64 `json:"ask_ms,omitempty"`
}

// Role is what the main agent of a new session is, where it works, and which types of agents there are besides those of
// files.
type Role struct {
	// OutputSchema is the JSON schema that the result has to follow; nil: it is words.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	// Agent is the type of agent that the session runs as; "" is main.
	Agent string `json:"agent,omitempty"`
	// Memory is the type of agents whose memory the session has; "": its own type's.
	Memory string `json:"memory,omitempty"`
	// AppendText goes to the main agent's system prompt, Agents are definitions of agents as JSON.
	AppendText string `json:"append_text,omitempty"`
	// Worktree has it work in a worktree of its own; "" is one whose name is made up. nil: it works in Cwd, or as Agent
	// says.
	Worktree *string `json:"worktree,omitempty"`
	Repository
	// Workspace is where it works, before what Agent says; "": as that says, or in Worktree.
	Workspace troupe.WorkspaceKind `json:"workspace,omitempty" enum:"worktree,copy,shared_rw,shared_ro,isolated,empty"`
	Agents    string               `json:"agents,omitempty"`
	// Tools are those that whoever begins the session carries out.
	Tools []ClientTool `json:"tools,omitempty" doc:"Tools that the client carries out: each call of one is a request of kind tool, which is answered with what came of it"`
	// Team has it lead a team from its birth on.
	Team *NewTeam `json:"team,omitempty"`
}

// Repository is what a new session begins with in the place of a folder: a server checks it out, and the session has a
// worktree of that.
type Repository struct {
	Repo string `json:"repo,omitempty" maxLength:"1000" doc:"Address of a repository, such as https://github.com/you/app, from a host that the server lists"`
	Ref  string `json:"ref,omitempty" maxLength:"500" doc:"Branch, tag or whole commit of it; empty for its usual branch"`
	Push bool   `json:"push,omitempty" doc:"The work is pushed as a branch at the end of each run"`
	// PullRequest has one opened for that branch, too.
	PullRequest bool `json:"pull_request,omitempty" doc:"With push: a pull request is opened for the branch"`
}

// Anywhere reports whether the folder does not say where it works: it goes on with a session, or has a repository.
func (b Begin) Anywhere() bool { return b.Resume != "" || b.Repo != "" }

// NewTeam is a team that a session begins with: a standing one of the settings, or one of a size.
type NewTeam struct {
	Name string `json:"name,omitempty" doc:"A team of the settings; without one, size and type say what it is"`
	Size int    `json:"size,omitempty" doc:"How many agents it has, the main one among them"`
	Type string `json:"type,omitempty" doc:"Of its members; empty for the general one"`
}

// Begun is a tree that was set to work.
type Begun struct {
	Root     troupe.SessionID `json:"root"`
	Warnings []string         `json:"warnings,omitempty"`
	// Before are its sessions before it was resumed; none if it is new.
	Before []Session `json:"before,omitempty"`
	// After is where its logs ended then: what is followed from there is of this run.
	After map[troupe.SessionID]int64 `json:"after,omitempty"`
}

// Follow asks for the events of a tree.
type Follow struct {
	Root troupe.SessionID
	Only troupe.SessionID           // one session of it; "" is all
	From map[troupe.SessionID]int64 // the last event that was seen of each; nil: none was
	// Deltas asks for pieces of replies too.
	Deltas bool
	// Paged asks for few events at once, where many are read from the log.
	Paged bool
}

// Batch is what has happened since the batch before. The event that a delta's call began with is in
// the same batch or in one before, the event that ends its reply in the same or in one behind.
type Batch struct {
	Deltas []Delta
	Events []troupe.Event
}
