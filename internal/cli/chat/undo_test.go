//go:build unix

package chat

import (
	"testing"
	"time"

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
