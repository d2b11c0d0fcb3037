package troupe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Tool is what a model is told about one tool.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the input object
}

// ToolFacts is what is known of a tool besides what a model is told: who judges, offers,
// schedules and shows calls goes by these, never by a list of names.
type ToolFacts struct {
	Name string
	// Class is the most that a call does, apart from what a command or an agent goes on to do.
	Class    Class
	Schedule Schedule
	Holder   Holder
	// Background: a call may ask to go on in the background.
	Background bool
	// Client: a client of the API carries its calls out. Only trees that were begun with it have it.
	Client bool
	// Argument is what stands in the parentheses of rules about the tool.
	Argument Argument
	// Like names the tool whose rules hold for this one too: Read for Grep.
	Like string
	// Vocabulary is the one that the tool is a word of; "": all agents can have it, whichever they have.
	Vocabulary Vocabulary
	// Overwrites: what a file held before does not matter to a call that changes it.
	Overwrites bool
	// Doing says what a call does with its path, for people: "reading".
	Doing string
	// OldName is an older name, which means the tool wherever people write it.
	OldName string
	// Aliases are other programs' names for it that can mean nothing else. Slips are what
	// people write who probably mean it: that guards, and gives nothing. In lower case.
	Aliases, Misspellings []string
}

// Stage is how far a call is that has begun, for people who watch.
type Stage string

// Stages of a command. The first four keep it from running.
const (
	StageHidden     Stage = "hidden"     // the project is looked through for files that it may not read
	StageProcessor  Stage = "processor"  // as many commands as the processors take are at work
	StageWorkspace  Stage = "workspace"  // the folder that the session is to work in is made or saved
	StageRepository Stage = "repository" // another command of git is at work in the repository
	StageRuns       Stage = "runs"
)

// Schedule is how calls of one tool may be arranged with others of the same reply.
type Schedule int

// Ways to arrange calls. Runs of Parallel calls, and runs of Birth calls, go side by side;
// each Alone call waits for all before it, and all after it wait for it. So a read never
// sees the state before an edit that stands before it in the reply, nor after one that
// stands behind it.
const (
	Alone Schedule = iota
	Parallel
	Birth
)

// Holder is who may have a tool.
type Holder int

// Holders. The main agent may have every tool.
const (
	AnyAgent Holder = iota
	// Parents: agents that may have agents of their own.
	Parents
	// MainAgent: it stops a conversation to deal with people, or makes teams.
	MainAgent
	// Members: the main agent, and members of its team.
	Members
	// Correspondents: agents that may have agents of their own, and members of a team.
	Correspondents
	// NamedAgents: the main agent, and agents whose definition names the tool.
	NamedAgents
	// Planners: the main agent, and children in plan mode.
	Planners
	// BuiltInTypes: what it starts outlasts the agent.
	BuiltInTypes
	// Reporters: agents that were born with a schema for their result, whatever else is said of tools.
	Reporters
)

// Argument is what a rule about a tool may be narrowed to: Bash(command), Read(path).
type Argument int

// Arguments of rules.
const (
	NoArgument Argument = iota
	CommandArgument
	PathArgument
	DomainArgument
	AgentArgument    // a type of agent
	ReceiverArgument // an agent's name
	SkillArgument
)

// Class is how much of the world a call may change. Classes are ordered: a mode that
// allows one allows those before it.
type Class int

// Classes of call.
const (
	// ClassRead changes nothing and may run beside other reads, and again after a crash.
	ClassRead Class = iota
	// ClassEdit writes files that it names.
	ClassEdit
	// ClassExec may do anything the process may.
	ClassExec
)

// Access is what a call declares it would do, made from its decoded input before anything
// runs. The gate judges it.
type Access struct {
	Class Class `json:"class"`
	// Reads and Writes are absolute, cleaned paths.
	Reads  []string `json:"reads,omitempty"`
	Writes []string `json:"writes,omitempty"`
	// Command is the exact shell command, if there is one.
	Command string `json:"command,omitempty"`
	// Agent is the type of agent asked for, if the call is a birth; of a message the agent that it is for.
	Agent string `json:"agent,omitempty"`
	// Tool is the tool that the call is about, if it is made through another one: rules about it hold.
	Tool string `json:"tool,omitempty"`
	// URL is what would be fetched, if the call goes to the network by itself.
	URL string `json:"url,omitempty"`
	// Ask is why a person has to say yes to the call, whatever a mode or a rule allows; "": nobody has to.
	Ask string `json:"ask,omitempty"`
	// Client: a client of the API carries the call out, elsewhere, if it wants to.
	Client bool `json:"client,omitempty"`
	// Unconfined: what the call has done is done on this machine and outside of the sandbox.
	Unconfined bool `json:"unconfined,omitempty"`
}

// Evidence is what the runtime itself measured while a call ran. It stands beside an
// agent's words and does not come from them.
type Evidence struct {
	Files    []FileTouch  `json:"files,omitempty"`
	More     int          `json:"more_files,omitempty"` // files that were written too and are not listed
	Commands []CommandRun `json:"commands,omitempty"`
	// Unseen counts commands and other calls of which it is not known which files they changed: nothing watched them,
	// or what was seen is lost.
	Unseen int `json:"unseen,omitempty"`
	// Denied lists calls that permissions refused, children's included.
	Denied []Denial `json:"denied,omitempty"`
}

