package turn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// place is what the log says of the folder that a session's tools act in, if it is not the one it was begun in.
type place struct {
	Base  *troupe.WorkspaceBase // what it began with; nil: it has not been made
	Saved troupe.Checkpoint     // the last one
	// Unsaved are files that were written since, and All says that it may be any.
	Unsaved []string
	All     bool
	// unkept is the event of the last end, if the work could not be kept then, or at one before; 0: it could.
	unkept int64
	// Gone: the end of a run removed it, and no hook was told that it is there again.
	Gone bool
	// Merging are the files of the caller's that this run has begun to write with its work, by their paths; nil: none.
	// Past: the run has gone on since.
	Merging []string
	Past    bool
	Began   string  // the tree of the checkpoint that the run began with; "": there was none
	run     changes // of this run, by its checkpoints
	// first and last are the events of the first and the last change since the last checkpoint was begun, or tried; 0:
	// there was none. failed: that one was not made, or not whole.
	first, last int64
	failed      bool
}

// Keeps reports whether the session has a folder that was made for it.
func Keeps(s *State) bool {
	w := s.Session.Workspace
	return w.Kind.Made() && (w.Owner == s.Session.ID || s.Session.Depth == 0)
}

// Keeping reports whether the run does nothing but come to the end of the one before again, to keep what is in the
// folder.
func Keeping(s *State) bool { return s.again != nil }

func workspaceReady(f *fold, b troupe.WorkspaceReady) error {
	if !Keeps(f.s) {
		return f.refuse("the session has no folder of its own")
	}
	if base := f.s.Place.Base; base != nil && base.Commit != b.Base.Commit {
		return f.refuse("its folder began with %s", base.Commit)
	}
	f.s.Place.Base = &b.Base
	return nil
}

func workspaceSaved(f *fold, b troupe.WorkspaceSaved) error {
	if w := f.s.Session.Workspace; !w.Kind.Made() {
		return f.refuse("the session has no folder of its own")
	}
	p := &f.s.Place
	p.failed = b.Problem != ""
	if !p.failed || b.Checkpoint.Tree != "" {
		p.Saved = b.Checkpoint
		p.run.add(f.s.Session.Workspace.Top, b.Checkpoint)
	}
	if !p.failed {
		p.Unsaved, p.All = nil, false
	}
	if p.first = 0; b.After != 0 && p.last > b.After {
		p.first, p.All = p.last, true // a command ended while it was made
	}
	return nil
}

func workspaceMerged(f *fold, b troupe.WorkspaceMerged) error {
	if w := f.s.Session.Workspace; !Keeps(f.s) || f.s.Session.Depth == 0 || w.Merge != troupe.MergeAuto {
		return f.refuse("its work is not merged at its end")
	}
	all := slices.Clone(f.s.Place.Merging)
	for _, t := range b.Files {
		if !slices.Contains(all, t.Path) {
			all = append(all, t.Path)
		}
	}
	f.s.Place.Merging, f.s.Place.Past = all, false
	return nil
}

// broughtHere notes what the end of a child has changed in the session's own folder.
func broughtHere(f *fold, o troupe.Outcome) {
	w := f.s.Session.Workspace
	if o.Workspace == nil || !w.Kind.Made() || o.Workspace.Into != w.Top {
		return
	}
	for _, name := range o.Workspace.Merged {
		f.s.Place.changedAt(f.e.Seq)
		if path := w.Top + "/" + name; !slices.Contains(f.s.Place.Unsaved, path) {
			f.s.Place.Unsaved = append(slices.Clip(f.s.Place.Unsaved), path)
		}
	}
}

func workspaceChanged(f *fold, b troupe.WorkspaceChanged) error {
	if f.s.Session.Depth > 0 {
		return f.refuse("only a main agent moves")
	}
	was := f.s.Session.Workspace
	f.s.Evidence = Measured(f.s, b.Result)
	f.s.Session.Workspace, f.s.Place = b.Workspace, place{}
	for _, w := range []troupe.Workspace{was, b.Workspace} {
		f.s.Files = known(f.s.Files, w)
	}
	return nil
}

// known are files that were seen, with those that are the same in a folder that was made from where they lie: what was
// read in the one has been read in the other. If they differ by now their hashes do too.
func known(files map[string]string, w troupe.Workspace) map[string]string {
	if !w.Kind.Made() {
		return files
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		other := w.Caller(path)
		if other == path && troupe.Within(path, w.Of) {
			other = w.Top + strings.TrimPrefix(path, w.Of)
		}
		if _, seen := files[other]; !seen {
			files[other] = files[path]
		}
	}
	return files
}

// touched notes what a call that has ended may have changed in the session's folder.
func touched(f *fold, c *Call, started bool, b *troupe.ToolFinished) {
	w := f.s.Session.Workspace
	if !w.Kind.Made() {
		return
	}
	for _, t := range b.Evidence.Files {
		if t.Wrote && troupe.Within(t.Path, w.Top) {
			f.s.Place.changedAt(f.e.Seq)
			if !slices.Contains(f.s.Place.Unsaved, t.Path) {
				f.s.Place.Unsaved = append(slices.Clip(f.s.Place.Unsaved), t.Path)
			}
		}
	}
	// A call that has begun and says of no file that it wrote it is a command, or was cut short.
	if started && c.Child == "" && c.Wait == nil && len(b.Evidence.Files) == 0 {
		f.s.Place.changedAt(f.e.Seq)
		f.s.Place.All = true
	}
}

