//go:build unix

package chat

import (
	"context"
	"errors"
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
	switch q.Name {
	case "mine":
		return all[:1], nil
	case string(childID):
		return all[1:], nil
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
	switch {
	case m.HandBack:
		out.Worktree.Session, out.Worktree.Status, out.Worktree.Agent = childID, troupe.Completed, "main/fixer"
		out.Worktree.Folder, out.HandedBack = "/trees/ws-12/fixer", []string{"/trees/ws-12/fixer/a.go"}
		return out, nil
	case m.Into != "":
		out.Branch, out.Commits = m.Into, 2
		return out, nil
	}
	if m.Name != "mine" && m.Take == "" {
		out.Conflicts = []wire.WorktreeConflict{{Path: "/ws/a.go", Hunks: []wire.WorktreeHunk{
			{Ours: wire.WorktreeLines{First: 2, Text: "\treturn a-b\n"},
				Theirs: wire.WorktreeLines{First: 2, Text: "\treturn a+b\n"}}}}}
		return out, nil
	}
	out.Files, out.Added, out.Removed = []wire.MergedFile{{Path: "/ws/a.go", Action: wire.MergeChanged}}, 12, 3
	out.Undo = "troupe undo m00000000000 --merge 1"
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
		p.Keys("/merge fixer-a00000 --hand-back --dry-run\r")
		p.shows("writes to its worktree alone")
		p.Keys("/merge fixer-a00000 --hand-back\r")
		p.shows("When it has ended")
		p.Keys("/merge fixer-a00000 --into fix\r")
		p.shows("on the branch fix")
		p.Keys("/merge fixer-a00000\r")
		p.shows("then merge again")
		p.Keys("/merge fix\t")
		p.sees("/merge fixer-a00000")
		p.Keys(" --take theirs\r")
		p.shows("Nothing is committed")
		f.heardAll(t, "merge fixer-a00000 ", "to a00000000000: Your work conflicts with what is in the folder that it "+
			"is to be merged into. Your worktree has what that folder has now.\nThe conflicts are between markers "+
			"in:\n"+
			"  a.go\nResolve each of them so that what both sides are for is kept, and take the markers out.\n",
			"merge fixer-a00000 ", "merge fixer-a00000 ", "merge fixer-a00000 theirs")
	})
}

// TestMergeOrder: /merge takes what the command takes, and says what it takes where it cannot.
func TestMergeOrder(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]wire.WorktreeMerge{
		"":                    {},
		"#2 --dry-run":        {WorktreeQuery: wire.WorktreeQuery{Name: "#2"}, DryRun: true},
		"--take=theirs fixer": {WorktreeQuery: wire.WorktreeQuery{Name: "fixer"}, Take: wire.TakeTheirs},
		"fixer --into fix":    {WorktreeQuery: wire.WorktreeQuery{Name: "fixer"}, Into: "fix"},
		"fixer --hand-back":   {WorktreeQuery: wire.WorktreeQuery{Name: "fixer"}, HandBack: true},
	} {
		if got, err := mergeOrder(words); got != want || err != nil {
			t.Errorf("%q: %+v, %v", words, got, err)
		}
	}
	for words, want := range map[string]string{"a b": `not also "b"`, "--json": "unknown flag: --json",
		"a --take": "needs an argument", "a --hand-back --into x": "writes to its worktree alone", "-h": "help"} {
		_, err := mergeOrder(words)
		if said, ok := errors.AsType[*troupe.UserError](err); !ok || !strings.Contains(said.Problem, want) ||
			!strings.Contains(said.Hint, mergeUse) {
			t.Errorf("%q: %v", words, err)
		}
	}
}

// TestWorktreeByNumber: an agent's number means its worktree, and that of this conversation's agent.
func TestWorktreeByNumber(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, _ string) {
		f.add(childID, troupe.Created{Name: "fixer", Parent: rootID, Depth: 1}, troupe.Started{Run: 1},
			ended(troupe.Completed))
		f.says("hi")
	})
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("go\r")
	p.shows("1.5 s")
	p.Keys("/merge #2\r")
	p.shows("is no agent here")
	p.Keys("/worktrees #1\r")
	p.shows("fixer-a00000")
	if strings.Contains(p.Shown(), "troupe/mine") {
		t.Error("all worktrees are listed")
	}
	p.Keys("/merge #1\r")
	p.shows("then merge again")
	f.heardAll(t, "begin false", "go", "merge "+string(childID)+" ")
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