// Denial is a call that permissions refused.
type Denial struct {
	Agent string `json:"agent,omitempty"` // path below the session that holds this; "" is itself
	Tool  string `json:"tool"`
	Why   string `json:"why"`
	Grant string `json:"grant,omitempty"` // a rule that would have allowed it
}

// FileTouch records that a tool read or wrote a file, and the content it then had.
type FileTouch struct {
	Path  string `json:"path"` // absolute
	Hash  string `json:"hash"` // hex SHA-256 of the content, cut to 32 digits
	Wrote bool   `json:"wrote,omitempty"`
	// Before is the hash of the content that a write replaced, if that content was kept; a
	// write with New set replaced nothing. Undo goes by both.
	Before string `json:"before,omitempty"`
	New    bool   `json:"new,omitempty"`
	Gone   bool   `json:"gone,omitempty"` // it was there, and is no more; only in the evidence of a run
	// Of a merge. Link: it is a link now, and WasLink: it was one; the hash is of where it leads. Mode is that of the
	// file which was replaced, since a merge changes what can be executed too.
	Link    bool   `json:"link,omitempty"`
	WasLink bool   `json:"was_link,omitempty"`
	Mode    uint32 `json:"mode,omitempty"`
	// Uncounted: a command changed it, and its lines were not counted; only in the evidence of a run.
	Uncounted bool `json:"uncounted,omitempty"`
	// Lines added and removed by a write, against the content before it.
	Added   int `json:"added,omitempty"`
	Removed int `json:"removed,omitempty"`
}

// ContentHash is the hash by which content is known in FileTouch.
func ContentHash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}

// CommandRun records one finished shell command.
type CommandRun struct {
	Command    string `json:"command"`
	ExitCode   int    `json:"exit_code"` // -1: ended by a signal or a timeout
	DurationMS int64  `json:"duration_ms"`
	// Tests is what a known test runner printed about itself; nil if none was recognised.
	Tests *TestCount `json:"tests,omitempty"`
	// Sandbox is the level it ran in, and Watched what was seen of it; nil if nobody watched.
	Sandbox Level    `json:"sandbox,omitempty"`
	Watched *Watched `json:"watched,omitempty"`
}

// Unseen reports whether it is not known what the command changed.
func (c CommandRun) Unseen() bool {
	switch c.Sandbox {
	case LevelReadOnly:
		return false
	case LevelGranted, LevelWorkspace:
		return c.Watched == nil || c.Watched.Blind
	case LevelNone:
	}
	return true
}

// TestCount is a test runner's own closing count.
type TestCount struct {
	Runner string `json:"runner"` // "go test", "pytest", …
	Passed int    `json:"passed"`
	Failed int    `json:"failed"`
}

// ReportTool is the tool with which an agent gives a result that has to follow a schema.
const ReportTool = "SyntheticOutput"

// GeneralAgent is the type of an agent for which no other was asked.
const GeneralAgent = "general-purpose"

// Spawn is the Agent tool's decoded input: a session to be born.
type Spawn struct {
	Description string
	Prompt      string
	Type        string // name of a profile; "" means GeneralAgent
	Model       string // alias or id; "" means the profile's
	Name        string // "" means one made from Description
	MaxTurns    int    // 0 means the profile's
	Effort      Effort // "" means the profile's
	// Tools are the only ones of the profile's that it gets, and Without some that it does not get; nil: all of it.
	Tools, Without []string
	// Role is its system prompt in the place of the profile's, for work that no type is for.
	Role string
	// Background: the call is answered at once, and the end comes as mail.
	Background bool
	// Fork: it goes on from the caller's conversation, with all that the caller has.
	Fork bool
	// Wait: the call waits for a fork, which else works in the background.
	Wait bool
	// Workspace is where it works: "" leaves that to its type, and WorkspaceShared is the caller's folder whatever its
	// type says.
	Workspace WorkspaceKind
	// Merge is what becomes of its work, if it has a folder of its own: "" leaves that to its type.
	Merge MergeBack
	// Team is the team of the caller's that it joins, as a member that stays; "": none.
	Team string
	// Schema is the JSON schema that its result has to follow; "" leaves that to its type.
	Schema string
	// Writes are patterns of the only files that it may change; nil: whatever its authority leaves it.
	Writes []string
	// Verify: a Verification agent checks what it changed, before its result is handed over.
	Verify bool
	// Subagent is what a call of spawn_subagent says besides; the zero value: another tool asks for the birth.
	Subagent SubagentSpawn
}

// Settled is the call with what it leaves open: where it names no type and asks for nothing that a fork cannot have, it
// asks for a fork if those are the default, and else for GeneralAgent.
func (s Spawn) Settled(forks bool) Spawn {
	plain := s.Model == "" && s.Effort == "" && s.Role == "" && s.Tools == nil && s.Without == nil &&
		s.Schema == ""
	switch {
	case s.Fork, s.Type == "" && forks && plain:
		s.Fork, s.Type, s.Background = true, ForkAgent, !s.Wait
	case s.Type == "":
		s.Type = GeneralAgent
	}
	return s
}
