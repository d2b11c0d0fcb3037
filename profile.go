package troupe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Profile is the resolved role a session is born with. It is snapshotted in the session's
// first event and never changes: what is offered to its model on its last day is what was
// offered on its first.
type Profile struct {
	Type        string `json:"type"`             // "main", "Explore", …
	Description string `json:"description"`      // when to use it, for whoever chooses
	Source      string `json:"source,omitempty"` // "built-in", or the file it was read from
	Prompt      string `json:"prompt"`           // system prompt
	// Tools are the names offered, sorted, those behind all others that a client of the API carries out.
	Tools []string `json:"tools"`
	// Deferred are names of tools that are not offered, and that it calls through another tool.
	Deferred []string `json:"deferred,omitempty"`
	// Offer is the hash of the tree's document that holds what its model is told of them; "" in
	// logs of old, where it is told what the tools are now.
	Offer  string `json:"offer,omitempty"`
	Model  string `json:"model"`            // resolved: "provider/id"
	Effort Effort `json:"effort,omitempty"` // of its model, as far as that takes it; "" is the model's own
	Mode   Mode   `json:"mode,omitempty"`   // "" is the parent's, whatever that is at the time
	Limits Limits `json:"limits"`
	// Sandbox is the most that its commands, and those of all below it, are ever left; "" is
	// the parent's.
	Sandbox Level `json:"sandbox,omitempty"`
	// Starts are the only types of agent that it may start; nil: all.
	Starts []string `json:"starts,omitzero"` // empty: none
	Beginning
	Color string `json:"color,omitempty"` // it is shown in; "" is any
	// OmitInstructions: it is not told what people wrote for agents in its folder.
	OmitInstructions bool `json:"omit_instructions,omitempty"`
	// Skills are those whose texts it is told at its birth.
	Skills []string `json:"skills,omitempty"`
	// Memory is what it keeps for agents of its type; nil: nothing.
	Memory *Memory `json:"memory,omitempty"`
	// Vocabulary is in which words it deals with agents of its own; "" is VocabularyAgents.
	Vocabulary Vocabulary `json:"vocabulary,omitempty"`
}

// Beginning is what a profile says of a session's beginning alone.
type Beginning struct {
	// InitialPrompt stands before the first prompt that it is given.
	InitialPrompt string `json:"initial_prompt,omitempty"`
	// Background: it goes to work in the background, whether or not the call says so.
	Background bool `json:"background,omitempty"`
	// Workspace is where it works, if the call does not say so; "" is where its parent does.
	Workspace WorkspaceKind `json:"workspace,omitempty"`
	// Merge is what becomes of its work in a folder of its own, if the call does not say so; "" is MergeKeep.
	Merge MergeBack `json:"merge,omitempty"`
	// Coordinates: it has others do all work, which they do in the background, and starts no forks.
	Coordinates bool `json:"coordinates,omitempty"`
	// Workflow: its prompt is a workflow, which its model follows. As a sub-agent it ends when its steps have.
	Workflow bool `json:"workflow,omitempty"`
	// Team is the team that it is a member of, which its parent leads; "": none.
	Team string `json:"team,omitempty"`
	// Schema is the JSON schema that the result of each of its runs has to follow; nil: they end with words.
	Schema json.RawMessage `json:"output_schema,omitempty"`
	// Writes are patterns of the only files that it and all below it may change, from its folder on; nil: all that
	// rules and modes leave it.
	Writes []string `json:"writes,omitempty"`
	// Verify: what it changed is checked by a Verification agent before its result is handed over.
	Verify bool `json:"verify,omitempty"`
	// Fork: it is a fork of a session with this profile.
	Fork bool `json:"fork,omitempty"`
	// Notes say what of its definition does not hold here, such as a model that is not to be had.
	Notes []string `json:"notes,omitempty"`
}

// Colors are those that an agent can be shown in.
func Colors() []string {
	return []string{"red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"}
}

// Kind is what the session is to people: its type of agent, or a fork.
func (p *Profile) Kind() string {
	if p.Fork {
		return ForkAgent
	}
	return p.Type
}

// BuiltIn is the Source of a profile that came with the program.
const BuiltIn = "built-in"

// Limits bound one session. Zero means no limit.
type Limits struct {
	MaxTurns  int   `json:"max_turns,omitempty"`  // model replies per run
	MaxTokens int64 `json:"max_tokens,omitempty"` // tokens of any kind, over its life
	MaxCost   Money `json:"max_cost,omitempty"`   // over its life
	// MaxTime bounds one run, by the clock; a root's bounds its whole tree, also when its own
	// run has ended.
	MaxTime time.Duration `json:"max_time,omitempty"`
}

// Caps bound a whole tree. They are checked in the transaction of each birth; tokens and
// money in the one that seals each model call, which reserves what the call may cost. A call
// that turns out dearer than its reservation overshoots by the difference. Zero means no
// limit, except for MaxDepth.
type Caps struct {
	MaxDepth int `json:"max_depth"` // 0: no children; 1: children of the root
	// MaxActive is how many sessions below the root are at work at once; more wait in
	// Spawning. With more than one level, parents that wake may go beyond it.
	MaxActive int `json:"max_active,omitempty"`
	// MaxTotal is how many sessions are born below the root between one prompt of a person and the next.
	MaxTotal  int   `json:"max_total,omitempty"`
	MaxTokens int64 `json:"max_tokens,omitempty"`
	MaxCost   Money `json:"max_cost,omitempty"`
	MaxTurns  int64 `json:"max_turns,omitempty"` // model replies of all sessions together
	// AskAbove is the money above which starting several agents at once is asked about.
	AskAbove Money `json:"ask_above,omitempty"`
}

