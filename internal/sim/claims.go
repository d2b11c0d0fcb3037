package sim

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// letters are what the files begin with that agents are started to change alone.
const letters = "abc"

// drawWrites are the patterns of such an agent, as its call names them.
func (w *world) drawWrites() string { return []string{"a", "b", "ab", "bc", letters}[w.rng.IntN(5)] }

// drawFile is a file that a session may change by what it was started for, or one that it may not.
func (w *world) drawFile(id troupe.SessionID) string {
	p := w.watch.law.parties[id]
	if p == nil || w.watch.law.letters(id) == letters && !w.one(6) || w.one(4) {
		return []string{"", "", "", "etc", "guarded", "plan:" + string(id)}[w.rng.IntN(6)]
	}
	return string(letters[w.rng.IntN(len(letters))])
}

// patterns are such letters as an Agent call has them.
func patterns(of string) (out []string) {
	for _, c := range of {
		out = append(out, string(c)+"*")
	}
	return out
}

// own are the letters that a session itself was started with; "" if it was started to change no files in particular.
func (p *party) own() string {
	out := ""
	for _, s := range p.profile.Writes {
		out += s[:1]
	}
	return out
}

// letters are those that all of a line leave a session: all, where none was started to change certain files.
func (l *law) letters(id troupe.SessionID) string {
	left := letters
	for p := l.parties[id]; p != nil; p = l.parties[p.parent] {
		if own := p.own(); own != "" {
			left = both(left, own)
		}
	}
	return left
}

// both are the letters that two have in common.
func both(a, b string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(b, c) {
			return c
		}
		return -1
	}, a)
}

// outside: the file is none of those that a session was started to change, it or one above it. What holds in a folder
// of an agent's own holds in the one that it was made from too. An agent's plan is its own to write.
func (l *law) outside(id troupe.SessionID, file string) bool {
	if file == (plans{}).File(troupe.Session{ID: id}) {
		return false
	}
	for p := l.parties[id]; p != nil; p = l.parties[p.parent] {
		if own := p.own(); own != "" && (path.Dir(file) != "/sim" || !strings.Contains(own, path.Base(file)[:1])) {
			return true
		}
	}
	return false
}

// dir is the folder in which a session works.
func (p *party) dir() string {
	if p.work.Kind.Made() {
		return p.work.Folder
	}
	return "/sim"
}

// bounds are the sessions from one up that were started to change certain files, as far as they are not above another.
func (l *law) bounds(id, other troupe.SessionID) (out []troupe.SessionID) {
	for at := id; at != ""; at = l.parties[at].parent {
		if l.parties[at].own() != "" && !l.above(at, other) {
			out = append(out, at)
		}
	}
	return out
}

// above reports whether a session is another one, or above it.
func (l *law) above(top, id troupe.SessionID) bool {
	for ; id != ""; id = l.parties[id].parent {
		if id == top {
			return true
		}
	}
	return false
}

// meet reports whether two sessions may change one file in one folder, by what they, and those above each of them
// alone, were started for.
func (l *law) meet(a, b troupe.SessionID) bool {
	for _, x := range l.bounds(a, b) {
		for _, y := range l.bounds(b, a) {
			if l.parties[x].dir() == l.parties[y].dir() && both(l.letters(x), l.letters(y)) != "" {
				return true
			}
		}
	}
	return false
}

// alone: no two are at work at one time that may change the same file, whichever way their runs began.
func (h *watch) alone(e troupe.Event) {
	for _, id := range h.order {
		s := h.states[id].Session
		if id == e.Session || s.Status == troupe.Spawning || !s.Status.Live() || !h.law.meet(e.Session, id) {
			continue
		}
		h.w.broken("session %s: event %d begins its run, and %s is at work, which may change the same files", e.Session,
			e.Seq, id)
	}
	if h.law.parties[e.Session].own() != "" {
		h.w.res.Bound++
	}
}

// bornBound: an agent may change the files that the call named that started it.
func (h *watch) bornBound(e troupe.Event, b troupe.Created) {
	up := h.states[b.Parent]
	if up == nil || b.Coord.Reply != up.Reply() || b.Coord.Call >= len(up.Calls) {
		return
	}
	in, err := intent("Agent", up.Calls[b.Coord.Call].Input)
	sp, ok := in.(troupe.Spawn)
	if err != nil || !ok || up.Calls[b.Coord.Call].Name != "Agent" {
		return
	}
	if !slices.Equal(sp.Writes, b.Profile.Writes) || sp.Verify != b.Profile.Verify {
		h.w.broken("session %s may change %q and is to be checked: %v; its call says %q and %v", e.Session,
			b.Profile.Writes, b.Profile.Verify, sp.Writes, sp.Verify)
	}
	if h.states[h.w.root] == up && (h.w.climate.coordinator || h.w.follows()) {
		h.w.res.Workers++
		if !b.Background || b.Fork != nil {
			h.w.broken("session %s works for one that has others do all work, as a fork or waited for", e.Session)
		}
	}
}
