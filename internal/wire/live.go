package wire

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// Attached begins what a surface puts behind a person's words: files, in blocks. No words of theirs stand behind it.
const Attached = "\n\n<attached-"

// Spoken is what comes with a person's words.
type Spoken struct {
	// Typed is what of them the person typed, where others came with theirs, as by a pipe; absent: all.
	Typed  *string        `json:"typed,omitempty"`
	Images []troupe.Image `json:"images,omitempty"`
	// Read are files that stand whole in the words, by absolute path and hash: they count as read.
	Read []troupe.FileTouch `json:"read,omitempty"`
	// Once is a key of the caller's for these words.
	Once string `json:"idempotency_key,omitempty" maxLength:"128" doc:"Words of the same caller with the same key count once: a call that is made again begins no second session, and says nothing twice"`
}

// Message is words for a session: a prompt, or steering while it works.
type Message struct {
	Text string `json:"text"`
	Spoken
	// Cancel has the session stop after the step it is in; the words are in its log by then.
	Cancel bool `json:"cancel,omitempty"`
	// Fork has a fork of the session do what the text says; the session itself goes on as it was.
	Fork bool `json:"fork,omitempty"`
}

// Sent says what became of a message.
type Sent struct {
	Session troupe.SessionID `json:"session"`
	Mail    troupe.MailID    `json:"mail"`
	// Effect is what happens now: "steers" a run under way, "resumes" one that had ended, or
	// "waits" because no process runs the session; it is read when somebody resumes it. "forks": a fork begins.
	Effect string `json:"effect"`
}

// Sleep puts a tree away.
type Sleep struct {
	WithinMS int64 `json:"within_ms,omitempty" doc:"How long replies and calls under way are waited for before they are cut off; 0: ten seconds"`
	Now      bool  `json:"now,omitempty" doc:"They are cut off at once"`
}

// Slept is what became of a tree that was put away.
type Slept struct {
	Session  troupe.SessionID `json:"session"`
	Models   int              `json:"models,omitempty" doc:"How many replies were cut off; they are asked for again"`
	Calls    []string         `json:"calls,omitempty" doc:"The tools whose calls were cut off; they may have taken effect"`
	Commands []string         `json:"commands,omitempty" doc:"The commands in the background that were ended"`
	Folders  []SleptFolder    `json:"folders,omitempty" doc:"The folders of their own of agents that are not done"`
	Problem  string           `json:"problem,omitempty" doc:"Why these could not be listed; all of them stay then"`
}

// SleptFolder is a worktree, copy or folder of an agent that sleeps.
type SleptFolder struct {
	Name   string `json:"name"`
	Folder string `json:"folder"`
	Gone   bool   `json:"gone" doc:"It was removed, and is made again when it is needed"`
	Why    string `json:"why,omitempty" doc:"Why it stays"`
}

// Stop asks for the end of a run.
type Stop struct {
	Now  bool `json:"now,omitempty"`  // interrupt; otherwise the step it is in is finished
	Tree bool `json:"tree,omitempty"` // its tasks in the background too
	// Task is a command of the session's in the background that alone is ended.
	Task troupe.TaskID `json:"task,omitempty"`
	// Kept: where no process has the session it waits for the one that takes it up. For the server that keeps it going.
	Kept bool `json:"-"`
}

// Task is something at work on a session's behalf.
type Task struct {
	Session    troupe.SessionID  `json:"session"` // whose task it is; a main agent at work is its own
	Root       troupe.SessionID  `json:"root"`
	Path       string            `json:"path"` // of that session
	ID         troupe.TaskID     `json:"id"`
	Kind       troupe.TaskKind   `json:"kind"`
	Name       string            `json:"name"`
	Title      string            `json:"title,omitempty"`
	Status     troupe.TaskStatus `json:"status"`
	Background bool              `json:"background"`
	Output     string            `json:"output,omitempty"`
	DurationMS int64             `json:"duration_ms"`
	// Doing is what an agent is at right now: its status, or what it waits for, until when and why.
	Doing string `json:"doing,omitempty"`
	// Left: it had not ended, and no living process runs it. Whoever resumes the tree finds out
	// what became of it.
	Left bool `json:"left,omitempty"`
	// Asleep: its tree was put away.
	Asleep bool `json:"asleep,omitempty"`
	// Number is an agent's, as in Session.
	Number int `json:"number,omitempty"`
}

