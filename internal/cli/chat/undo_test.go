//go:build unix

package chat

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestUndoMeansThePrompt: /undo goes back to before the first turn of the last prompt that changed a file.
func TestUndoMeansThePrompt(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) { f.says("heard " + what) })
	changed := []wire.FileChange{{Path: "/ws/a"}}
	f.turns = []wire.Turn{{Number: 1, Asked: "one", Files: changed}, {Number: 2, Asked: "two"},
		{Number: 3, Asked: "two", Files: changed}, {Number: 4, Asked: "two", Files: changed},
		{Number: 5, Asked: "three"}}
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("hello\r")
	p.sees("1.5 s\n>")
	p.Keys("/undo\r")
	p.shows("there is no undo here")
	f.heardAll(t, "begin false", "hello", "undo 2")
}

// TestUndoTellsPromptsApart: two prompts of the same words are two, and the plan says which one it is about.
func TestUndoTellsPromptsApart(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		f := newFake(func(f *fake, what string) { f.says("heard " + what) })
		changed := []wire.FileChange{{Path: "/ws/a"}}
		at := time.Date(2026, 11, 21, 14, 2, 0, 0, time.UTC)
		f.turns = []wire.Turn{{Number: 1, Asked: "again", Prompt: 1, Files: changed},
			{Number: 2, Asked: "again", Prompt: 2, At: at},
			{Number: 3, Asked: "again", Prompt: 2, Files: changed}}
		f.undo = wire.Undo{Turn: 2, Plan: "p", Files: []wire.UndoFile{{Path: "/ws/a", Action: wire.UndoRemove}}}
		return f
	}
	screens(t, "undo", f, wire.Begin{}, func(p *person, f *fake) {
		p.Keys("hello\r")
		p.sees("1.5 s\n>")
		p.Keys("/undo\r")
		p.sees("y/n + Enter?")
		f.heardAll(t, "begin false", "hello", "undo 2")
	})
}

// TestUndoQuotesTheFork: what a fork changed is quoted by what was asked of the fork, and not by a prompt that stands
// beside it.
func TestUndoQuotesTheFork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ agent, says string }{
		{"main/Write it down", "Back to before turn 1, your fork “write it down”:"},
		{"main", "turn 1, your prompt “look around” and your\nfork “write it down”:"},
	} {
		f := newFake(func(f *fake, what string) { f.says("heard " + what) })
		f.turns = []wire.Turn{{Number: 1, Asked: "look around", Prompt: 1,
			Files: []wire.FileChange{{Path: "/ws/a", Agents: []string{tt.agent}}},
			Forks: []wire.ForkAsked{{Agent: "main/Write it down", Asked: "write it down"}}}}
		f.undo = wire.Undo{Turn: 1, Plan: "p", Files: []wire.UndoFile{{Path: "/ws/a", Action: wire.UndoRemove}}}
		p := sit(t, f, wire.Begin{})
		p.sees("\n>")
		p.Keys("hello\r")
		p.sees("1.5 s\n>")
		p.Keys("/undo\r")
		p.sees("y/n + Enter?")
		p.shows(tt.says)
	}
}

// TestUndoOfMerges: a merge by a person is taken back before the prompt that it came after, and can be named.
func TestUndoOfMerges(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) { f.says("heard " + what) })
	ref := func(id string) wire.MergeRef { return wire.MergeRef{ID: id, Name: "fixer"} }
	f.turns = []wire.Turn{{Number: 1, Asked: "one", Prompt: 1, Files: []wire.FileChange{{Path: "/ws/a"}},
		Merges: []wire.Merge{{MergeRef: ref("1.1"), By: "main"}, {MergeRef: ref("1")},
			{MergeRef: ref("2"), Undone: true}}}}
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("hello\r")
	p.sees("1.5 s\n>")
	p.Keys("/undo\r")
	p.sees("y/n + Enter?")
	p.shows("The merge of fixer is taken back, and nothing else:")
	p.Keys("n\r")
	p.sees("Nothing was undone.\n>")
	p.Keys("/undo merge 1.1\r")
	p.sees("y/n + Enter?")
	f.heardAll(t, "begin false", "hello", "undo 0 1", "undo 0 1.1")
}

