package replay_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/replay"
)

// TestFolders: what the recording says of folders is served to the agent that had them, in order, and the folder of a
// run lies below today's folders.
func TestFolders(t *testing.T) {
	t.Parallel()
	root := troupe.SessionID("r00000000001")
	child := troupe.ChildID(root, troupe.Coord{Reply: 1})
	saved := func(tree string) *troupe.WorkspaceSaved {
		return &troupe.WorkspaceSaved{Checkpoint: troupe.Checkpoint{Tree: tree}}
	}
	of := func(agent string, f replay.Folder) replay.Line {
		f.Agent, f.Owner = agent, child
		return replay.Line{Folder: &f}
	}
	rec := replay.Recording{
		Header: replay.Header{Root: root, Place: replay.Place{Cwd: "/then/p", Home: "/then"}},
		Lines: []replay.Line{
			{Agent: &replay.Agent{Path: "main", Session: root}},
			{Tool: &replay.Tool{Agent: "main", Reply: 2, Name: "Agent", IsError: true,
				Blocks: []troupe.Block{troupe.Text("it cannot")}}},
			{Agent: &replay.Agent{Path: "main/fixer", Session: child}},
			of("main/fixer", replay.Folder{Workspace: &troupe.Workspace{Owner: child, Top: "/then/w", Of: "/then/p"}}),
			of("main/fixer", replay.Folder{Run: 1, Ready: &troupe.WorkspaceBase{Commit: "c"}}),
			of("main/fixer", replay.Folder{Run: 1, Saved: saved("1")}),
			of("main/fixer", replay.Folder{Run: 1, Saved: saved("2")}),
			of("main/fixer", replay.Folder{Run: 1, Result: &troupe.WorkspaceResult{Tip: "first"}}),
			of("main/fixer", replay.Folder{Run: 2, Result: &troupe.WorkspaceResult{Tip: "second"}}),
		},
	}
	p := replay.New(rec, replay.Place{Cwd: "/now/p", Home: "/now"}, func(string) bool { return false }).Folders()
	w, ok := p.Work(child)
	if !ok || w.Top != "/now/w" || w.Of != "/now/p" {
		t.Errorf("%+v %v", w, ok)
	}
	s := troupe.Session{ID: child, Run: 2, Workspace: w}
	if b := p.Base(s); b.Commit != "c" {
		t.Errorf("base: %+v", b)
	}
	for _, want := range []string{"1", "2", "2"} {
		if got := p.Saved(s).Checkpoint.Tree; got != want {
			t.Errorf("checkpoint %q, want %q", got, want)
		}
	}
	if r, ok := p.Left(s); !ok || r.Tip != "second" {
		t.Errorf("result: %+v %v", r, ok)
	}
	if text, ok := p.Refused(root, troupe.ChildID(root, troupe.Coord{Reply: 2})); !ok || text != "it cannot" {
		t.Errorf("%q %v", text, ok)
	}
	others := troupe.Session{ID: root, Run: 1, Workspace: w}
	_, left := p.Left(others)
	if _, ok := p.Work(root); ok || left || p.Base(others).Commit != "" || p.Saved(others).Checkpoint.Tree != "" {
		t.Error("another one is told of the folder")
	}
}