// Request is an open question to somebody with authority.
type Request struct {
	ID      string             `json:"id"` // any unique beginning of it will do
	Kind    troupe.RequestKind `json:"kind"`
	Session troupe.SessionID   `json:"session"`
	Root    troupe.SessionID   `json:"root"`
	Path    string             `json:"path"` // who asks: "main/Auth Explorer"
	Tool    string             `json:"tool"`
	Action  string             `json:"action"` // the exact command, change or input
	Why     string             `json:"why"`    // why it is asked
	Rule    string             `json:"rule,omitempty"`
	Grant   string             `json:"grant,omitempty"` // the rule that would allow it from now on
	Since   time.Time          `json:"since"`
	Until   time.Time          `json:"until,omitzero"` // denied then, if nobody has answered
	Running bool               `json:"running"`        // a process waits for the answer
	Calls   int                `json:"calls"`          // how many calls the answer is for
	// Input is that of the call that a request of kind tool is about, and Call where it stands in the session's log.
	Input json.RawMessage `json:"input,omitempty" doc:"Of kind tool: the input of the call"`
	Call  *troupe.Coord   `json:"call,omitempty" doc:"Of kind tool: the call, by the number of its reply and its place in it"`
	// Questions are what a request of kind question asks; Action has them as text.
	Questions []troupe.Question `json:"questions,omitempty"`
	// Server is the MCP server that asks them; "": the agent does. Without an answer it is declined.
	Server string `json:"server,omitempty"`
	// Wants is what a command attempted in its sandbox and was not let; leave to run it is leave
	// for these. Output is what it had printed by then.
	Wants  []troupe.Attempt `json:"wants,omitempty"`
	Output string           `json:"output,omitempty"`
	Beyond
	// Worktree is the folder of its own that the agent works in, and WorktreeName what it is called by; "": it works in
	// Folder.
	Worktree     string `json:"worktree,omitempty"`
	WorktreeName string `json:"worktree_name,omitempty"`
	// Folder is the one whose settings hold for the agent, and File what the rule Grant is written into if the
	// answer is "always": it holds for that folder.
	Folder string `json:"folder"`
	File   string `json:"file,omitempty"`
	// NoAlways: who asks for the request may not answer it with "always".
	NoAlways bool `json:"no_always,omitempty"`
}

// Listed are the things that a command wanted, in words, where they are more than Why can tell.
func (r Request) Listed() []string {
	if len(r.Wants) <= troupe.MostTold {
		return nil
	}
	out := make([]string, 0, len(r.Wants))
	for _, w := range r.Wants {
		out = append(out, w.String())
	}
	return out
}

// Beyond is what would allow more than the call that a request is about.
type Beyond struct {
	// Wider is the rule that would allow the like of it in the same folder as well.
	Wider string `json:"wider,omitempty"`
	// Mode is the mode of the session in which it would not be asked about.
	Mode troupe.Mode `json:"mode,omitempty"`
	// Rules are what leave grants besides to the agents that are started with it.
	Rules []string `json:"rules,omitempty"`
}

// WiderFolder is the folder that Wider is about, absolute; "" if it names none.
func (b Beyond) WiderFolder() string {
	_, pattern, found := strings.Cut(b.Wider, "(/")
	pattern, below := strings.CutSuffix(pattern, "/**)")
	if !found || !below || !strings.HasPrefix(pattern, "/") {
		return ""
	}
	var out strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) { // as rules write what is no wildcard
			i++
		}
		out.WriteByte(pattern[i])
	}
	return out.String()
}

// Answer answers a request.
type Answer struct {
	Allow bool `json:"allow"`
	// Session grants what the request's Grant says to the whole tree, for as long as it lives.
	Session bool `json:"session,omitempty"`
	// Wider grants what its Wider says, in the same way.
	Wider bool `json:"wider,omitempty"`
	// Always also writes that rule into the request's File, for this folder and all sessions to come.
	Always bool   `json:"always,omitempty"`
	Note   string `json:"note,omitempty"` // words for the agent
	// Mode is the one in which an approved plan is carried out: acceptEdits; "" is the one before the plan.
	Mode troupe.Mode `json:"mode,omitempty"`
	// Answers are what is said to the questions of a request, one for each in their order: with Allow.
	Answers []troupe.Said `json:"answers,omitempty"`
	// Result is what came of the call of a request of kind tool.
	Result *troupe.Carried `json:"result,omitempty" doc:"Of kind tool: what came of the call; without it, that it was not carried out, for the reason in the note"`
	// Once is a key of the caller's for this answer.
	Once string `json:"idempotency_key,omitempty" maxLength:"128" doc:"The same answer of the same caller, made again with the same key, is taken as the first one was"`
}

