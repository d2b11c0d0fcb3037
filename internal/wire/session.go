package wire

import (
	"encoding/json"
	"time"

	"github.com/troupe-dev/troupe"
)

// AgentCoordinator is the type whose agents go on when it is stopped, unless all of the tree is.
const AgentCoordinator = "coordinator"

// Session is one session, wherever one is shown: who it is, how far it has come, and what it has
// used itself.
type Session struct {
	ID     troupe.SessionID `json:"id"`
	Root   troupe.SessionID `json:"root" doc:"The main agent of its tree"`
	Parent troupe.SessionID `json:"parent" doc:"Empty for a main agent"`
	Coord  troupe.Coord     `json:"coord,omitzero" doc:"The call of the parent that asked for it"`
	Name   string           `json:"name"`
	Path   string           `json:"path" doc:"Its ancestors' names and its own, as people name it"`
	Type   string           `json:"type"`
	Title  string           `json:"title"`
	By     string           `json:"begun_by,omitempty" doc:"Of a main agent: the name of the user who began it"`
	Depth  int              `json:"depth"`
	Cwd    string           `json:"cwd"`
	// Workspace is nil if its tools act in Cwd.
	Workspace *troupe.Workspace `json:"workspace,omitempty" doc:"The folder that its tools act in, if that is not cwd"`
	Model     string            `json:"model"`

	Status  troupe.Status     `json:"status"`
	Waiting troupe.WaitReason `json:"waiting,omitempty"`
	Until   time.Time         `json:"until,omitzero" doc:"When it goes on by itself, if it waits and will"`
	Cause   troupe.Cause      `json:"cause,omitempty"`
	Run     int               `json:"run" doc:"0 before it first started; each return from an end begins another"`
	Seq     int64             `json:"seq" doc:"The number of its last event"`
	Error   string            `json:"error,omitempty"`
	Result  string            `json:"result,omitempty" doc:"Its final words; only where one session is asked for"`
	// Structured is Result as the object that was asked for.
	Structured json.RawMessage `json:"structured,omitempty" doc:"The result as the object that a JSON schema asked for; with result, and in a report"`
	// AsleepAt is when it was put away with its tree.
	AsleepAt time.Time `json:"asleep_at,omitzero" doc:"When it was put away with its tree, if it sleeps"`
	Archived bool      `json:"archived,omitempty" doc:"Lists leave it out, and nothing of its tree goes on"`
	// Running says that it has not ended and a live process has it in hand. One that has not ended
	// and is not running was left by a crash or an interrupt and can be resumed.
	Running bool `json:"running"`
	// Parked is set by servers.
	Parked string `json:"parked,omitempty" doc:"Why no process of the server goes on with it; words to it have one go on"`

	Usage    troupe.Usage `json:"usage" doc:"Over all its runs, as are cost, turns and tool uses"`
	CostUSD  float64      `json:"cost_usd"`
	Unpriced bool         `json:"unpriced,omitempty" doc:"No price is known for its model, so cost_usd is not all of it"`
	// Cut: a repair of the database could not save the end of its log.
	Cut      bool `json:"cut,omitempty" doc:"The end of its log was lost, so usage and cost_usd may be less than what it took"`
	Turns    int  `json:"turns"`
	ToolUses int  `json:"tool_uses"`

	CreatedAt  time.Time `json:"created_at"`
	StartedAt  time.Time `json:"started_at,omitzero" doc:"Of the current run, as ended_at; later by the time that it slept"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
	DurationMS int64     `json:"duration_ms" doc:"Of the last run, or of this one until now"`
	ActiveMS   int64     `json:"active_ms,omitempty" doc:"Of all its runs together, without the time between them; only in a report"`

	// Flags are what the check of its result found; none for a main agent.
	Flags     []troupe.Flag `json:"flags,omitempty" doc:"What the check of its last result found that its reader should know; only in a report"`
	Verified  *Verified     `json:"verified,omitempty" doc:"What came of the check of its last result by a Verification agent, if the call asked for one; only in a report"`
	Unchecked string        `json:"unchecked,omitempty" doc:"Why the model that was to check its last result has not; only in a report"`
	Evidence  *Evidence     `json:"evidence,omitempty" doc:"What was measured in its last run; only in a report, of agents that ended"`
	// Kept is nil if it had no folder of its own.
	Kept *troupe.WorkspaceResult `json:"kept,omitempty" doc:"What became of its own folder at the end of its last run; only in a report"`
	// Tree is what its whole tree adds up to; nil for a sub-agent.
	Tree *Sums `json:"tree,omitempty" doc:"Of a main agent: what its whole tree adds up to"`
	// Number is 0 for a main agent, and where one session is looked at by itself.
	Number int `json:"number,omitempty" doc:"Of a sub-agent: its place among those of its tree, in order of birth"`
}

// Sums are those of a tree.
type Sums struct {
	Agents  int          `json:"agents"`           // sessions ever born below the main agent
	Active  int          `json:"active,omitempty"` // those of them that are at work now
	Usage   troupe.Usage `json:"usage"`
	CostUSD float64      `json:"cost_usd"`
}

// SumsOf maps the sums of a tree.
func SumsOf(t troupe.Tree) *Sums {
	return &Sums{Agents: t.Total, Active: t.Active, Usage: t.Tally.Usage, CostUSD: t.Tally.Cost.Dollars()}
}

// NewSession maps one session. now ends the duration of a session that is still live. What else is
// known of it (Result, Running, Unpriced, Tree) is left to the caller.
func NewSession(s troupe.Session, path string, now time.Time) Session {
	out := Session{
		ID: s.ID, Root: s.Root, Parent: s.Parent, Coord: s.Coord, Name: s.Name, Path: path, Type: s.Type,
		Title: s.Title, By: s.By,
		Depth: s.Depth, Cwd: s.Cwd, Model: s.Model, Status: s.Status, Waiting: s.Waiting, Until: s.Until.UTC(),
		Cause: s.Cause,
		Run:   s.Run, Seq: s.Seq, Error: s.Error, Usage: s.Tally.Usage, CostUSD: s.Tally.Cost.Dollars(),
		Turns:    s.Tally.Turns,
		ToolUses: s.Tally.ToolUses, CreatedAt: s.CreatedAt.UTC(), StartedAt: s.StartedAt.UTC(),
		EndedAt: s.EndedAt.UTC(), AsleepAt: s.AsleepAt.UTC(), Archived: s.Archived, Cut: s.Cut,
		DurationMS: DurationMS(s, now),
	}
	if s.Workspace.Kind != "" {
		out.Workspace = &s.Workspace
	}
	return out
}

// DurationMS is how long the session's last run took, or has taken until now.
func DurationMS(s troupe.Session, now time.Time) int64 {
	switch {
	case s.StartedAt.IsZero():
		return 0
	case s.EndedAt.IsZero():
		if !s.AsleepAt.IsZero() {
			now = s.AsleepAt
		}
		return max(0, now.Sub(s.StartedAt).Milliseconds()) // the clock may have been set back
	}
	return max(0, s.EndedAt.Sub(s.StartedAt).Milliseconds())
}

// Listing says which main agents are asked for, or which sub-agents of one session. The zero value is all main agents.
type Listing struct {
	Cwd    string           // only those of this folder
	Parent troupe.SessionID // the sub-agents of this session, and no main agents
	Status troupe.Status    // only those that are at this
	By     string           // only trees that this person began
	Text   string           // only those in whose title or name it stands, without regard to the case of ASCII letters
	Limit  int              // how many at the most
	// Archived: only trees that are archived; else only those that are not.
	Archived bool
	// After is the last session of the page before; "" for the first page.
	After troupe.SessionID
	// QuietMS: only those in whose trees nothing is at work and nothing has happened for so long.
	QuietMS int64
}

// SessionChange says what is to be changed about a main agent. What is empty stays as it is.
type SessionChange struct {
	Rename    string `json:"name,omitempty" maxLength:"64" doc:"What it is called from now on, as no other main agent is"`
	Title     string `json:"title,omitempty" maxLength:"200" doc:"What it is about, as lists say it"`
	Archive   bool   `json:"archive,omitempty" doc:"Leave its tree out of lists, and have nothing of it go on. Nothing may be at work in it"`
	Unarchive bool   `json:"unarchive,omitempty" doc:"Take its tree out of the archive. Nothing begins by that"`
}

// Tree is a main agent and all below it, in order of birth.
type Tree struct {
	Sessions []Session `json:"sessions"` // the main agent first
	Running  bool      `json:"running" doc:"A live process has it in hand"`
	Here     bool      `json:"here" doc:"The process that answers has it in hand"`
	Kept     bool      `json:"kept,omitempty" doc:"No process has it in hand, and one of the server's goes on with it as soon as it can"`
	Owner    Owner     `json:"owner,omitzero" doc:"Who has, or had, it in hand"`
}

// Owner is a process that hosts trees.
type Owner struct {
	PID    int    `json:"pid"`
	Host   string `json:"host"`
	Socket string `json:"socket,omitempty" doc:"Where it serves this API, if it does"`
}

// Root is the id of the tree.
func (t Tree) Root() troupe.SessionID { return t.Sessions[0].ID }

// Path names a session of the tree by its ancestors, as people do.
func (t Tree) Path(id troupe.SessionID) string {
	for _, s := range t.Sessions {
		if s.ID == id {
			return s.Path
		}
	}
	return string(id)
}

// Clock is a time of day for people, who are told the day too if it is another one than now's.
func Clock(at, now time.Time) string {
	switch {
	case now.IsZero() || at.Format(time.DateOnly) == now.In(at.Location()).Format(time.DateOnly):
		return at.Format("15:04:05")
	case at.Sub(now).Abs() < 6*24*time.Hour:
		return at.Format("Mon 15:04:05")
	}
	return at.Format("2 Jan 15:04:05")
}