// commandEnded notes the end of a command in the background, which may have changed anything until then.
func commandEnded(f *fold) {
	if f.s.Session.Workspace.Kind.Made() {
		f.s.Place.changedAt(f.e.Seq)
		f.s.Place.All = true
	}
}

func (p *place) changedAt(seq int64) {
	if p.last = seq; p.first == 0 {
		p.first = seq
	}
}

// ToSave reports whether the folder differs from the last checkpoint as far as the log knows, and which files do; nil:
// it may be any.
func ToSave(s *State) (files []string, changed bool) {
	p, running := &s.Place, slices.ContainsFunc(s.OwnTasks(), func(t troupe.Task) bool { return !t.Reads })
	if running || p.All || p.failed {
		return nil, running || p.first != 0
	}
	return p.Unsaved, p.first != 0
}

// Overdue reports whether calls of an earlier reply than the last have changed the folder and no checkpoint has it:
// their process died before that was made. It is made before anything else is changed.
func Overdue(s *State) bool {
	return s.Place.first != 0 && s.Place.first < s.last.seq
}

// RenderWorkspace is what became of a folder, for the main agent that worked in it.
func RenderWorkspace(w *troupe.WorkspaceResult) string {
	var b strings.Builder
	renderWorkspace(&b, w)
	return b.String()
}

// renderWorkspace is what became of an agent's own folder, for whoever reads its result.
func renderWorkspace(b *strings.Builder, w *troupe.WorkspaceResult) {
	if w == nil {
		return
	}
	what := "own folder"
	if w.Kind == troupe.WorkspaceTree {
		what = "own worktree"
	}
	fmt.Fprintf(b, "%s: %s", what, value(w.Name, maxValue))
	switch w.Tip {
	case "":
	case w.Base:
		b.WriteString(", in which nothing was changed")
	default:
		if w.Branch != "" {
			fmt.Fprintf(b, ", branch %s at %.12s", value(w.Branch, maxValue), value(w.Tip, maxValue))
		}
		fmt.Fprintf(b, ", commits %d, files %d (+%d -%d lines) on %.12s", w.Commits, w.Files, w.Added, w.Removed,
			value(w.Base, maxValue))
	}
	b.WriteByte('\n')
	renderMerge(b, w)
	if w.Kept != "" && w.Unkept == "" {
		fmt.Fprintf(b, "the folder stays, %s: %s\n", value(w.Folder, maxError), value(w.Kept, maxError))
	}
}

// renderMerge says what came of a merge into the caller's folder, and what to do about it.
func renderMerge(b *strings.Builder, w *troupe.WorkspaceResult) {
	why := value(w.NotMerged, maxError)
	switch w.MergeState() {
	case troupe.MergeNothing:
	case troupe.MergeUnkept:
		fmt.Fprintf(b, "its work could not be kept: %s; it is in %s. `troupe merge %s` tries again, and so does the "+
			"next resume of this session\n", value(w.Unkept, maxError), value(w.Folder, maxError),
			value(w.Name, maxValue))
	case troupe.MergeDone:
		if len(w.Merged) == 0 {
			b.WriteString("nothing was to be merged: all of it was in your folder before it ended\n")
		} else {
			fmt.Fprintf(b, "it was merged into your folder, uncommitted: %s\n", some(w.Merged))
		}
	case troupe.MergeHalf:
		fmt.Fprintf(b, "the merge stopped half-way (%s); some of these may have been written into your folder: %s\n",
			why, some(w.Merged))
	case troupe.MergeConflicts:
		fmt.Fprintf(b, "it was not merged: both you and it changed the same places in: %s; MergeWorktree shows them\n",
			some(w.Conflicts))
	case troupe.MergeWaits:
		b.WriteString("it waits for a person's yes (merge: ask): MergeWorktree asks for it\n")
	case troupe.MergeRefused:
		fmt.Fprintf(b, "it was not merged, though merge was auto: %s\n", why)
	case troupe.MergeUnclear:
		fmt.Fprintf(b, "whether it merges into your folder is not known: %s\n", value(w.Unmerged, maxError))
	case troupe.MergeKept:
		if w.Tip != "" && len(w.Conflicts) == 0 {
			b.WriteString("it is not in your folder yet, and merges cleanly: MergeWorktree merges it\n")
		}
	}
	if s := w.MergeState(); len(w.Conflicts) > 0 && (s == troupe.MergeKept || s == troupe.MergeWaits) {
		fmt.Fprintf(b, "a merge into your folder would conflict in: %s\n", some(w.Conflicts))
	}
	if len(w.Left) > 0 && w.Into != "" {
		fmt.Fprintf(b, "not brought over: %s\n", some(w.Left))
	}
}

// some are the first names of a list.
func some(list []string) string {
	shown := list[:min(len(list), maxFiles)]
	text := value(strings.Join(shown, ", "), maxError)
	if n := len(list) - len(shown); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
