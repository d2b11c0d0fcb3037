package cmd

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// halfUndone is a home where an undo that is forced puts one file back and has to leave others.
type halfUndone struct {
	*apitest.World
	left []wire.UndoFile
}

func (h halfUndone) Undo(ctx context.Context, root troupe.SessionID, o wire.UndoOrder) (wire.Undo, error) {
	u, err := h.World.Undo(ctx, root, o)
	u.Files, u.Left = []wire.UndoFile{{Path: "/src/a", Action: wire.UndoRestore}}, h.left
	return u, err
}

// TestUndoLeavesFiles: an undo that was carried out, but not for every file, says for which and fails.
func TestUndoLeavesFiles(t *testing.T) {
	t.Parallel()
	left := []wire.UndoFile{{Path: "/src/b", Action: wire.UndoRestore, Problem: "a folder is in its place"}}
	for _, tt := range []struct {
		left []wire.UndoFile
		json bool
		code int
		says []string
	}{
		{nil, false, troupe.ExitOK, []string{"Put back 1 file."}},
		{nil, true, troupe.ExitOK, []string{`"applied":true`}},
		{left, false, troupe.ExitFailed, []string{"Put back 1 file.", "left ", "b: a folder is in its place"}},
		{left, true, troupe.ExitFailed, []string{`"applied":true`, `"left":[{"path":"/src/b"`}},
	} {
		var out bytes.Buffer
		c := &console.Console{Out: &out, Err: &bytes.Buffer{}, Cwd: "/src"}
		w := halfUndone{apitest.New(), tt.left}
		err := undo(t.Context(), c, w, "main", undoFlags{UndoOrder: wire.UndoOrder{Force: true}, yes: true,
			asJSON: tt.json})
		if code := console.Code(err); code != tt.code {
			t.Errorf("%d files left, JSON %v: exit %d, want %d (%v)", len(tt.left), tt.json, code, tt.code, err)
		}
		for _, s := range tt.says {
			if !strings.Contains(out.String(), s) {
				t.Errorf("%d files left, JSON %v: %q does not say %q", len(tt.left), tt.json, out.String(), s)
			}
		}
	}
}

// TestPlanThatIsRefused: of files beside one that stays the plan does not say that they are put back, unless they are.
func TestPlanThatIsRefused(t *testing.T) {
	t.Parallel()
	u := wire.Undo{Turn: 1, Files: []wire.UndoFile{{Path: "/src/a"}, {Path: "/src/b", Action: wire.UndoRemove},
		{Path: "/src/c", Obstacle: wire.ObstacleChanged, Problem: "it was changed since"}}}
	for force, want := range map[bool]string{
		false: "a would be put back\nb would be removed (it was not there)\nc stays: it was changed since",
		true:  "a put back\nb removed (it was not there)\nc put back, although it was changed since",
	} {
		var out bytes.Buffer
		c := &console.Console{Out: &out, Err: &bytes.Buffer{}, Cwd: "/src"}
		if err := writePlan(c, wire.Session{Cwd: "/src"}, u, force); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			if f := strings.Fields(line); len(f) > 2 && len(f[0]) == 1 {
				got = append(got, f[0]+" "+strings.Join(f[2:], " "))
			}
		}
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("forced %v: %s", force, text)
		}
	}
}

// TestRedoRemovesAgain: what a redo removes was there, or it would not be removed.
func TestRedoRemovesAgain(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	u := wire.Undo{Type: wire.RedoType, Files: []wire.UndoFile{{Path: "/src/Makefile", Action: wire.UndoRemove}}}
	err := writePlan(&console.Console{Out: &out, Cwd: "/src"}, wire.Session{Cwd: "/src"}, u, false)
	if err != nil || !strings.Contains(out.String(), "removed again\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestConfirm: only a yes is one.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{"y\n": true, "Yes\n": true, " y ": true, "\n": false, "": false,
		"n\n": false, "no\n": false, "yes please\n": false} {
		var out bytes.Buffer
		if got, err := confirm(strings.NewReader(answer), &out, "Sure?"); got != want || err != nil {
			t.Errorf("%q: %t, %v", answer, got, err)
		}
	}
}

// TestGoesForGood: what a discard throws away is asked about, also if it is ignored files alone.
func TestGoesForGood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		w    wire.Worktree
		want bool
	}{
		"unmerged":         {wire.Worktree{State: wire.WorktreeUnmerged}, true},
		"ignored files":    {wire.Worktree{State: wire.WorktreeMerged, There: true, Kept: "it holds build/"}, true},
		"a folder gone":    {wire.Worktree{State: wire.WorktreeMerged, Kept: "it was removed"}, false},
		"all is elsewhere": {wire.Worktree{State: wire.WorktreeMerged, There: true}, false},
	} {
		if got := goesForGood(c.w); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
