package wire

import (
	"time"

	"github.com/troupe-dev/troupe"
)

// Turn is one turn of a main agent, with what it and the agents that its calls began have changed.
//
// An agent's work belongs to the turn whose call began it. What it does after the root has
// gone on belongs to the root's turn of that moment: the last that had begun. Between two
// sessions there is no order but the time of their events, and that is what counts here;
// within one session the log's order does, whatever the clock said.
type Turn struct {
	Number   int          `json:"turn"` // of the reply, 1 for the first
	At       time.Time    `json:"at"`
	Asked    string       `json:"asked,omitempty"` // the first words of what a person had last said
	Undone   bool         `json:"undone"`          // put back since, and not brought back
	Files    []FileChange `json:"files"`           // what tools wrote, and commands in folders of agents' own, by path
	Commands []Command    `json:"commands"`        // what may have changed anything, in order
	// Prompt counts the times that a person had said something before the turn; 0 is unknown.
	Prompt int `json:"prompt,omitempty"`
	// Merges of work from agents' own folders, that were made after the turn began and before the next did, in order.
	// What agents merged is among its files as well.
	Merges []Merge `json:"merges,omitempty"`
	// Forks are those that people asked for and that changed files in it, they or agents below them.
	Forks []ForkAsked `json:"forks,omitempty"`
}

// ForkAsked is a fork that a person asked for.
type ForkAsked struct {
	Agent string `json:"agent"` // its path in the tree
	Asked string `json:"asked"`
}

// MergeRef names a merge.
type MergeRef struct {
	ID   string `json:"merge"` // by which it is undone alone
	Name string `json:"name"`  // of the worktree
}

// Merge is one that wrote files of a tree's folder.
type Merge struct {
	MergeRef
	By     string       `json:"by,omitempty"` // the agent that merged, or whose end did; none: a person
	At     time.Time    `json:"at"`
	Undone bool         `json:"undone"` // put back since, and not brought back
	Files  []FileChange `json:"files"`
}

// FileChange is what tools did to one file in one turn.
type FileChange struct {
	Path    string   `json:"path"`
	Agents  []string `json:"agents"` // who wrote it, by their paths in the tree
	Writes  int      `json:"writes"`
	New     bool     `json:"new"`   // it was not there before
	Added   int      `json:"added"` // lines, summed over the writes
	Removed int      `json:"removed"`
}

// CommandState is how much is known of a command's end.
type CommandState string

// How a command ended.
const (
	CommandEnded   CommandState = "ended"
	CommandRunning CommandState = "running" // or its process is gone and that is not in the log yet
	CommandCutOff  CommandState = "cut off" // its process went away while it was at work
)

// Command is a call that may have changed anything: a shell command, as a rule. What it
// changed is known only of one in a folder of an agent's own, which has checkpoints.
type Command struct {
	Turn     int          `json:"turn"`
	Agent    string       `json:"agent"`
	Tool     string       `json:"tool"`
	Text     string       `json:"text"` // the command, or the input of a call that is none
	State    CommandState `json:"state"`
	ExitCode *int         `json:"exit_code,omitempty"` // of one that ended
	Known    bool         `json:"known,omitempty"`     // what it changed is among the files
}

// UndoOrder says which undo is meant. To carry one out, Plan names the one that was shown.
type UndoOrder struct {
	Turn  int    `json:"turn,omitempty"`  // back to before it; 0: the last one with changes to undo
	Redo  bool   `json:"redo,omitempty"`  // take the newest undo back instead
	Merge string `json:"merge,omitempty"` // take this merge back instead, and nothing else
	Plan  string `json:"plan,omitempty"`  // of the Undo that was shown
	Force bool   `json:"force,omitempty"`
}

// Undo is what there is to do to bring the files that a tree's tools changed back to what they
// were before a turn of its main agent, or what was done.
type Undo struct {
	Type    string           `json:"type"` // UndoType or RedoType
	Session troupe.SessionID `json:"session_id"`
	Turn    int              `json:"turn,omitempty"` // back to before this turn
	// Merge is taken back alone, or was by the undo that is taken back.
	Merge   *MergeRef  `json:"undone_merge,omitempty"`
	Applied bool       `json:"applied"`
	Files   []UndoFile `json:"files"` // once it is applied: those that were changed
	Left    []UndoFile `json:"left"`  // of one that was applied: those that were not
	Same    []string   `json:"same"`  // files that hold already what they held then
	// Commands may have changed anything since; what they changed is not undone.
	Commands []Command `json:"commands"`
	// Links in folders of agents' own were changed since, and stay as they are. Gone are such folders that are not
	// there any more: nothing is put back in them.
	Links []string     `json:"links,omitempty"`
	Gone  []GoneFolder `json:"gone,omitempty"`
	// Merges were made by people since, and are taken back as well.
	Merges   []MergeRef `json:"merges,omitempty"`
	TakeBack string     `json:"take_back,omitempty"` // the command that takes it back
	// KeptAs is the ref that has the work of the merge which is taken back, where its worktree was pruned.
	KeptAs string `json:"kept_as,omitempty"`
	Plan   string `json:"plan,omitempty"` // names this undo, of one that was not applied
}

// GoneFolder is a folder of an agent's own that is not there any more. What was done there is kept.
type GoneFolder struct {
	Folder string `json:"folder"`
	Name   string `json:"name"`
	Branch string `json:"branch,omitempty"` // that has it
	// Session is the one that it was made for, and Pruned says that the worktree is on record no more.
	Session troupe.SessionID `json:"session,omitempty"`
	Pruned  bool             `json:"pruned,omitempty"`
}

// Types of an Undo.
const (
	UndoType = "undo"
	RedoType = "redo"
)

// UndoFile is one file of an undo.
type UndoFile struct {
	Path     string     `json:"path"`
	Action   UndoAction `json:"action"`
	Obstacle Obstacle   `json:"obstacle,omitempty"`
	Problem  string     `json:"problem,omitempty"` // the obstacle in words
	// Mixed: between the writes of the tools something else changed it too, and that goes as well.
	Mixed   bool `json:"mixed,omitempty"`
	Added   int  `json:"added"` // lines, by the undo
	Removed int  `json:"removed"`
}

// UndoAction is what an undo does to a file.
type UndoAction string

// Actions.
const (
	UndoRestore UndoAction = "restore"
	UndoCreate  UndoAction = "create" // it is not there now
	UndoRemove  UndoAction = "remove" // it was not there then
)

// Obstacle is why a file cannot simply be put back.
type Obstacle string

// Obstacles. Only ObstacleChanged gives way to force.
const (
	ObstacleNone    Obstacle = ""
	ObstacleChanged Obstacle = "changed"   // it does not hold what the last tool left
	ObstacleLost    Obstacle = "not_kept"  // what it held was not kept
	ObstaclePlace   Obstacle = "not_there" // it cannot be read, or is no regular file at that path
)

// Stays reports whether a file cannot be put back: without force, or even with it.
func (f UndoFile) Stays(force bool) bool {
	return f.Obstacle != ObstacleNone && (!force || f.Obstacle != ObstacleChanged)
}