// TestUndoForcedIsTheSame: the command that puts back what can be is about what the conversation was asked to undo.
func TestUndoForcedIsTheSame(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) { f.says("heard " + what) })
	f.turns = []wire.Turn{{Number: 1, Asked: "one", Prompt: 1, Files: []wire.FileChange{{Path: "/ws/a"}}}}
	f.undo = wire.Undo{Turn: 1, Plan: "p", Files: []wire.UndoFile{{Path: "/ws/a", Action: wire.UndoRemove,
		Obstacle: wire.ObstacleChanged, Problem: "changed since"}}}
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("hello\r")
	p.sees("1.5 s\n>")
	p.Keys("/undo\r")
	p.shows("/undo 1 --force\nputs back")
	for want, of := range map[string]wire.UndoOrder{" merge 1.1": {Merge: "1.1"}, " redo": {Redo: true}} {
		if got := targetOf(of); got != want {
			t.Errorf("%+v: %q", of, got)
		}
		of.Force = true // it means there what it says
		if got, err := undoOrder(want + " --force"); err != nil || got != of {
			t.Errorf("%s: %+v, %v", want, got, err)
		}
	}
}

// TestUndoPassesWhatChangedNothing: a prompt whose files are as they were before it is no dead end: /undo goes past it
// to the last prompt that has something to put back, and says so.
func TestUndoPassesWhatChangedNothing(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		f := newFake(func(f *fake, what string) { f.says("heard " + what) })
		changed := []wire.FileChange{{Path: "/ws/a"}}
		at := time.Date(2026, 11, 21, 14, 2, 0, 0, time.UTC)
		f.turns = []wire.Turn{{Number: 1, Asked: "write it", Prompt: 1, At: at, Files: changed},
			{Number: 2, Asked: "there", Prompt: 2, At: at, Files: changed},
			{Number: 3, Asked: "and back", Prompt: 3, At: at, Files: changed},
			{Number: 4, Asked: "and back", Prompt: 3, Files: changed}}
		f.undoes = map[int]wire.Undo{3: {Turn: 3, Plan: "3"}, 2: {Turn: 2, Plan: "2"},
			1: {Turn: 1, Plan: "1", Files: []wire.UndoFile{{Path: "/ws/a", Action: wire.UndoRemove}}}}
		return f
	}
	screens(t, "undo-passed", f, wire.Begin{}, func(p *person, f *fake) {
		p.Keys("hello\r")
		p.sees("1.5 s\n>")
		p.Keys("/undo\r")
		p.sees("y/n + Enter?")
		f.heardAll(t, "begin false", "hello", "undo 3", "undo 2", "undo 1")
	})
}

// TestUndoOfNothing: where no prompt has anything to put back, nothing is proposed.
func TestUndoOfNothing(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) { f.says("heard " + what) })
	f.turns = []wire.Turn{{Number: 1, Asked: "one", Files: []wire.FileChange{{Path: "/ws/a"}}}}
	f.undoes = map[int]wire.Undo{1: {Turn: 1, Plan: "1"}}
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("hello\r")
	p.sees("1.5 s\n>")
	p.Keys("/undo\r")
	p.sees("Passed: your prompt “one”; its files are already as they\nwere before it\n" +
		"  There is nothing to put back.\n>")
}

