package wire

import (
	"time"

	"github.com/troupe-dev/troupe"
)

// WorktreeQuery asks for folders that sessions have of their own.
type WorktreeQuery struct {
	Cwd string `json:"cwd"`
	// All: those beside every folder; else beside the repository around Cwd, or Cwd itself.
	All bool `json:"all,omitempty"`
	// Name is that of one, a beginning that no other has, or its session as Find takes it; "": all.
	Name string `json:"name,omitempty"`
	// Names: what they hold, and how large they are, is not looked at, so that the answer is quick.
	Names bool `json:"names,omitempty"`
}

// Anywhere reports that a server's worktrees are all of them, whichever folder who asks stands in.
func (q WorktreeQuery) Anywhere() bool { return true }

// WorktreeState says what is in one.
type WorktreeState string

// States of a worktree. What was done in one that is working or left is not known in all.
const (
	WorktreeWorking  WorktreeState = "at_work"
	WorktreeUnmerged WorktreeState = "unmerged"
	WorktreeMerged   WorktreeState = "merged"
	WorktreeEmpty    WorktreeState = "nothing"
	// WorktreeUnknown: what it holds could not be found out; Problem says why.
	WorktreeUnknown WorktreeState = "unknown"
)

// Whereabouts say where the session of a worktree is.
type Whereabouts struct {
	// Asleep: its tree was put away, and its folder may have been with it.
	Asleep bool `json:"asleep,omitempty" doc:"Its session is asleep"`
	Left   bool `json:"left,omitempty" doc:"That session went back out of it, and works elsewhere"`
}

// Worktree is a folder that a session has of its own: a worktree, a copy or an empty one.
type Worktree struct {
	Name    string               `json:"name"`
	Kind    troupe.WorkspaceKind `json:"kind"`
	Session troupe.SessionID     `json:"session" doc:"Whose it is"`
	Agent   string               `json:"agent,omitempty" doc:"The path of that session; empty if it was removed"`
	Status  troupe.Status        `json:"status,omitempty"`
	Whereabouts
	Folder  string        `json:"folder"`
	There   bool          `json:"there" doc:"The folder exists. If not, its work is kept on the branch"`
	Of      string        `json:"of" doc:"The tree that it is beside"`
	Branch  string        `json:"branch,omitempty"`
	Base    string        `json:"base,omitempty" doc:"The commit that it began with"`
	Dirty   int           `json:"dirty,omitempty" doc:"Files in the base that its caller had not committed"`
	Made    time.Time     `json:"made"`
	Changed time.Time     `json:"changed"`
	Bytes   int64         `json:"bytes"`
	State   WorktreeState `json:"state,omitempty" doc:"What it holds; only where it was looked at"`
	WorktreeSums
	Declined []string `json:"declined,omitempty" doc:"Files of which the folder's own version was kept at a merge"`
	Kept     string   `json:"kept,omitempty" doc:"Why the folder stayed when its session ended"`
	Problem  string   `json:"problem,omitempty"`
}

// WorktreeSums are what was done in one.
type WorktreeSums struct {
	Pushed    bool     `json:"pushed,omitempty" doc:"A branch of the remote has all of it"`
	Commits   int      `json:"commits,omitempty"`
	Files     int      `json:"files,omitempty"`
	Added     int      `json:"added,omitempty"`
	Removed   int      `json:"removed,omitempty"`
	Conflicts []string `json:"conflicts,omitempty" doc:"Files that the caller had changed otherwise when it was looked at last"`
}

// WorktreeDiff is what was changed in one since its base.
type WorktreeDiff struct {
	Worktree Worktree `json:"worktree"`
	Text     string   `json:"text"`
	Cut      bool     `json:"cut,omitempty" doc:"It is longer than what is given to read"`
}

// WorktreeLook asks for that.
type WorktreeLook struct {
	WorktreeQuery

	Stat bool `json:"stat,omitempty"` // only how much of each file
	// Patch: as git apply takes it, whole and with what binary files hold; else the first megabyte, to read.
	Patch bool `json:"patch,omitempty"`
}

