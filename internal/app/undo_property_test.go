package app

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
)

// Whatever tools and hands do to a few files, an undo to any turn brings back the very
// bytes that were there when it began, or says what stands in the way and changes nothing;
// and it can be taken back.
func TestUndoProperty(t *testing.T) {
	t.Parallel()
	a, now := playHouse(t, t.TempDir())
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(a.dirs.Data, "folder")
		if err != nil {
			t.Fatal(err)
		}
		n++
		p := newPlay(t, a, now, dir)
		p.begin(troupe.SessionID(fmt.Sprintf("r%011d", n)), "go")
		m := &folderModel{play: p, t: t, hand: map[string]int{}}
		for _, name := range m.names() {
			if rapid.Bool().Draw(t, "there") {
				p.put(name, "first "+name)
			}
		}
		m.turn()
		m.child = p.child(p.root, "Kid", true)
		// Each is a few real files synced to a real disk, so there are not too many of them.
		for range rapid.IntRange(3, 14).Draw(t, "acts") {
			switch rapid.SampledFrom([]string{"turn", "write", "write", "write", "hand", "undo"}).Draw(t, "act") {
			case "turn":
				m.turn()
			case "write":
				m.write()
			case "hand":
				m.byHand()
			case "undo":
				m.undo()
			}
		}
		m.undo()
	})
}

// folderModel knows the folder as it was when each turn began, and what was done to each file since.
type folderModel struct {
	*play
	t     *rapid.T
	child troupe.SessionID
	was   []map[string]string // by turn
	hand  map[string]int      // the last turn in which a hand changed the file
	ours  []ourStep
	n     int
}

type ourStep struct {
	turn          int
	name          string
	before, after string // "" is no file
}

func (m *folderModel) names() []string { return []string{"a", "b", "sub/c"} }

func (m *folderModel) turn() {
	m.was = append(m.was, m.disk())
	m.play.turn(m.root)
}

func (m *folderModel) next(name string) string {
	m.n++
	return fmt.Sprintf("%s %d\n", name, m.n)
}

func (m *folderModel) write() {
	t := m.t
	name := rapid.SampledFrom(m.names()).Draw(t, "name")
	by := rapid.SampledFrom([]troupe.SessionID{m.root, m.child}).Draw(t, "by")
	s := ourStep{turn: len(m.was), name: name, before: m.disk()[name], after: m.next(name)}
	m.play.write(by, name, s.after)
	m.ours = append(m.ours, s)
}

func (m *folderModel) byHand() {
	t := m.t
	name := rapid.SampledFrom(m.names()).Draw(t, "name")
	m.hand[name] = len(m.was)
	if _, there := m.disk()[name]; there && rapid.Bool().Draw(t, "remove") {
		if err := os.Remove(m.path(name)); err != nil {
			t.Fatal(err)
		}
		return
	}
	m.put(name, m.next("hand "+name))
}

func (m *folderModel) undo() {
	t := m.t
	turn := rapid.IntRange(1, len(m.was)).Draw(t, "to turn")
	force := rapid.Bool().Draw(t, "force")
	now := m.disk()
	want, conflict := maps.Clone(now), false
	first, last := map[string]ourStep{}, map[string]ourStep{}
	for _, s := range m.ours {
		if _, ok := first[s.name]; !ok && s.turn >= turn {
			first[s.name] = s
		}
		last[s.name] = s
	}
	for name, s := range first {
		conflict = conflict || now[name] != s.before && m.mixed(name, turn)
		conflict = conflict || now[name] != last[name].after && now[name] != s.before
		if want[name] = s.before; s.before == "" {
			delete(want, name)
		}
		// The oracle that knows nothing of steps: no hand was on it, so it is what it was.
		if m.hand[name] < turn && m.was[turn-1][name] != s.before {
			t.Fatalf("the model is wrong about %s: %q, %q", name, m.was[turn-1][name], s.before)
		}
	}
	u := m.plan(turn)
	m.want("a plan", now)
	r, err := m.play.undo().applyUndo(t.Context(), u, force)
	if conflict && !force {
		if err == nil {
			t.Errorf("the work of others was replaced")
		}
		m.want("refused", now)
		return
	}
	if err != nil || len(r.Left) > 0 {
		t.Fatalf("left %v, %v", r.Left, err)
	}
	m.want("undone", want)
	if len(r.Files) > 0 && rapid.Bool().Draw(t, "take back") {
		m.apply(m.redo(), false)
		m.want("taken back", now)
	}
	m.record(r, now, want)
}

// mixed reports whether what the tools left of a file since a turn has in it what a hand put there after its first
// write.
func (m *folderModel) mixed(name string, turn int) bool {
	hands, last, begun := map[string]bool{}, "", false
	for _, s := range m.ours {
		if s.name != name || !begun && s.turn < turn {
			continue
		}
		if _, known := hands[s.before]; !known {
			hands[s.before] = begun && s.before != last
		}
		if _, known := hands[s.after]; !known {
			hands[s.after] = hands[s.before]
		}
		last, begun = s.after, true
	}
	return hands[last]
}

// record notes what an undo did as steps of the last turn.
func (m *folderModel) record(r undoReport, now, want map[string]string) {
	back := maps.Equal(m.disk(), now)
	for _, f := range r.Files {
		name, _ := filepath.Rel(m.dir, f.Path)
		m.ours = append(m.ours, ourStep{len(m.was), name, now[name], want[name]})
		if back {
			m.ours = append(m.ours, ourStep{len(m.was), name, want[name], now[name]})
		}
	}
}
