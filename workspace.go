package troupe

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// WorkspaceKind says what a session's tools work on.
type WorkspaceKind string

// Kinds of workspace. A session that has none works where its parent does.
const (
	// WorkspaceShared is the caller's folder: no Workspace of a session has this kind.
	WorkspaceShared WorkspaceKind = "shared_rw"
	// WorkspaceTree is a folder with a private repository of its own, which borrows the objects of the caller's.
	WorkspaceTree WorkspaceKind = "worktree"
	// WorkspaceCopy is a copy of a folder that need not be in a repository.
	WorkspaceCopy WorkspaceKind = "copy"
	// WorkspaceEmpty is a folder with nothing in it.
	WorkspaceEmpty WorkspaceKind = "empty"
	// WorkspaceIsolated is a worktree where there is a repository, and else a copy: which one is settled at birth.
	WorkspaceIsolated WorkspaceKind = "isolated"
	// WorkspaceReadOnly is the caller's folder as it is, of which nothing can be written.
	WorkspaceReadOnly WorkspaceKind = "shared_ro"
)

// ParseIsolation reads what people and models write for how far an agent is kept from its caller's folder; "" is "".
func ParseIsolation(s string) (WorkspaceKind, error) {
	switch s = strings.ToLower(strings.TrimSpace(s)); s {
	case "", string(WorkspaceTree), string(WorkspaceCopy):
		return WorkspaceKind(s), nil
	case "none":
		return WorkspaceShared, nil
	case "remote":
		return "", errors.New("cannot be \"remote\": agents work on this machine; use worktree or copy")
	}
	return "", errors.New("must be worktree, copy or none")
}

// ParseFilesystem reads what they write for which files an agent works on; "" is "".
func ParseFilesystem(s string) (WorkspaceKind, error) {
	k := WorkspaceKind(strings.ToLower(strings.TrimSpace(s)))
	if k == "" || k == WorkspaceShared || k == WorkspaceReadOnly || k == WorkspaceIsolated || k == WorkspaceEmpty {
		return k, nil
	}
	return "", errors.New("must be shared_rw, shared_ro, isolated or empty")
}

// ParsePlace reads both words together. The last two are what they are called where they are written.
func ParsePlace(isolation, filesystem, first, second string) (WorkspaceKind, error) {
	apart, err := ParseIsolation(isolation)
	if err != nil {
		return "", fmt.Errorf("%s %w", first, err)
	}
	files, err := ParseFilesystem(filesystem)
	if err != nil {
		return "", fmt.Errorf("%s %w", second, err)
	}
	switch {
	case apart == "" || apart == files:
		return files, nil
	case files == "", files == WorkspaceIsolated && apart.Made():
		return apart, nil
	}
	return "", fmt.Errorf("%s %s and %s %s contradict each other; give one of them", first, isolation, second,
		filesystem)
}

// Made reports whether it is a folder of its own, which has to be made.
func (k WorkspaceKind) Made() bool {
	return k == WorkspaceTree || k == WorkspaceCopy || k == WorkspaceEmpty
}

// MergeBack is what becomes of the work in a folder of an agent's own when its run has come to its end.
type MergeBack string

// Ways to merge. Whatever it is, the work is kept first.
const (
	// MergeAuto: it is brought into the folder that the agent's was made from, if nothing conflicts and whoever started
	// the agent may write it there without asking.
	MergeAuto MergeBack = "auto"
	// MergeAsk: no merge goes without a person's yes, whatever rules and modes allow.
	MergeAsk MergeBack = "ask"
	// MergeKeep leaves it to whoever started the agent.
	MergeKeep MergeBack = "keep"
)

// ParseMerge reads what people and models write for it; "" is "".
func ParseMerge(s string) (MergeBack, error) {
	switch m := MergeBack(strings.ToLower(strings.TrimSpace(s))); m {
	case "", MergeAuto, MergeAsk, MergeKeep:
		return m, nil
	}
	return "", errors.New("must be auto, ask or keep")
}