// TestRedoSaysSo: taking an undo back has words of its own, and ? shows the question again.
func TestRedoSaysSo(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		f := newFake(func(f *fake, what string) { f.says("heard " + what) })
		f.undo = wire.Undo{Type: wire.RedoType, Plan: "p",
			Files: []wire.UndoFile{{Path: "/ws/a", Action: wire.UndoCreate}}}
		return f
	}
	screens(t, "redo", f, wire.Begin{}, func(p *person, _ *fake) {
		p.Keys("hello\r")
		p.sees("1.5 s\n>")
		p.Keys("/undo redo\r")
		p.sees("y/n + Enter?")
		p.Keys("?\r")
		p.sees("y/n + Enter? ?\nRedo this? y, or anything else for no.\ny/n + Enter?")
		p.Keys("\x1b")
		p.sees("Nothing was redone.\n>")
	})
}

// TestUndoOrder: /undo takes what the command takes, and short words for it.
func TestUndoOrder(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]wire.UndoOrder{
		"":               {},
		"3":              {Turn: 3},
		"--to 3 --force": {Turn: 3, Force: true},
		"redo":           {Redo: true},
		"--redo":         {Redo: true},
		"merge 6.1":      {Merge: "6.1"},
		"--merge=6.1":    {Merge: "6.1"},
		"--force":        {Force: true},
	} {
		if got, err := undoOrder(words); got != want || err != nil {
			t.Errorf("%q: %+v, %v", words, got, err)
		}
	}
	for words, want := range map[string]string{"none": `"none" is no turn`, "merge": "no turn", "3 4": "no turn",
		"--merge 6 3": "no turn", "--merge 6 --to 3": "takes one merge back", "--list": "unknown flag: --list"} {
		_, err := undoOrder(words)
		if said, ok := errors.AsType[*troupe.UserError](err); !ok || !strings.Contains(said.Problem, want) {
			t.Errorf("%q: %v", words, err)
		}
	}
}

// TestUndoPlanSaysWhatIs: the head of a plan does not say that something is done which the lines below it do not do.
func TestUndoPlanSaysWhatIs(t *testing.T) {
	t.Parallel()
	merge := &wire.MergeRef{ID: "1", Name: "fixer"}
	in := wire.UndoFile{Path: "/ws/a", Action: wire.UndoRemove, Obstacle: wire.ObstacleChanged, Problem: "it is new"}
	gone := wire.UndoFile{Path: "/ws/b", Action: wire.UndoRemove}
	for want, u := range map[string]wire.Undo{
		"Of the merge of fixer nothing is left to take back.\n": {Merge: merge},
		"The merge of fixer would be taken back, and nothing else:\n  a  +0 −0  stays: it is new\n" +
			"  b  +0 −0  would be removed; it was not there\n": {Merge: merge, Files: []wire.UndoFile{in, gone}},
		"What the last undo put back would be changed again:\n  a  +0 −0  stays: it is new\n": {Type: wire.RedoType,
			Files: []wire.UndoFile{in}},
		"What the last undo put back is changed again:\n  b  +0 −0  is removed again\n": {Type: wire.RedoType,
			Merge: merge, Files: []wire.UndoFile{gone}},
	} {
		stays := len(u.Files) > 0 && u.Files[0].Obstacle != wire.ObstacleNone
		if got := undoPlan("/ws", u, "", false, stays || len(u.Files) == 0); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// TestUndoForced: what something else has changed is put back where that is asked for.
func TestUndoForced(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, _ string) {
		f.turns = []wire.Turn{{Number: 1, Asked: "hello", Files: []wire.FileChange{{Path: "/ws/a"}}}}
		f.undo = wire.Undo{Turn: 1, Plan: "p", Files: []wire.UndoFile{{Path: "/ws/a", Problem: "it was changed since",
			Obstacle: wire.ObstacleChanged}}}
		f.says("hi")
	})
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("hello\r")
	p.sees("1.5 s\n>")
	p.Keys("/undo\r")
	p.sees("/undo 1 --force puts back those that can be.\n>")
	p.Keys("/undo --force\r")
	p.sees("y/n + Enter?")
	p.Keys("y\r")
	p.sees("1 of 1 file was put back.\n>")
	f.heardAll(t, "begin false", "hello", "undo 1", "undo 1", "undone 1 forced true")
}
