package troupe

// WorkspaceKind says what a session's tools work on.
type WorkspaceKind string

// Kinds of workspace. A session that has none works in its Cwd, as its parent does.
const (
	// WorkspaceTree is a folder with a private repository of its own, which borrows the objects of the caller's.
	WorkspaceTree WorkspaceKind = "worktree"
	// WorkspaceCopy is a copy of a folder that need not be in a repository.
	WorkspaceCopy WorkspaceKind = "copy"
	// WorkspaceEmpty is a folder with nothing in it.
	WorkspaceEmpty WorkspaceKind = "empty"
	// WorkspaceReadOnly is the caller's folder as it is, of which nothing can be written.
	WorkspaceReadOnly WorkspaceKind = "shared_ro"
)

// Made reports whether it is a folder of its own, which has to be made.
func (k WorkspaceKind) Made() bool {
	return k == WorkspaceTree || k == WorkspaceCopy || k == WorkspaceEmpty
}

// Workspace is where a session's tools act. It is settled at birth, before anything of it is on the disk.
type Workspace struct {
	Kind WorkspaceKind `json:"kind"`
	// Owner is the session that it is made for. Those that are born in it without one of their own share it.
	Owner SessionID `json:"owner"`
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
}

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
	// Files are how many differ from the checkpoint before.
	Files int `json:"files,omitempty"`
}

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
	// Conflicts are the files that the caller has changed otherwise since; nil: it would merge cleanly. Unmerged says
	// why that could not be found out.
	Conflicts []string `json:"conflicts,omitempty"`
	Unmerged  string   `json:"unmerged,omitempty"`
	// Gone: the folder was removed, as all of it can be had from kept refs. Else Kept says why it stays.
	Gone bool   `json:"gone,omitempty"`
	Kept string `json:"kept,omitempty"`
}