// Workspace is where a session's tools act. It is settled at birth, before anything of it is on the disk.
type Workspace struct {
	Kind WorkspaceKind `json:"kind"`
	// Owner is the session that it is made for; those that are born in it without one of their own share it. A main
	// agent may have several, one after the other: one that it enters has the id that a child of that call would have.
	Owner SessionID `json:"owner"`
	// Main is the main agent that enters it; "" where it is made for the session whose id Owner is.
	Main SessionID `json:"main,omitempty"`
	// Name is what people call it by: the end of the folder's path and of the branch's name.
	Name string `json:"name,omitempty"`
	// From is the folder in which the caller's tools acted, and Of the top of the repository around it (From itself,
	// if there is none): the tree that is not the session's to write. Absolute and resolved.
	From string `json:"from"`
	Of   string `json:"of"`
	// Top is the folder that the session may write, and Folder where its tools begin: Top, or the place in it that
	// From is in Of. Both are From for WorkspaceReadOnly.
	Top    string `json:"top"`
	Folder string `json:"folder"`
	// Branch is what its work is committed to; "" for kinds that have no repository which the session sees.
	Branch string `json:"branch,omitempty"`
	// Merge is what becomes of the work at the end of a run of its Owner; "" is MergeKeep, which is not written.
	Merge MergeBack `json:"merge,omitempty"`
	// ByHook: a hook of WorktreeCreate makes Top, in the place of git, for a tree of another version control. It is a
	// copy in all else.
	ByHook bool `json:"by_hook,omitempty"`
	// Remote is the address of the repository that Of is a checkout of; "": it is none, but a folder of people. Push
	// has the work pushed there as a branch at the end of each run of its Owner.
	Remote string `json:"remote,omitempty"`
	Push   bool   `json:"push,omitempty"`
	// PullRequest has a pull request opened for that branch, too.
	PullRequest bool `json:"pull_request,omitempty"`
}

// Session is the one that it was made for.
func (w Workspace) Session() SessionID { return cmp.Or(w.Main, w.Owner) }

// WorkspaceBase is what a workspace began with.
type WorkspaceBase struct {
	// Head is the caller's commit, and Branch its branch; "" if it has none.
	Head   string `json:"head,omitempty"`
	Branch string `json:"branch,omitempty"`
	// Commit is Head, or a commit on it with what the caller had not committed: so many files.
	Commit string `json:"commit"`
	Dirty  int    `json:"dirty,omitempty"`
	// Left names what was not carried over, each with its reason; Linked the folders that lead to the caller's.
	Left   []string `json:"left,omitempty"`
	Linked []string `json:"linked,omitempty"`
}

// Checkpoint names the exact content of a workspace.
type Checkpoint struct {
	Tree string `json:"tree"`          // id of git
	Tip  string `json:"tip,omitempty"` // what the session's own HEAD was at
	// Files are how many differ from the checkpoint before it in the log, and Changed the first of them.
	Files   int           `json:"files,omitempty"`
	Changed []FileChanged `json:"changed,omitempty"`
}

// MostChanged is how many files a checkpoint lists.
const MostChanged = 200

// FileChanged is one file that two checkpoints differ in, whoever or whatever changed it, or that a watched command has
// changed.
type FileChanged struct {
	Path    string `json:"path"` // of a checkpoint below the top of the workspace
	New     bool   `json:"new,omitempty"`
	Gone    bool   `json:"gone,omitempty"`
	Added   int    `json:"added,omitempty"` // lines; none of what is no text
	Removed int    `json:"removed,omitempty"`
}

// WorkspaceReady says that the session's own folder is there, and what it began with. Until then no tool of the session
// has begun. A folder that is made anew for a later run is announced again, with the same base.
type WorkspaceReady struct {
	Base WorkspaceBase `json:"base"`
}

