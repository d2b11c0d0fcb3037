//go:build unix

package chat

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// worksIn is the folder of the main agent's own that was asked for.
func worksIn(name *string) troupe.Workspace {
	if name == nil {
		return troupe.Workspace{}
	}
	return troupe.Workspace{Kind: troupe.WorkspaceTree, Owner: rootID, Name: *name, Branch: "troupe/" + *name,
		Of: "/ws", Top: "/trees/ws-12/" + *name, Folder: "/trees/ws-12/" + *name}
}

// Workspaces implements api.Setup.
func (s fakeSetup) Workspaces() api.Workspaces { return fakeWorkspaces{of: s.of} }

type fakeWorkspaces struct {
	api.Workspaces
	of *fake
}

func (fakeWorkspaces) Worktrees(_ context.Context, q wire.WorktreeQuery) ([]wire.Worktree, error) {
	all := []wire.Worktree{
		{Name: "mine", Agent: "main", Session: rootID, Branch: "troupe/mine", Made: time.Unix(0, 0), There: true,
			State: wire.WorktreeUnmerged, WorktreeSums: wire.WorktreeSums{Files: 2, Added: 12, Removed: 3}},
		{Name: "fixer-a00000", Agent: "main/fixer", Session: childID, Branch: "troupe/fixer-a00000",
			Made: time.Unix(0, 0), State: wire.WorktreeUnmerged, Bytes: 40 << 20,
			WorktreeSums: wire.WorktreeSums{Files: 1, Added: 1, Conflicts: []string{"a"}}},
	}
	if q.Name == "mine" {
		return all[:1], nil
	}
	return all, nil
}

func (fakeWorkspaces) DiffWorktree(_ context.Context, l wire.WorktreeLook) (wire.WorktreeDiff, error) {
	if l.Name != "mine" {
		return wire.WorktreeDiff{}, &troupe.UserError{Problem: "there is no worktree " + l.Name,
			Hint: "`troupe worktrees` lists them."}
	}
	return wire.WorktreeDiff{Worktree: wire.Worktree{Name: l.Name}, Text: "diff --git a/a.go b/a.go\n--- a/a.go\n" +
		"+++ b/a.go\n@@ -1,2 +1,2 @@\n func add(a, b int) int {\n-\treturn a-b\n+\treturn a + b // and not less, " +
		"which was wrong in every case but that of nothing\n"}, nil
}

func (w fakeWorkspaces) MergeWorktree(_ context.Context, m wire.WorktreeMerge) (wire.MergedWorktree, error) {
	w.of.tell("merge " + m.Name + " " + m.Take)
	out := wire.MergedWorktree{Worktree: wire.Worktree{Name: m.Name, Branch: "troupe/" + m.Name}, Folder: "/ws",
		DryRun: m.DryRun}
	if m.Name != "mine" && m.Take == "" {
		out.Conflicts = []wire.WorktreeConflict{{Path: "/ws/a.go", Hunks: []wire.WorktreeHunk{
			{Ours: wire.WorktreeLines{First: 2, Text: "\treturn a-b\n"},
				Theirs: wire.WorktreeLines{First: 2, Text: "\treturn a+b\n"}}}}}
		return out, nil
	}
	out.Files, out.Added, out.Removed = []wire.MergedFile{{Path: "/ws/a.go", Action: wire.MergeChanged}}, 12, 3
	out.Undo = "troupe undo m00000000000 1"
	return out, nil
}

// TestWorktreeIsShown: a conversation in a worktree says so before it begins, when it has, above the prompt, in /status
// and at its end, with how its work is looked at and merged; /worktrees, /diff and /merge do that here.
func TestWorktreeIsShown(t *testing.T) {
	t.Parallel()
	mine := "mine"
	b := wire.Begin{Role: wire.Role{Worktree: &mine}, Permissions: wire.Permissions{Mode: troupe.ModeDefault}}
	f := func() *fake { return newFake(func(f *fake, _ string) { f.says("hi") }) }
	screens(t, "worktree", f, b, func(p *person, _ *fake) {
		p.shows("mine\n/help")
		p.Keys("go\r")
		p.shows("Works in worktree mine")
		p.sees(" · worktree mine\n>")
		p.Keys("/status\r")
		p.shows("at work")
		p.Keys("/diff\r")
		p.shows("which was wrong")
		p.Keys("/merge\r")
		p.shows("take it back")
		p.sees("\n>")
	})
	screens(t, "worktrees", f, wire.Begin{}, func(p *person, f *fake) {
		p.Keys("/worktrees\r")
		p.shows("fixer-a00000")
		p.Keys("/diff\r")
		p.shows("which worktree?")
		p.Keys("/diff none\r")
		p.shows("there is no worktree none")
		p.Keys("/merge fixer-a00000 --hand-back\r")
		p.shows("not taken here")
		p.Keys("/merge fixer-a00000\r")
		p.shows("then merge again")
		p.Keys("/merge fix\t")
		p.sees("/merge fixer-a00000")
		p.Keys(" --take theirs\r")
		p.shows("Nothing is committed")
		f.heardAll(t, "merge fixer-a00000 ", "merge fixer-a00000 theirs")
	})
}

// TestWorktreeAtTheEnd: whoever leaves a conversation in a worktree is told on which branch its work is and how to
// have it; whoever takes it up again is told where it works.
func TestWorktreeAtTheEnd(t *testing.T) {
	t.Parallel()
	mine := "mine"
	for _, width := range []int{60, 100} {
		f := newFake(func(f *fake, _ string) { f.says("hi") })
		p := sitAt(t, f, wire.Begin{Role: wire.Role{Worktree: &mine}}, width)
		p.sees("\n>")
		p.Keys("go\r")
		p.sees("1.5 s\n>")
		p.Keys("\x04")
		p.leaves()
		want := "Worktree mine: unmerged: 2 files +12 -3. Branch troupe/mine. Look at it: troupe diff mine. Have it " +
			"in your folder: troupe merge mine. Go on later: troupe --continue"
		p.Until(want, func(s string) bool { return strings.Contains(strings.Join(strings.Fields(s), " "), want) })
	}
	f := remembers(2)
	work := worksIn(&mine)
	f.before[0].Workspace = &work
	p := sitAt(t, f, wire.Begin{Continue: true}, 100)
	p.shows("Works in worktree mine (branch troupe/mine), /trees/ws-12/mine;")
}

// TestHung: a row that a long line of a file goes on in passes for no line of its own.
func TestHung(t *testing.T) {
	t.Parallel()
	for line := range strings.SplitSeq(hung("+ "+strings.Repeat("word ", 20)+"- not removed", 30), "\n") {
		if ansi.StringWidth(line) > 30 || strings.HasPrefix(line, "- ") {
			t.Errorf("a row: %q", line)
		}
	}
}
