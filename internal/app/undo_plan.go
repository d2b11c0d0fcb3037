package app

import (
	"context"
	"iter"
	"maps"
	"os"
	"slices"

	"github.com/troupe-dev/troupe/internal/wire"
)

// newest are the undos of what was not undone, of merges by people and of turns, the newest first.
func (h *history) newest(ctx context.Context) iter.Seq[Undo] {
	return func(yield func(Undo) bool) {
		for _, t := range slices.Backward(h.turns) {
			for _, m := range slices.Backward(t.Merges) {
				if m.by == "" && !m.undone && !yield(h.alone(ctx, m)) {
					return
				}
			}
			if len(t.Files) > 0 && !t.Undone && !yield(h.backTo(ctx, t.Number)) {
				return
			}
		}
	}
}

// backTo is the plan to go back to before a turn.
func (h *history) backTo(ctx context.Context, turn int) Undo {
	u := h.plan()
	u.Turn, u.Commands, u.Gone, u.Merges = turn, h.commandsSince(turn), h.goneSince(turn), h.peopleSince(turn)
	first, last := make(map[string]step), make(map[string]step)
	mixed, modes, bits := make(map[string]bool), make(map[string]uint32), make(map[string]*bool)
	for _, s := range h.steps {
		if own := h.folders[s.folder]; own != nil && own.gone {
			continue
		}
		if s.mode != 0 {
			modes[s.path] = s.mode
		}
		before, ok := last[s.path]
		last[s.path] = s
		if s.bit && s.turn >= turn && bits[s.path] == nil {
			bits[s.path] = &s.exec
		}
		if _, begun := first[s.path]; !begun {
			if s.turn >= turn && !s.aside {
				first[s.path] = s
			}
			continue
		}
		if ok && before.to != s.from && !before.half && !s.lost {
			mixed[s.path] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(first)) {
		s := first[path]
		if s.odd || last[path].odd {
			u.Links = append(u.Links, path)
			continue
		}
		f := UndoFile{UndoFile: wire.UndoFile{Path: path, Mixed: mixed[path]}, To: s.from,
			mode: os.FileMode(modes[path])}
		f.Exec = bits[path]
		u.add(ctx, f, last[path], s.lost)
	}
	return u
}

func (h *history) plan() Undo {
	u := Undo{Root: h.root, past: h.past, last: len(h.turns), seen: len(h.entries)}
	if n := len(h.steps); n > 0 {
		u.after = h.steps[n-1].at
	}
	return u
}

// commandsSince lists what ran since a turn began, or was still running then.
func (h *history) commandsSince(turn int) []Command {
	var out []Command
	began := h.turns[turn-1].At
	for _, t := range h.turns {
		for _, c := range t.Commands {
			if c.Known {
				continue
			}
			if c.Turn >= turn || (c.back && (c.until.IsZero() || c.until.After(began))) {
				out = append(out, c)
			}
		}
	}
	return out
}
