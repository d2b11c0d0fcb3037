package turn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// saved is a checkpoint in the log.
func saved(after int64, changed ...troupe.FileChanged) troupe.WorkspaceSaved {
	return troupe.WorkspaceSaved{After: after, Checkpoint: troupe.Checkpoint{Tree: "t", Files: len(changed),
		Changed: changed}}
}

// TestMeasured: in a folder of the session's own a file counts once, whatever has changed it how often, and what no
// checkpoint has counts as its tools said.
func TestMeasured(t *testing.T) {
	t.Parallel()
	started := func(call int) troupe.Body { return troupe.ToolStarted{Reply: 1, Call: call} }
	edit := finished(0, troupe.FileTouch{Path: "/w/a", Wrote: true, Added: 1},
		troupe.FileTouch{Path: "/elsewhere", Wrote: true, Added: 5})
	calls := []troupe.Body{started(0), edit, started(1), finished(1)}
	changed := func(path string, added int) troupe.FileChanged { return troupe.FileChanged{Path: path, Added: added} }
	come, gone := changed("b", 3), troupe.FileChanged{Path: "b", Gone: true, Removed: 3}
	come.New = true
	many := saved(0)
	for i := range 150 {
		many.Checkpoint.Changed = append(many.Checkpoint.Changed, changed(fmt.Sprint(i), 1))
	}
	many.Checkpoint.Files = 170
	again := saved(0)
	for i := range 120 {
		again.Checkpoint.Changed = append(again.Checkpoint.Changed, changed(fmt.Sprint(i+100), 1))
	}
	again.Checkpoint.Files = 120
	others := own()
	others.Owner = "another"
	for name, tt := range map[string]struct {
		w      troupe.Workspace
		events []troupe.Body
		closed *troupe.WorkspaceResult
		want   []string
		more   int
	}{
		"no checkpoint yet": {own(), calls, nil, []string{"/w/a 1", "/elsewhere 5"}, 0},
		"by both": {own(), append(calls, saved(8, changed("a", 2), come)), nil,
			[]string{"/elsewhere 5", "/w/a 2", "/w/b 3"}, 0},
		"several steps": {own(), append(calls, saved(8, changed("a", 2)), saved(9, changed("a", 2))), nil,
			[]string{"/elsewhere 5", "/w/a 4"}, 0},
		"come and gone": {own(), append(calls, saved(8, come), saved(9, gone)), nil, []string{"/elsewhere 5"}, 0},
		"not saved": {own(), append(calls, troupe.WorkspaceSaved{After: 8, Problem: "full"}), nil,
			[]string{"/w/a 1", "/elsewhere 5"}, 0},
		"closed": {own(), append(calls, saved(8, changed("a", 2), come)),
			&troupe.WorkspaceResult{Run: &troupe.Checkpoint{Files: 1, Changed: []troupe.FileChanged{changed("a", 7)}}},
			[]string{"/elsewhere 5", "/w/a 7"}, 0},
		"of a folder that is another's": {others, append(calls, saved(8, changed("a", 2))), nil,
			[]string{"/w/a 1", "/elsewhere 5"}, 0},
		"more than are listed": {own(), append(calls, many, again), nil, nil, 40},
	} {
		st, err := placed(t, tt.w, "p", tt.events...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		e := turn.Measured(&st, tt.closed)
		var got []string
		for _, f := range e.Files {
			got = append(got, fmt.Sprint(f.Path, " ", f.Added))
		}
		if tt.want == nil && len(got) != troupe.MostChanged+1 || tt.want != nil && !slices.Equal(got, tt.want) ||
			e.More != tt.more {
			t.Errorf("%s: %q and %d more, want %q and %d", name, got, e.More, tt.want, tt.more)
		}
	}
}

// TestOverdue: what was changed before the last reply is saved before anything else is changed; what its own calls have
// changed waits for the next one.
func TestOverdue(t *testing.T) {
	t.Parallel()
	command := []troupe.Body{troupe.ToolStarted{Reply: 1, Call: 1}, finished(1), finished(0), finished(2)}
	next := []troupe.Body{troupe.CallSealed{Reply: 2, Generation: 1, Model: "m"},
		troupe.Replied{Reply: 2, Stop: troupe.StopToolUse, Blocks: []troupe.Block{
			{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 2, Index: 0, Name: "Bash"}}}}}
	failed := troupe.WorkspaceSaved{After: 8, Problem: "full"}
	for name, tt := range map[string]struct {
		events  []troupe.Body
		overdue bool
		any     bool
	}{
		"of this reply":            {command, false, true},
		"of the reply before":      {slices.Concat(command, next), true, true},
		"saved":                    {slices.Concat(command, []troupe.Body{saved(8)}, next), false, false},
		"saved late":               {slices.Concat(command, next, []troupe.Body{saved(9)}), false, false},
		"begun before it was done": {slices.Concat(command, next, []troupe.Body{saved(5)}), true, true},
		"could not be saved":       {slices.Concat(command, []troupe.Body{failed}, next), false, false},
		"by a version before":      {slices.Concat(command, next, []troupe.Body{saved(0)}), false, false},
		"a command in the background": {slices.Concat([]troupe.Body{troupe.ToolStarted{Reply: 1, Call: 1},
			inBackground(), finished(0), finished(2), saved(7)}, next[:1], []troupe.Body{ended()}, next[1:]), true,
			true},
	} {
		st, err := placed(t, own(), "p", tt.events...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, any := turn.ToSave(&st); turn.Overdue(&st) != tt.overdue || any != tt.any {
			t.Errorf("%s: overdue %v, to be saved %v", name, turn.Overdue(&st), any)
		}
	}
}

func inBackground() troupe.ToolFinished {
	b := finished(1)
	b.Task = &troupe.Task{ID: "b", Kind: troupe.TaskShell, Status: troupe.TaskRunning, Background: true}
	return b
}

func ended() troupe.MailDelivered {
	return troupe.MailDelivered{Mail: []troupe.Mail{{Kind: troupe.MailTaskEnded,
		Ended: &troupe.Outcome{Kind: troupe.TaskShell, Task: "b", Status: troupe.Completed}}}}
}

// TestMeasuredCommands: in a folder that is not the session's own what watched commands changed counts beside what its
// tools wrote, in the order in which it was done; and it is said of how many calls that is not known.
func TestMeasuredCommands(t *testing.T) {
	t.Parallel()
	run := func(call int, level troupe.Level, w *troupe.Watched) troupe.Body {
		b := finished(call)
		b.Evidence.Commands = []troupe.CommandRun{{Command: "make", Sandbox: level, Watched: w}}
		return b
	}
	changed := func(files ...troupe.FileChanged) *troupe.Watched { return &troupe.Watched{Changed: files} }
	a, gone, come := troupe.FileChanged{Path: "/p/a"}, troupe.FileChanged{Path: "/p/b", Gone: true},
		troupe.FileChanged{Path: "/p/b", New: true}
	edit := finished(0, troupe.FileTouch{Path: "/p/a", Wrote: true, Added: 1})
	cut := finished(0)
	cut.Interrupt, cut.Result.IsError = true, true
	failed := finished(0)
	failed.Result.IsError = true
	for name, tt := range map[string]struct {
		w      troupe.Workspace
		events []troupe.Body
		want   string
		unseen int
	}{
		"tool and command": {troupe.Workspace{}, []troupe.Body{troupe.ToolStarted{Reply: 1}, edit,
			run(1, troupe.LevelWorkspace, changed(a, come))}, "[/p/a +1 by a command /p/b by a command]", 0},
		"come and gone": {troupe.Workspace{}, []troupe.Body{run(0, troupe.LevelWorkspace, changed(come)),
			run(1, troupe.LevelGranted, changed(gone))}, "[]", 0},
		"gone": {troupe.Workspace{}, []troupe.Body{run(0, troupe.LevelWorkspace, changed(gone))},
			"[/p/b by a command gone]", 0},
		"unconfined": {troupe.Workspace{}, []troupe.Body{run(0, "", nil), run(1, troupe.LevelWorkspace,
			&troupe.Watched{Blind: true})}, "[]", 2},
		"read-only": {troupe.Workspace{}, []troupe.Body{run(0, troupe.LevelReadOnly, &troupe.Watched{Blind: true})},
			"[]", 0},
		"cut off": {troupe.Workspace{}, []troupe.Body{troupe.ToolStarted{Reply: 1}, cut}, "[]", 1},
		"failed":  {troupe.Workspace{}, []troupe.Body{troupe.ToolStarted{Reply: 1}, failed}, "[]", 0},
		"in its own folder": {own(), []troupe.Body{run(0, troupe.LevelWorkspace, changed(troupe.FileChanged{
			Path: "/w/x"}, troupe.FileChanged{Path: "/elsewhere"})), run(1, "", nil)}, "[/elsewhere by a command]", 0},
	} {
		s, err := placed(t, tt.w, "p", tt.events...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := turn.Measured(&s, nil)
		var said []string
		for _, f := range got.Files {
			text := f.Path
			if f.Added > 0 {
				text += fmt.Sprintf(" +%d", f.Added)
			}
			if f.Uncounted {
				text += " by a command"
			}
			if f.Gone {
				text += " gone"
			}
			said = append(said, text)
		}
		if fmt.Sprint(said) != tt.want || got.Unseen != tt.unseen {
			t.Errorf("%s: %v, %d unseen; want %s, %d", name, said, got.Unseen, tt.want, tt.unseen)
		}
	}
}