// Cost is the bill of a tree.
type Cost struct {
	SessionID troupe.SessionID `json:"session_id"`
	Usage     troupe.Usage     `json:"usage"`
	CostUSD   float64          `json:"cost_usd"`
	Unpriced  []string         `json:"unpriced,omitempty"`
	Limits    []Limit          `json:"limits"`
	Agents    []Account        `json:"agents"`
	Shared    *Shared          `json:"shared,omitempty"`
	Spared    *Spared          `json:"spared,omitempty"`
}

// Sessions are those of the accounts.
func (c Cost) Sessions() (out []Session) {
	for _, a := range c.Agents {
		out = append(out, a.Session)
	}
	return out
}

// Account is a session with what it has saved by sharing.
type Account struct {
	Session
	Shared *Shared `json:"shared,omitempty"`
}

// Shared is what first calls of sessions have read from the provider's cache, where others had it written.
type Shared struct {
	Tokens   int64   `json:"tokens"`
	SavedUSD float64 `json:"saved_usd" doc:"Against writing them to the cache; 0 where no price is known"`
}

// Spared is what the main agent was told of instructions and agents of some types are not.
type Spared struct {
	Agents int   `json:"agents"`
	Calls  int   `json:"calls"`  // of a model that they made without them
	Tokens int64 `json:"tokens"` // in all of these, by an estimate of the instructions' size
}

// Context is what stands in the context of a session: what its next model call sends.
type Context struct {
	Session Session `json:"session"`
	Window  int64   `json:"window"` // tokens that the model takes; 0: that is not known
	// Tokens are what the provider counted for the last call, and an estimate of what has come since; before the first
	// call all of it is one.
	Tokens int64                `json:"tokens"`
	Bytes  int64                `json:"bytes"`
	Parts  []troupe.ContextPart `json:"parts"`
}

// Names of limits. Turns and time are those of the main agent's run, the others the whole tree's.
const (
	LimitTokens = "tokens"
	LimitCost   = "cost_usd"
	LimitAgents = "agents"
	LimitTurns  = "turns"
	LimitAll    = "all_turns"
	LimitTime   = "time_ms"
)

// Limit is one of a tree's limits and how much of it is used.
type Limit struct {
	Name  string  `json:"name"`
	Used  float64 `json:"used"`
	Limit float64 `json:"limit"`
}

// Delta is a piece of a reply on its way. Deltas may be dropped; the event that follows
// holds everything.
type Delta struct {
	Session  troupe.SessionID `json:"session"`
	Text     string           `json:"text,omitempty"`
	Thinking string           `json:"thinking,omitempty"`
	Tool     string           `json:"tool,omitempty"` // a call of this tool begins
	// Output is the end of what a command has printed so far, Stage what keeps it from running ("hidden",
	// "processor", "repository"; "runs" when that is over), and Call the call that it is of. Such a
	// piece is no part of a reply and has no number.
	Output string       `json:"output,omitempty"`
	Stage  troupe.Stage `json:"stage,omitempty"`
	Call   troupe.Coord `json:"call,omitzero"`
	// Done of All files of the folder that is made for the session are there. Such a piece has the stage "workspace",
	// is of no call, and comes a few times a second while that goes on.
	Done int `json:"done,omitempty"`
	All  int `json:"all,omitempty"`
	// After is the last event of the session that was committed when the call began: the piece is
	// part of the reply whose event is the next one that ends a reply. No counts the pieces of one
	// call from 1, so that a reader notices one that is missing.
	After int64 `json:"after"`
	No    int64 `json:"no"`
}

// Import says where a tree from a file is to work, and as what. Model is the one of all its agents; "": each has its
// own, if that is to be had.
type Import struct {
	Cwd, Name, Model string
}

// Imported is a tree that came from another home in a file.
type Imported struct {
	Session   troupe.SessionID
	Name, Cwd string
	From      string // the folder that it worked in there
	Notes     []string
}
