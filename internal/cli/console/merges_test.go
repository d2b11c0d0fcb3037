package console_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/turn"
)

// TestMergesAreTold: what came of a merge is told in words of its own, to the model and to a person.
func TestMergesAreTold(t *testing.T) {
	t.Parallel()
	for state, c := range map[troupe.MergeState]struct {
		set           func(*troupe.WorkspaceResult)
		model, person string
	}{
		troupe.MergeNothing: {func(w *troupe.WorkspaceResult) { w.Tip = w.Base }, "", ""},
		troupe.MergeDone: {func(w *troupe.WorkspaceResult) { w.Into, w.Merged = "/p", []string{"a.go"} },
			"it was merged into your folder, uncommitted: a.go\n", ", merged into /p"},
		troupe.MergeHalf: {func(w *troupe.WorkspaceResult) { w.Merged, w.NotMerged = []string{"a.go"}, "b.go moved" },
			"the merge stopped half-way (b.go moved); some of these may have been written into your folder: a.go\n",
			", the merge stopped half-way through 1 file: b.go moved; troupe diff w, troupe merge w"},
		troupe.MergeConflicts: {func(w *troupe.WorkspaceResult) {
			w.Conflicts, w.NotMerged = []string{"a.go"}, "it conflicts"
		}, "it was not merged: both you and it changed the same places in: a.go; MergeWorktree shows them\n",
			", not merged: conflicts in 1 file; troupe diff w, troupe merge w"},
		troupe.MergeWaits: {func(w *troupe.WorkspaceResult) { w.NotMerged = troupe.MergeWaitsWhy },
			"it waits for a person's yes (merge: ask): MergeWorktree asks for it\n",
			", waits for your yes (merge: ask); troupe diff w, troupe merge w"},
		troupe.MergeRefused: {func(w *troupe.WorkspaceResult) { w.NotMerged = "the rule \"Edit(a.go)\" denies it" },
			"it was not merged, though merge was auto: the rule \"Edit(a.go)\" denies it\n",
			", not merged: the rule \"Edit(a.go)\" denies it; troupe diff w, troupe merge w"},
		troupe.MergeUnclear: {func(w *troupe.WorkspaceResult) { w.Unmerged = "git is too old" },
			"whether it merges into your folder is not known: git is too old\n",
			", and whether it merges is not known: git is too old; troupe diff w, troupe merge w"},
		troupe.MergeKept: {func(*troupe.WorkspaceResult) {},
			"it is not in your folder yet, and merges cleanly: MergeWorktree merges it\n",
			"; troupe diff w, troupe merge w"},
	} {
		w := &troupe.WorkspaceResult{Kind: troupe.WorkspaceTree, Name: "w", Folder: "/w", Base: "1", Tip: "2",
			Commits: 1, Files: 1, Added: 2, Removed: 3}
		c.set(w)
		if got := w.MergeState(); got != state {
			t.Errorf("%s is taken for %s", state, got)
		}
		model, person := "own worktree: w, commits 1, files 1 (+2 -3 lines) on 1\n"+c.model, "worktree w: 1 file +2 -3"+
			c.person
		if state == troupe.MergeNothing {
			model, person = "own worktree: w, in which nothing was changed\n", ""
		}
		if got := turn.RenderWorkspace(w); got != model {
			t.Errorf("%s: the model is told\n%swant\n%s", state, got, model)
		}
		if got := console.Workspace(w); got != person {
			t.Errorf("%s: a person is told\n%s\nwant\n%s", state, got, person)
		}
	}
}