// WorkspaceSaved names the content of the folder after what the calls so far did to it.
type WorkspaceSaved struct {
	Checkpoint Checkpoint `json:"checkpoint"`
	// After is the number of the last event before it was begun: it has all that was done by then. 0: an older version
	// wrote it.
	After int64 `json:"after,omitempty"`
	// Problem is why there is no checkpoint, or not all in it; "" if there is none.
	Problem string `json:"problem,omitempty"`
}

// WorkspaceMerged names the files of the caller's that are about to be written with the session's work, at the end of
// its run. Until the end says what came of it each of them may hold what it held or what it is to hold: after a crash
// the rest is done again. A file that is no FileTouch.Wrote is a link, which nobody can take back.
type WorkspaceMerged struct {
	Into  string      `json:"into"` // the top of the tree in which they lie
	Files []FileTouch `json:"files"`
}

// WorkspaceChanged moves a main agent into a folder of its own, or back: its tools act there from then on.
type WorkspaceChanged struct {
	// Workspace is where; the zero value is the session's Cwd.
	Workspace Workspace `json:"workspace,omitzero"`
	// Result is what became of the one that it leaves; nil: it leaves none.
	Result *WorkspaceResult `json:"result,omitempty"`
}

// Kind implements Body.
func (WorkspaceChanged) Kind() Kind { return KindWorkspaceChanged }

// Kind implements Body.
func (WorkspaceMerged) Kind() Kind { return KindWorkspaceMerged }

// Kind implements Body.
func (WorkspaceReady) Kind() Kind { return KindWorkspaceReady }

// Kind implements Body.
func (WorkspaceSaved) Kind() Kind { return KindWorkspaceSaved }

// WorkspaceResult is what became of a workspace at the end of a run.
type WorkspaceResult struct {
	Kind   WorkspaceKind `json:"kind"`
	Name   string        `json:"name"`
	Folder string        `json:"folder"`
	Branch string        `json:"branch,omitempty"`
	Base   string        `json:"base"`
	// Tip is the last commit; Base if nothing changed. Commits are those between them, the one that was made at the end
	// included.
	Tip     string `json:"tip"`
	Commits int    `json:"commits,omitempty"`
	Files   int    `json:"files,omitempty"`
	Added   int    `json:"added,omitempty"` // lines
	Removed int    `json:"removed,omitempty"`
	// Run is what the folder held at the end, with the files that differ from what it held when the run began; nil: an
	// older version wrote it, or that could not be found out.
	Run *Checkpoint `json:"run,omitempty"`
	// Conflicts are the files that the caller has changed otherwise since; nil: it would merge cleanly. Unmerged says
	// why that could not be found out.
	Conflicts []string `json:"conflicts,omitempty"`
	Unmerged  string   `json:"unmerged,omitempty"`
	MergedBack
	// Unkept is why what is in the folder could not be kept elsewhere, or not be brought to the caller's repository: it
	// is in no branch there then, and the next process that takes the session's tree up comes to the end of the run
	// again. Without a Tip it is not known what it is. "": it was kept.
	Unkept string `json:"unkept,omitempty"`
	// Gone: the folder was removed, as all of it can be had from kept refs. Else Kept says why it stays.
	Gone bool   `json:"gone,omitempty"`
	Kept string `json:"kept,omitempty"`
	Pushing
}

// MergedBack is what came of a merge at the end of a run.
type MergedBack struct {
	// Into is the tree that the work was merged into at the end of the run, Merged are the files that were written
	// there, as names in it, and Left names what was not brought over.
	Into   string   `json:"into,omitempty"`
	Merged []string `json:"merged,omitempty"`
	Left   []string `json:"left,omitempty"`
	// NotMerged is why it was not merged, or not all of it, although that was wished for.
	NotMerged string `json:"not_merged,omitempty"`
}

