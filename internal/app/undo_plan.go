package app

import (
	"context"
	"fmt"
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
	mixed, modes, bits := make(map[string]blend), make(map[string]uint32), make(map[string]*bool)
	for _, s := range h.steps {
		if own := h.folders[s.folder]; own != nil && own.gone {
			continue
		}
		if s.mode != 0 {
			modes[s.path] = s.mode
		}
		before := last[s.path]
		last[s.path] = s
		if s.bit && s.turn >= turn && bits[s.path] == nil {
			bits[s.path] = &s.exec
		}
		if _, begun := first[s.path]; begun {
			mixed[s.path].next(h, before, s)
		} else if s.turn >= turn && !s.aside {
			first[s.path] = s
			mixed[s.path] = blend{s.from: ""}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(first)) {
		s := first[path]
		if s.odd || last[path].odd {
			u.Links = append(u.Links, path)
			continue
		}
		with := mixed[path][last[path].to]
		f := UndoFile{UndoFile: wire.UndoFile{Path: path, Mixed: with != ""}, To: s.from,
			mode: os.FileMode(modes[path])}
		f.Exec, f.mixed = bits[path], with
		u.add(ctx, f, last[path], s.lost)
	}
	u.turn()
	return u
}

// blend says of what a file held since a first change whether work of others is in it that the content before that
// change lacks, and between which changes it came in. A content that it does not name is not known.
type blend map[string]string

// next takes the step that follows one of the same file.
func (b blend) next(h *history, before, s step) {
	if _, known := b[s.from]; !known && before.to != s.from && !before.half && !s.lost && !h.ran(before, s) {
		b[s.from] = fmt.Sprintf("something else changed it after %s and before %s", before.who(), s.who())
	}
	if _, known := b[s.to]; !known {
		b[s.to] = b[s.from]
	}
}

// ran reports whether a command of the session's own is known to have changed a file between two steps.
func (h *history) ran(before, s step) bool {
	for _, t := range h.turns {
		for _, c := range t.Commands {
			end := c.at
			if c.back {
				end = c.until
			}
			if !end.Before(before.at) && !c.at.After(s.at) && slices.Contains(c.changed, s.path) {
				return true
			}
		}
	}
	return false
}

// blend has a file stay, unless it is forced, that others have worked on between the changes which are taken back.
func (f *UndoFile) blend(with string) {
	if f.Obstacle == wire.ObstacleNone {
		f.Obstacle, f.Problem = wire.ObstacleChanged, with
	}
}

func (h *history) plan() Undo {
	u := Undo{Root: h.root, past: h.past, last: len(h.turns), seen: len(h.entries)}
	if n := len(h.steps); n > 0 {
		u.after = h.steps[n-1].at
	}
	for _, e := range h.entries {
		for _, f := range e.Files {
			if !e.Done {
				u.cut = append(u.cut, f.Path)
			}
		}
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
