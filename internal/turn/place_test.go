package turn_test

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// placed folds the beginning of a session with a folder of its own, and what follows.
func placed(t *testing.T, w troupe.Workspace, parent troupe.SessionID, more ...troupe.Body) (turn.State, error) {
	t.Helper()
	bodies := append([]troupe.Body{
		troupe.Created{Parent: parent, Depth: len(parent), Cwd: "/p", Workspace: w,
			Profile: troupe.Profile{Model: "m"}},
		troupe.Started{Run: 1},
		troupe.CallSealed{Reply: 1, Generation: 1, Model: "m"},
		troupe.Replied{Reply: 1, Stop: troupe.StopToolUse, Blocks: []troupe.Block{
			{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 1, Index: 0, Name: "Edit"}},
			{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 1, Index: 1, Name: "Bash"}},
			{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 1, Index: 2, Name: "Read"}}}},
	}, more...)
	var events []troupe.Event
	for i, b := range bodies {
		events = append(events, troupe.Event{Root: "r", Session: "s", Seq: int64(i + 1), At: time.Unix(1, 0), Body: b})
	}
	return turn.Fold(events)
}

func own() troupe.Workspace {
	return troupe.Workspace{Kind: troupe.WorkspaceTree, Owner: "s", From: "/p/sub", Of: "/p", Top: "/w",
		Folder: "/w/sub"}
}

func finished(call int, files ...troupe.FileTouch) troupe.ToolFinished {
	return troupe.ToolFinished{Result: troupe.Result{Reply: 1, Call: call}, Evidence: troupe.Evidence{Files: files}}
}

// TestToSave: what calls have changed in the folder since the last checkpoint, and whether that is known.
func TestToSave(t *testing.T) {
	t.Parallel()
	started := func(call int) troupe.Body { return troupe.ToolStarted{Reply: 1, Call: call} }
	edit := finished(0, troupe.FileTouch{Path: "/w/other/a", Wrote: true},
		troupe.FileTouch{Path: "/elsewhere", Wrote: true},
		troupe.FileTouch{Path: "/w/read"})
	shell := finished(1)
	shell.Task = &troupe.Task{ID: "b", Kind: troupe.TaskShell, Status: troupe.TaskRunning, Background: true}
	for name, tt := range map[string]struct {
		events []troupe.Body
		files  []string
		any    bool
	}{
		"nothing":             {nil, nil, false},
		"a read":              {[]troupe.Body{finished(2)}, nil, false},
		"an edit":             {[]troupe.Body{started(0), edit}, []string{"/w/other/a"}, true},
		"a command":           {[]troupe.Body{started(1), finished(1)}, nil, true},
		"both":                {[]troupe.Body{started(0), edit, started(1), finished(1)}, nil, true},
		"one that still runs": {[]troupe.Body{started(1), shell, troupe.WorkspaceSaved{}}, nil, true},
		"a command that ended while it was saved": {[]troupe.Body{started(0), edit, started(1), finished(1),
			troupe.WorkspaceSaved{After: 6}}, nil, true},
		"a command that ended before it was": {[]troupe.Body{started(0), edit, started(1), finished(1),
			troupe.WorkspaceSaved{After: 8}}, nil, false},
		"saved since": {[]troupe.Body{started(0), edit, started(1), finished(1), troupe.WorkspaceSaved{}}, nil,
			false},
	} {
		st, err := placed(t, own(), "p", tt.events...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if files, any := turn.ToSave(&st); !slices.Equal(files, tt.files) || any != tt.any {
			t.Errorf("%s: %q %v", name, files, any)
		}
	}
}

// TestPlaceFold: only who has a folder of its own is told of one, its base stays, and a move begins anew.
func TestPlaceFold(t *testing.T) {
	t.Parallel()
	ready := func(commit string) troupe.Body {
		return troupe.WorkspaceReady{Base: troupe.WorkspaceBase{Commit: commit}}
	}
	others := own()
	others.Owner = "another"
	for name, tt := range map[string]struct {
		w      troupe.Workspace
		parent troupe.SessionID
		events []troupe.Body
	}{
		"no folder":            {troupe.Workspace{}, "p", []troupe.Body{ready("1")}},
		"another's":            {others, "p", []troupe.Body{ready("1")}},
		"another base":         {own(), "p", []troupe.Body{ready("1"), ready("2")}},
		"a checkpoint of none": {troupe.Workspace{}, "p", []troupe.Body{troupe.WorkspaceSaved{}}},
		"a move of a child":    {own(), "p", []troupe.Body{troupe.WorkspaceChanged{}}},
	} {
		if _, err := placed(t, tt.w, tt.parent, tt.events...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	read := finished(2, troupe.FileTouch{Path: "/p/sub/a", Hash: "h"})
	st, err := placed(t, troupe.Workspace{}, "", read, troupe.WorkspaceChanged{Workspace: own()}, ready("1"),
		troupe.ToolStarted{Reply: 1, Call: 1}, finished(1), troupe.WorkspaceChanged{})
	if err != nil {
		t.Fatal(err)
	}
	if _, any := turn.ToSave(&st); any || st.Place.Base != nil || st.Session.Workspace.Kind != "" || turn.Keeps(&st) {
		t.Errorf("after it went back: %+v", st.Place)
	}
	if st.Files["/w/sub/a"] != "h" {
		t.Errorf("what was read before is unread there: %v", st.Files)
	}
}

// TestKeptOnceInEachProcess: what could not be kept at an end is tried again by a process that took the session up
// after it, and not by the one in which it failed.
func TestKeptOnceInEachProcess(t *testing.T) {
	t.Parallel()
	st, err := placed(t, own(), "p", finished(0), finished(1), finished(2),
		troupe.Ended{Outcome: troupe.Outcome{Status: troupe.Completed,
			Workspace: &troupe.WorkspaceResult{Unkept: "the disk is full"}}})
	if err != nil {
		t.Fatal(err)
	}
	again := func(run int) {
		t.Helper()
		end := st.Session.Seq
		for taken, want := range map[int64]turn.Action{
			0:       turn.Park{},
			end - 1: turn.Park{},
			end:     turn.Admit{Run: run, Again: true, Keep: true},
		} {
			if act := turn.Next(&st, turn.Inputs{Taken: turn.Taken{Seq: taken}}); act != want {
				t.Errorf("taken up at %d of %d: %+v", taken, end, act)
			}
		}
	}
	again(2)
	// A run that ends before it has looked at its folder changes nothing about that.
	for _, body := range []troupe.Body{troupe.Started{Run: 2},
		troupe.Ended{Outcome: troupe.Outcome{Status: troupe.Cancelled}}} {
		if err := st.Apply(troupe.Event{Session: st.Session.ID, Root: st.Session.Root, Seq: st.Session.Seq + 1,
			Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	again(3)
}

// TestToldThatItGoes: where hooks were told that the folder goes and it stayed, because something came into it
// meanwhile, they are told that it is there before they are told again that it goes.
func TestToldThatItGoes(t *testing.T) {
	t.Parallel()
	st, err := placed(t, own(), "p", finished(0), finished(1), finished(2),
		troupe.HookRan{Event: troupe.HookWorktreeRemove},
		troupe.Ended{Outcome: troupe.Outcome{Status: troupe.Completed, Workspace: &troupe.WorkspaceResult{}}})
	if err != nil || !st.Place.Gone {
		t.Errorf("it is gone as far as hooks know: %v, %v", st.Place.Gone, err)
	}
}