// Pushing is what came of work beside a checkout.
type Pushing struct {
	Remote string `json:"remote,omitempty"` // the address of its repository; "": it is beside a folder of people
	// Pushed is what was pushed at the end of the run, where that was wished for and there was work, and NotPushed why
	// it could not be.
	Pushed    *Pushed `json:"pushed,omitempty"`
	NotPushed string  `json:"not_pushed,omitempty"`
}

// Pushed is a branch that was brought to a remote.
type Pushed struct {
	To     string `json:"to" doc:"The address of the repository"`
	Branch string `json:"branch"`
	Commit string `json:"commit"`
	// PullRequest is the open one for the branch, where one was wished for, and NotOpened why there is none.
	PullRequest string `json:"pull_request,omitempty" doc:"The address of the pull request for it"`
	NotOpened   string `json:"not_opened,omitempty" doc:"Why no pull request could be opened"`
}

// MergeState is what came of a workspace's work at the end of a run.
type MergeState string

// States of merges. People and models are told of each in other words; where each is worded asks MergeState.
const (
	MergeNothing   MergeState = "nothing"   // there is no work
	MergeUnkept    MergeState = "unkept"    // the work could not be kept, and Unkept says why
	MergeDone      MergeState = "merged"    // Merged has the files; none: the caller had all of it
	MergeHalf      MergeState = "half"      // it stopped, and NotMerged says why
	MergeConflicts MergeState = "conflicts" // merge was auto, and both sides have changed Conflicts
	MergeWaits     MergeState = "waits"     // merge is ask: a person has not said yes
	MergeRefused   MergeState = "refused"   // merge was auto, and a rule, a hook or an error kept it: NotMerged
	MergeUnclear   MergeState = "unclear"   // whether it merges could not be found out: Unmerged
	MergeKept      MergeState = "kept"      // no merge was wished for; Conflicts has what would conflict
)

// MergeWaitsWhy is NotMerged of work that waits for a person's yes.
const MergeWaitsWhy = "merge is ask, so a person decides: MergeWorktree puts it before them"

// MergeState says which of them it is.
func (w *WorkspaceResult) MergeState() MergeState {
	switch {
	case w.Unkept != "":
		return MergeUnkept
	case w.Tip == w.Base && w.NotMerged == "":
		return MergeNothing
	case w.NotMerged != "" && len(w.Merged) > 0:
		return MergeHalf
	case w.NotMerged == MergeWaitsWhy:
		return MergeWaits
	case w.NotMerged != "" && len(w.Conflicts) > 0:
		return MergeConflicts
	case w.NotMerged != "":
		return MergeRefused
	case w.Into != "" || len(w.Merged) > 0:
		return MergeDone
	case w.Unmerged != "":
		return MergeUnclear
	}
	return MergeKept
}

// Dir is the folder in which the session's tools act.
func (s *Session) Dir() string {
	if s.Workspace.Kind != "" {
		return s.Workspace.Folder
	}
	return s.Cwd
}

// Caller is the place in the caller's tree that a path of the workspace is a copy of; another path stays as it is.
func (w Workspace) Caller(path string) string {
	if w.Kind == "" || !Within(path, w.Top) {
		return path
	}
	return w.Of + strings.TrimPrefix(path, w.Top)
}

// Foreign reports whether a path lies in the tree that the session works beside, and is not to write.
func (w Workspace) Foreign(path string) bool {
	return w.Kind != "" && Within(path, w.Of) && (w.Kind == WorkspaceReadOnly || !Within(path, w.Top))
}

// EnterWorktree is the EnterWorktree tool's decoded input: the main agent goes on in a worktree of its own.
type EnterWorktree struct {
	Name string // "" means one made from what the session is about
}

// ExitWorktree is the ExitWorktree tool's decoded input: it goes back to the folder that it was begun in.
type ExitWorktree struct{}

func (EnterWorktree) intent() {}
func (ExitWorktree) intent()  {}
