package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool/files"
	"github.com/troupe-dev/troupe/internal/wire"
)

// A merge is one thing that was done to the caller's folder, so it is undone as one, whatever agents did before and
// after it. A person's is an entry of its own among the turns; one by an agent is part of the turn, too.

// mergeCall is the tool with which agents merge.
const mergeCall = "MergeWorktree"

// merging is one merge of what was done in a folder of an agent's own.
type merging struct {
	id     string // by which it is undone alone; it stays the same, whatever is merged later
	at     time.Time
	turn   int    // of the root, the last that had begun
	name   string // of the worktree
	by     string // the agent that merged, or whose end did; "" is a person
	index  []int  // of its steps in the history, while the logs are read
	steps  []step
	undone bool
	// Of a person's: whose worktree it was, and the files of which the folder's own side was kept.
	owner    troupe.SessionID
	declined []string
}

func (m *merging) ref() wire.MergeRef { return wire.MergeRef{ID: m.id, Name: m.name} }

// identity is by what a content is known in the history: of a link it is where that leads, and that it is one.
func identity(hash string, link bool) string {
	if link && hash != "" {
		return files.AsLink(hash)
	}
	return hash
}

// begin notes a merge.
func (h *history) begin(m *merging) *merging {
	h.merges = append(h.merges, m)
	return m
}

// worktree is the one that a call is to merge.
func (l *logReader) worktree(at troupe.Coord) string {
	var in struct {
		Worktree string `json:"worktree"`
	}
	if json.Unmarshal([]byte(l.calls[at].Input), &in) != nil {
		return ""
	}
	return in.Worktree
}

// ownSteps gives the merges of agents their steps, which checkpoints may take the place of in the history.
func (h *history) ownSteps() {
	for _, m := range h.merges {
		for _, i := range m.index {
			s := h.steps[i]
			s.folder = cmp.Or(s.folder, h.folderOf(s.path))
			m.steps = append(m.steps, s)
		}
		m.index = nil
	}
}

// merged is a person's merge. It returns the steps that no checkpoint has.
func (h *history) merged(e undoEntry) (out []step) {
	if len(e.Files) == 0 {
		return nil
	}
	m := h.begin(&merging{id: fmt.Sprint(e.Number), at: e.At, turn: max(1, min(e.Last, len(h.turns))), name: e.Merge,
		owner: e.Owner, declined: e.Declined})
	for _, f := range e.Files {
		s := step{at: e.At, turn: m.turn, agent: "troupe merge " + e.Merge, path: f.Path, from: f.From, to: f.To,
			half: !e.Done, mode: f.Mode, added: f.Added, removed: f.Removed, of: m}
		if f.Mode != 0 {
			s.bit, s.exec = true, executable(os.FileMode(f.Mode))
		}
		saved := h.saved(&s)
		m.steps = append(m.steps, s)
		if !saved {
			out = append(out, s)
		}
	}
	return out
}

// dealMerges brings the merges into order, names those of agents by their turns, and says which are undone now.
func (h *history) dealMerges() {
	slices.SortStableFunc(h.merges, func(a, b *merging) int { return a.at.Compare(b.at) })
	count, by := make(map[int]int), make(map[string]int)
	for _, m := range h.merges {
		if m.by != "" {
			count[m.turn]++
			m.id = fmt.Sprintf("%d.%d", m.turn, count[m.turn])
			m.name = h.whole(m.name)
		}
		t := &h.turns[m.turn-1]
		t.Merges = append(t.Merges, m)
	}
	for _, e := range h.entries {
		switch {
		case !e.Done:
		case e.Redo > 0:
			maps.DeleteFunc(by, func(_ string, n int) bool { return n == e.Redo })
		default:
			for _, m := range h.merges {
				gone := e.Undid == "" && m.turn >= e.Turn && m.at.Before(e.At)
				if by[m.id] == 0 && (gone || e.Undid == m.id) {
					by[m.id] = e.Number
				}
			}
		}
	}
	for _, m := range h.merges {
		m.undone = by[m.id] > 0
	}
}

// whole is the name of a worktree of which a call gave the beginning.
func (h *history) whole(name string) string {
	begins := func(made string) bool { return strings.HasPrefix(made, name) }
	i := slices.IndexFunc(h.made, begins)
	if i < 0 || slices.Contains(h.made, name) || slices.ContainsFunc(h.made[i+1:], begins) {
		return name
	}
	return h.made[i]
}

// aside reports whether an undo took a merge back alone, or brought that back: going back to before a turn leaves it.
func (h *history) aside(e undoEntry) bool {
	if e.Redo > 0 && e.Redo <= len(h.entries) {
		e = h.entries[e.Redo-1]
	}
	return e.Undid != ""
}

// merge finds one by its id, or the newest that is not undone of the worktree of that name, or whose name alone begins
// so.
func (h *history) merge(id string) (*merging, error) {
	if i := slices.IndexFunc(h.merges, func(m *merging) bool { return m.id == id }); i >= 0 {
		return h.merges[i], nil
	}
	newest := make(map[string]*merging)
	for _, m := range h.merges {
		if before := newest[m.name]; strings.HasPrefix(m.name, id) && (before == nil || before.undone || !m.undone) {
			newest[m.name] = m
		}
	}
	m := newest[id]
	for _, only := range newest {
		if m == nil && len(newest) == 1 {
			m = only
		}
	}
	if m != nil {
		return m, nil
	}
	problem, unknown := fmt.Sprintf("session %s has no merge %q", h.root, id), troupe.ErrNotFound
	if len(newest) > 1 {
		unknown = troupe.ErrAmbiguous
		problem = fmt.Sprintf("%q begins the names of several worktrees that were merged: %s", id,
			strings.Join(slices.Sorted(maps.Keys(newest)), ", "))
	}
	return nil, &troupe.UserError{Problem: problem,
		Hint: fmt.Sprintf("`troupe undo %s --list` lists them.", h.root), Code: troupe.ExitUsage, Err: unknown}
}