// Mode is a permission mode as people name it. The gate knows what each means.
type Mode string

// Permission modes.
const (
	ModeDefault     Mode = "default"
	ModeAcceptEdits Mode = "acceptEdits"
	ModePlan        Mode = "plan"
	ModeAuto        Mode = "auto"
	ModeDontAsk     Mode = "dontAsk"
	ModeBypass      Mode = "bypassPermissions"
)

// Modes lists the modes, most careful first among equals in help texts.
func Modes() []Mode {
	return []Mode{ModeDefault, ModeAcceptEdits, ModePlan, ModeAuto, ModeDontAsk, ModeBypass}
}

// ModeNames lists the modes in words; last stands before the last of them.
func ModeNames(last string) string {
	var names []string
	for _, m := range Modes() {
		names = append(names, string(m))
	}
	n := len(names) - 1
	return strings.Join(names[:n], ", ") + last + names[n]
}

// ParseMode is the mode that a person named.
func ParseMode(name string) (Mode, error) {
	if m := Mode(name); slices.Contains(Modes(), m) {
		return m, nil
	}
	return "", &UserError{
		Problem: fmt.Sprintf("there is no permission mode %q", name),
		Hint:    "The modes are " + ModeNames(", ") + ".", Code: ExitUsage,
	}
}

// Effect is what a rule or a decision says about a call.
type Effect string

// Effects, strictest first.
const (
	Deny  Effect = "deny"
	Ask   Effect = "ask"
	Allow Effect = "allow"
)

// Rule is one permission rule as a person wrote it.
type Rule struct {
	Effect Effect `json:"effect"`
	Text   string `json:"text"`   // "Bash(go test ./...)", "Read(//etc/**)", "Edit"
	Source string `json:"source"` // the file or flag it came from, for messages
	// Folder is where paths begin that say nothing else; "" is the session's own.
	Folder string `json:"folder,omitempty"`
	// For is the one session, with all below it, that an allow rule is for; "": all of them.
	For SessionID `json:"for,omitempty"`
	// Managed: it was set by whoever manages the machine. What it denies nothing lifts.
	Managed bool `json:"managed,omitempty"`
	// Bounded: who gave it may have agents work in the sandbox of a server, and no more. It lets nothing that is
	// protected be written, and nothing run outside of the sandbox.
	Bounded bool `json:"bounded,omitempty"`
}

// grantedBy begins the source of a rule that a person's answer gave a session.
const grantedBy = "granted by "

// GrantedBy is the source of a rule that an answer of by gave a session.
func GrantedBy(by string) string { return grantedBy + by }

// Granted reports whether a person's answer gave the rule to its session. It holds for as long as that lives.
func (r Rule) Granted() bool { return strings.HasPrefix(r.Source, grantedBy) }

// Authority is what a session was granted besides its profile: a mode and rules that hold
// for it and for every descendant.
type Authority struct {
	Mode  Mode   `json:"mode,omitempty"` // "" is the parent's
	Rules []Rule `json:"rules,omitempty"`
	// Planning is set while the session plans.
	Planning *Planning `json:"planning,omitempty"`
	// AutoModel is the model that judges in mode auto, "provider/id"; "" if the user has chosen none. That of the root
	// counts for its whole tree.
	AutoModel string `json:"auto_model,omitempty"`
}

// Step names what decided: a row of the gate's table ("deny rule", "mode"), an answer, a price. It
// explains a decision and is never acted on outside the gate.
type Step string

// Decision is the gate's answer about one call.
type Decision struct {
	Effect Effect `json:"effect"`
	Step   Step   `json:"step"`
	// Protected: of what is asked about, it would change files that hold for later sessions.
	Protected bool `json:"protected,omitempty"`
	// Unconfined: what is asked about is done outside of the sandbox, by what is no command.
	Unconfined bool   `json:"unconfined,omitempty"`
	Rule       string `json:"rule,omitempty"`   // the rule's text, if one decided
	Source     string `json:"source,omitempty"` // where that rule stands
	Why        string `json:"why,omitempty"`    // one sentence for people
	// Grant is a rule that would have allowed the call; empty if none could.
	Grant string `json:"grant,omitempty"`
	// Wider is the rule that would have allowed its like in the same folder as well; empty if there is none.
	Wider string `json:"wider,omitempty"`
	// Sandbox is the level that an allowed command runs in; "" for calls that are none.
	Sandbox Level `json:"sandbox,omitempty"`
	// Beyond is what becomes of attempts that the sandbox did not let pass: Ask, or Deny where
	// nothing would allow them. "" if there is no sandbox.
	Beyond Effect `json:"beyond,omitempty"`
	// Opens are protected files that the command may write in its sandbox all the same: rules name them, or
	// the question does.
	Opens []string `json:"opens,omitempty"`
	// Auto: of what is asked about, in Effect or Beyond, the model of mode auto is asked first, and its yes counts.
	Auto bool `json:"auto,omitempty"`
}
