package console

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestWorkspace: an end says where the work is, and what stands in its way; what changed nothing and left nothing says
// nothing.
func TestWorkspace(t *testing.T) {
	t.Parallel()
	changed := troupe.WorkspaceResult{Kind: troupe.WorkspaceTree, Name: "fixer", Folder: "/t/fixer", Base: "1",
		Tip:    "2",
		Branch: "troupe/fixer", Files: 3, Added: 10, Removed: 2, Gone: true}
	how := "; troupe diff fixer, troupe merge fixer"
	conflicts, stays, same, unknown, copied := changed, changed, changed, changed, changed
	conflicts.Conflicts = []string{"a", "b"}
	stays.Gone, stays.Kept = false, "it has ignored files\x1b[2J, which no commit keeps: out"
	same.Tip, same.Files = "1", 0
	unknown.Unmerged = "git is too old"
	copied.Kind, copied.Branch = troupe.WorkspaceCopy, ""
	saved := troupe.WorkspaceResult{Kind: troupe.WorkspaceTree, Name: "fixer", Folder: "/t/fixer",
		Run: &troupe.Checkpoint{Tree: "3"}, Kept: "commands still run in it"}
	unchanged := stays
	unchanged.Tip = "1"
	for want, w := range map[string]*troupe.WorkspaceResult{
		"worktree fixer: branch troupe/fixer, 3 files +10 -2" + how:                       &changed,
		"worktree fixer: branch troupe/fixer, 3 files +10 -2, conflicts in 2 files" + how: &conflicts,
		"worktree fixer: branch troupe/fixer, 3 files +10 -2; the folder stays (/t/fixer): " +
			"it has ignored files\\u{001b}[2J, which no commit keeps: out" + how: &stays,
		"worktree fixer: branch troupe/fixer, 3 files +10 -2, and whether it merges is not known: git is too old" +
			how: &unknown,
		"worktree fixer: what was done there is saved; the folder stays (/t/fixer): commands still run in it" +
			how: &saved,
		"its own folder fixer: 3 files +10 -2" +
			how: &copied,
		"worktree fixer: no work to merge; the folder stays (/t/fixer): " +
			"it has ignored files\\u{001b}[2J, which no commit keeps: out": &unchanged,
	} {
		if got := Workspace(w); got != want {
			t.Errorf("it says\n%s, want\n%s", got, want)
		}
	}
	if got := Workspace(&same) + Workspace(nil); got != "" {
		t.Errorf("of nothing it says %s", got)
	}
}

// TestSlashed: what a conversation has a command for is advised as it is typed there, and nothing else is touched.
func TestSlashed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"troupe diff one, troupe merge one":         "/diff one, /merge one",
		"`troupe worktrees --all` lists them":       "`/worktrees --all` lists them",
		"throw it away: troupe worktrees prune one": "throw it away: troupe worktrees prune one",
		"troupe merges what troupe sessions list":   "troupe merges what troupe sessions list",
	} {
		if got := Slashed(text); got != want {
			t.Errorf("%q", got)
		}
	}
}