// planMerge works out how to take one merge back and nothing else.
func (a undoing) planMerge(ctx context.Context, root troupe.SessionID, id string) (Undo, error) {
	h, err := a.history(ctx, root)
	if err != nil {
		return Undo{}, err
	}
	m, err := h.merge(id)
	if err != nil {
		return Undo{}, err
	}
	return h.alone(ctx, m), nil
}

// alone is the plan to take a merge back. A file that does not hold what the merge left is in its way.
func (h *history) alone(ctx context.Context, m *merging) Undo {
	u := h.plan()
	u.Merge = m
	for _, own := range h.folders {
		if own.ws.Name == m.name {
			u.from = own.ws
		}
	}
	last := make(map[string]step)
	for _, s := range m.steps { // one that was announced more than once was written at last
		last[s.path] = s
	}
	for _, path := range slices.Sorted(maps.Keys(last)) {
		s := last[path]
		if own := h.folders[s.folder]; own != nil && own.gone {
			u.goneToo(own)
			continue
		}
		f := UndoFile{UndoFile: wire.UndoFile{Path: path}, To: s.from, mode: os.FileMode(s.mode)}
		if s.bit {
			f.Exec = &s.exec
		}
		u.add(ctx, f, s, s.lost)
		if n := len(u.Files); n > 0 && u.Files[n-1].Path == path {
			h.blame(&u.Files[n-1], m, "")
		}
	}
	u.turn()
	return u
}

// blame says who has changed a file since a merge, if that is known. What an undo has brought back is whose it was.
// in names the session, if it is another than that of the merge.
func (h *history) blame(f *UndoFile, m *merging, in string) {
	if f.Obstacle != wire.ObstacleChanged || f.blamed {
		return
	}
	var by step
	for _, s := range slices.Backward(h.steps) {
		if s.path == f.Path && s.to == f.Now && s.of != m && s.at.After(m.at) {
			if by, f.blamed = s, true; s.agent != "" {
				break
			}
		}
	}
	if !f.blamed {
		return
	}
	f.Problem = by.who() + in + " has changed it since"
	if by.of != nil && !by.of.undone {
		f.Problem += fmt.Sprintf("; take merge %s back first: troupe undo %s --merge %s", by.of.id, h.root, by.of.id)
	}
}

// othersLooked is how many sessions of the folder are asked who has changed a file.
const othersLooked = 20

// blameOthers says of files that nothing in their own history has changed which other session of the folder did.
func (a undoing) blameOthers(ctx context.Context, u *Undo) error {
	own, err := a.app.trees.session(ctx, u.Root)
	if err != nil {
		return err
	}
	var others []troupe.Session
	err = a.app.trees.store.View(ctx, func(r store.Reader) (err error) {
		others, err = r.Sessions(store.Filter{RootsOnly: true, Cwd: own.Cwd, Newest: true, Limit: othersLooked})
		return err
	})
	open := func(f UndoFile) bool { return f.Obstacle == wire.ObstacleChanged && !f.blamed }
	for _, s := range others {
		if s.ID == u.Root || !slices.ContainsFunc(u.Files, open) {
			continue
		}
		h, err := a.history(ctx, s.ID)
		if err != nil {
			continue // then it is not known
		}
		for i := range u.Files {
			h.blame(&u.Files[i], u.Merge, fmt.Sprintf(" in session %s", s.ID))
		}
	}
	return err
}

func (s step) who() string {
	switch {
	case s.agent == "":
		return "an undo"
	case s.of != nil:
		return "the merge of " + s.of.name
	}
	return fmt.Sprintf("%s (in turn %d)", s.agent, s.turn)
}

// goneToo names a folder that is not there any more, once.
func (u *Undo) goneToo(f *ownFolder) {
	if !slices.ContainsFunc(u.Gone, func(g wire.GoneFolder) bool { return g.Folder == f.ws.Folder }) {
		u.Gone = append(u.Gone, wire.GoneFolder{Folder: f.ws.Folder, Name: f.ws.Name, Branch: f.ws.Branch,
			Session: f.ws.Owner})
	}
}

// peopleSince are the merges of people that going back to before a turn takes back as well.
func (h *history) peopleSince(turn int) (out []wire.MergeRef) {
	for _, m := range h.merges {
		if m.by == "" && m.turn >= turn && !m.undone {
			out = append(out, m.ref())
		}
	}
	return out
}

// shownMerges are the merges of a turn as surfaces see them.
func shownMerges(list []*merging) (out []wire.Merge) {
	for _, m := range list {
		w := wire.Merge{MergeRef: m.ref(), By: m.by, At: m.at.UTC(), Undone: m.undone}
		t := Turn{}
		for _, s := range m.steps {
			t.add(s)
		}
		w.Files = t.Files
		slices.SortFunc(w.Files, func(a, b wire.FileChange) int { return cmp.Compare(a.Path, b.Path) })
		out = append(out, w)
	}
	return out
}
