package live

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestPlaces: the end of a run says where the work is, if it is not where the run was begun: of an agent what became of
// its own folder, of a main agent the folder that it goes on in. Agents that share a folder say nothing of it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	own := troupe.Workspace{Kind: troupe.WorkspaceTree, Name: "mine", Folder: "/t/mine"}
	event := func(s troupe.SessionID, b troupe.Body) troupe.Event { return troupe.Event{Session: s, Body: b} }
	ended := func(w *troupe.WorkspaceResult) troupe.Ended {
		return troupe.Ended{Outcome: troupe.Outcome{Status: troupe.Completed, Workspace: w}}
	}
	var told []string
	n := NewNotices(func(text string) { told = append(told, text) })
	var b strings.Builder
	v := New(&b, false, 0, "/")
	known := []wire.Session{{ID: "k", Name: "known", Workspace: &own}, {ID: "s", Parent: "k", Workspace: &own}}
	n.Know(known)
	v.Know(known)
	events := []troupe.Event{
		event("c", troupe.Created{Name: "fixer", Depth: 1, Workspace: own}),
		event("c", ended(&troupe.WorkspaceResult{Kind: troupe.WorkspaceTree, Name: "f", Base: "1", Tip: "2", Files: 1,
			Branch: "troupe/f"})),
		event("s", ended(nil)), event("k", ended(nil)),
		event("r", troupe.Created{}), event("r", ended(nil)),
		event("r", troupe.WorkspaceChanged{Workspace: own}), event("r", ended(nil)),
		event("r", troupe.WorkspaceChanged{}), event("r", ended(nil)),
	}
	n.Show(slices.Clone(events))
	v.Show(events)
	where := "its work is in /t/mine; troupe diff mine, troupe merge mine"
	fixed := "worktree f: branch troupe/f, 1 file +0 -0; troupe diff f, troupe merge f"
	want := []string{"fixer: " + fixed, "known: " + where, "main: " + where}
	if !slices.Equal(told, want) {
		t.Errorf("told:\n%s\nwant:\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	if s := b.String(); strings.Count(s, where) != 2 || strings.Count(s, fixed) != 1 {
		t.Errorf("the view says:\n%s", s)
	}
}