// WorktreeMerge asks to bring one's work to the tree that it is beside.
type WorktreeMerge struct {
	WorktreeQuery

	// Into is a branch that its commits are put on; "": the files of the folder are changed, and nothing is committed.
	Into   string `json:"into,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
	// Take is the side that is taken of files that both have changed: TakeMine, TakeTheirs, or "" for neither.
	Take string `json:"take,omitempty" enum:"mine,theirs"`
	// HandBack puts what the folder has into the worktree instead, with the conflicts between markers, for its agent to
	// resolve. The agent is told nothing by it: send it a message.
	HandBack bool `json:"hand_back,omitempty"`
}

// Sides of a merge.
const (
	TakeMine   = "mine"   // what the folder has
	TakeTheirs = "theirs" // what the agent did
)

// What a merge does to a file.
const (
	MergeChanged = "changed"
	MergeNew     = "new"
	MergeRemoved = "removed"
)

// MergedFile is one that a merge writes.
type MergedFile struct {
	Path   string `json:"path"`
	Action string `json:"action" enum:"changed,new,removed"`
	// Uncommitted: it is removed, and what it held is in no commit that is checked out.
	Uncommitted bool `json:"uncommitted,omitempty" doc:"It is removed, and what it held was not committed"`
	// Over is whose work it takes the place of, where theirs was taken of what conflicts: that of agents, by the names
	// of their worktrees, or "" where no agent's is known there.
	Over *string `json:"over,omitempty" doc:"Whose work it replaces as a whole; empty: what the folder had"`
}

// MergedWorktree is what came of a merge. With conflicts nothing was written.
type MergedWorktree struct {
	Worktree Worktree `json:"worktree"`
	Folder   string   `json:"folder"`
	Branch   string   `json:"branch,omitempty" doc:"What was asked for as a branch to put commits on"`
	Commits  int      `json:"commits,omitempty" doc:"Put on that branch"`
	// Files were written, or would be by one that is no dry run.
	Files   []MergedFile `json:"files"`
	Added   int          `json:"added"`
	Removed int          `json:"removed"`
	DryRun  bool         `json:"dry_run,omitempty"`
	Already bool         `json:"already,omitempty" doc:"All of it was there"`
	Left    []string     `json:"left,omitempty" doc:"What is not brought over, each with its reason"`
	// Stopped is why not all was written; Files are those that were.
	Stopped    string             `json:"stopped,omitempty"`
	Conflicts  []WorktreeConflict `json:"conflicts"`
	Unresolved []string           `json:"unresolved,omitempty" doc:"Files of the worktree that still have the markers of conflicts that were handed back"`
	// Undo is the command that takes it back; "": there is none, for the session was removed.
	Undo string `json:"undo,omitempty"`
	// HandedBack are the files of the worktree that have conflicts between markers now; Conflicts are the others then,
	// which markers cannot show.
	HandedBack []string `json:"handed_back,omitempty"`
}

// WorktreePush asks to push one's work as a branch, to where the folder that it is beside is a checkout from.
type WorktreePush struct {
	WorktreeQuery

	Branch      string `json:"branch,omitempty" maxLength:"250" doc:"Name of the branch there; empty for troupe/NAME, or another one if that is taken"`
	PullRequest bool   `json:"pull_request,omitempty" doc:"A pull request is opened for it, or the open one is found"`
	Base        string `json:"base,omitempty" maxLength:"250" doc:"Branch that the pull request is to be merged into; empty for the one that the checkout is of"`
	Title       string `json:"title,omitempty" maxLength:"250" doc:"Of the pull request; empty for the session's"`
}

// PushedWorktree is what came of that.
type PushedWorktree struct {
	Worktree Worktree      `json:"worktree"`
	Pushed   troupe.Pushed `json:"pushed"`
}

// WorktreeConflict is a file that cannot be merged.
type WorktreeConflict struct {
	Path   string         `json:"path"`
	Why    string         `json:"why,omitempty"`
	Ours   string         `json:"ours,omitempty" doc:"Who changed it in the folder"`
	Theirs string         `json:"theirs,omitempty" doc:"Whose work is merged"`
	Hunks  []WorktreeHunk `json:"hunks,omitempty"`
}

// WorktreeHunk is a place that two sides have changed otherwise.
type WorktreeHunk struct {
	Ours   WorktreeLines `json:"ours"`
	Base   WorktreeLines `json:"base"`
	Theirs WorktreeLines `json:"theirs"`
}

// WorktreeLines are lines of one version of a file.
type WorktreeLines struct {
	First int    `json:"first,omitempty" doc:"The number of the first one; 0: not known"`
	Text  string `json:"text"`
}

// WorktreePrune asks to remove worktrees whose work is elsewhere, or which have none.
type WorktreePrune struct {
	Cwd    string   `json:"cwd"`
	All    bool     `json:"all,omitempty"`
	Names  []string `json:"names,omitempty"` // as in a WorktreeQuery; none: all of them
	DryRun bool     `json:"dry_run,omitempty"`
	// Discard: those that are named go although their work is nowhere else.
	Discard bool `json:"discard,omitempty"`
}

// Anywhere reports whether the folder does not say which are meant.
func (p WorktreePrune) Anywhere() bool { return p.All || len(p.Names) > 0 }

// PrunedWorktree is what became of one.
type PrunedWorktree struct {
	Worktree Worktree `json:"worktree"`
	Removed  bool     `json:"removed" doc:"Or would be, in a dry run"`
	Why      string   `json:"why,omitempty" doc:"Why it stays, or what of it does"`
	// Discarded is the ref that alone has the work by now.
	Discarded string   `json:"discarded,omitempty" doc:"The ref that alone has the work that was discarded"`
	Lost      string   `json:"lost,omitempty" doc:"What went with the folder and no commit keeps"`
	Hooks     []string `json:"hooks,omitempty" doc:"What hooks that were told of it did wrong, or want said"`
}
