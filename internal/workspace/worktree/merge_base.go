package worktree

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/troupe-dev/troupe"
)

// A workspace may be merged again and again, and what it had already brought is no change any more; nor is, on the
// other side, what it was handed of the caller's. What such an earlier state has in common with both sides is found by
// its content, file by file: whoever undid a merge, or put a file back, is not taken for one who has it.

// handed is a state of the caller's that was put into the workspace with conflicts in it.
type handed struct {
	Snapshot string // commit
	// Base and Was are trees: what it was merged by, and what the workspace had. From is that with the markers of an
	// earlier hand-back, and Given what it was given, markers and all; "": an older version handed it.
	Base, Was   string
	From, Given string `json:",omitempty"`
}

// offeredMost is how many earlier states of a workspace are looked at.
const offeredMost = 4

// settleBase finds what the two sides have in common.
func (m *merging) settleBase(ctx context.Context) error {
	for _, h := range m.rec.Handed {
		snapshot, err := m.treeOf(ctx, h.Snapshot)
		if err != nil {
			return err
		}
		if err := m.move(ctx, snapshot, m.theirs, &h); err != nil {
			return err
		}
	}
	m.given = m.base
	for _, tree := range m.rec.Offered {
		if err := m.move(ctx, tree, m.ours, nil); err != nil {
			return err
		}
	}
	chosen := map[string]entry{}
	m.own = map[string]string{}
	if !m.in.Anew {
		var err error
		if chosen, err = m.declined(ctx); err != nil {
			return err
		}
	}
	for _, pick := range []struct {
		names []string
		from  string
	}{{m.in.Theirs, m.ours}, {m.in.Ours, m.theirs}} {
		var names []string
		for _, path := range pick.names {
			names = append(names, strings.TrimPrefix(path, m.in.Folder+"/"))
		}
		have, err := m.r.entries(ctx, pick.from, names)
		if err != nil {
			return err
		}
		for _, name := range names {
			chosen[name] = have[name]
			if pick.from == m.theirs {
				m.own[name] = have[name].mode + " " + have[name].id
			}
		}
	}
	var err error
	m.base, err = graft(ctx, m.r, m.base, chosen)
	return err
}

// Decline remembers of which files the caller has taken its own side, as Merged.Own of that merge has them: what the
// workspace had of them then is no change any more. What was declined before and is not among them was decided anew,
// and is no more declined.
func (k *Keeper) Decline(ctx context.Context, ws troupe.Workspace, own map[string]string) error {
	return note(ctx, k, ws, func(rec *record) { rec.Declined = own })
}

// Recall forgets that files were declined.
func (k *Keeper) Recall(ctx context.Context, ws troupe.Workspace, paths []string) error {
	return note(ctx, k, ws, func(rec *record) {
		for _, path := range paths {
			delete(rec.Declined, strings.TrimPrefix(path, ws.Of+"/"))
		}
	})
}

// note changes what is remembered of a workspace.
func note(ctx context.Context, k *Keeper, ws troupe.Workspace, change func(rec *record)) error {
	p, err := k.place(ws)
	if err != nil {
		return err
	}
	_, release, err := k.hold(ctx, string(ws.Owner))
	if err != nil {
		return err
	}
	defer release()
	rec, err := readRecord(p.folder)
	if err != nil {
		return err
	}
	change(rec)
	return k.write(p, rec)
}

// keptOwn are the files that were declined and of which the two sides have not the same by now.
func (m *merging) keptOwn(ctx context.Context) ([]string, error) {
	declined, err := m.declined(ctx)
	if err != nil || len(declined) == 0 {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(declined))
	ours, err := m.r.entries(ctx, m.ours, names)
	return slices.DeleteFunc(names, func(name string) bool { return ours[name] == declined[name] }), err
}

// declined are the files that the workspace still has as the caller declined them.
func (m *merging) declined(ctx context.Context) (map[string]entry, error) {
	names := slices.Sorted(maps.Keys(m.rec.Declined))
	out := map[string]entry{}
	if len(names) == 0 {
		return out, nil
	}
	have, err := m.r.entries(ctx, m.theirs, names)
	for _, name := range names {
		if e := have[name]; e.mode+" "+e.id == m.rec.Declined[name] {
			out[name] = e
		}
	}
	return out, err
}

// move takes an earlier state of one side for the base, where the other side has it.
func (m *merging) move(ctx context.Context, state, side string, h *handed) error {
	if state == m.base {
		return nil
	}
	o, err := m.k.threeWay(ctx, m.r, m.base, side, state)
	if err != nil {
		return err
	}
	lacks := map[string]bool{}
	lacking, err := m.r.deltas(ctx, side, o.tree)
	if err != nil {
		return err
	}
	for _, d := range lacking {
		lacks[d.name] = true
	}
	resolved := func(name string) bool { return containsAll(o.pieces[name], o.texts[name][1]) }
	if h != nil {
		if resolved, err = m.resolved(ctx, o, h); err != nil {
			return err
		}
	}
	brought, err := m.r.deltas(ctx, m.base, state)
	if err != nil {
		return err
	}
	names := make([]string, len(brought))
	for i, d := range brought {
		names[i] = d.name
	}
	merged, err := m.r.entries(ctx, o.tree, names)
	if err != nil {
		return err
	}
	files := map[string]entry{}
	for _, d := range brought {
		switch {
		case o.conflicted(d.name):
			if resolved(d.name) {
				files[d.name] = d.now
			}
		case (merged[d.name].id == "") != (d.now.id == ""): // a move has taken the change elsewhere
		case !lacks[d.name]:
			files[d.name] = d.now
		}
	}
	for name := range o.pieces {
		for _, d := range brought {
			// The side has moved the file: the conflict is where it is now.
			if d.name != name && d.was.id != "" && d.was == o.stages[name][0] && d.now.id != "" &&
				merged[d.name].id == "" && resolved(name) {
				files[d.name] = d.now
			}
		}
	}
	m.base, err = graft(ctx, m.r, m.base, files)
	return err
}

// containsAll reports whether a side went on from the other one's state: where they differ it has all the lines that
// the state added, and none that it removed.
func containsAll(pieces []piece, side string) bool {
	if pieces == nil || sideOf(pieces, oursOf) != side {
		return false
	}
	for _, p := range pieces {
		if p.hunk == nil {
			continue
		}
		base, all := p.hunk.Base.Text, slices.Collect(strings.Lines(p.hunk.Ours.Text))
		rest := all
		for _, e := range udiff.Lines(base, p.hunk.Theirs.Text) {
			for line := range strings.Lines(base[e.Start:e.End]) {
				if slices.Contains(all, line) {
					return false
				}
			}
			for line := range strings.Lines(e.New) {
				at := slices.Index(rest, line)
				if at < 0 {
					return false
				}
				rest = rest[at+1:]
			}
		}
	}
	return true
}

// resolved tells of a file that was handed to the agent with conflicts, and differs from the caller's still, whether
// the agent has decided about each of them. It has, if it has all else that the caller changed, and no conflict is as
// it was, or still has markers.
func (m *merging) resolved(ctx context.Context, now *outcome, h *handed) (func(string) bool, error) {
	snapshot, err := m.treeOf(ctx, h.Snapshot)
	if err != nil {
		return nil, err
	}
	then, err := m.k.threeWay(ctx, m.r, h.Base, h.Was, snapshot)
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		pieces, was := now.pieces[name], then.pieces[name]
		if pieces == nil {
			// It is no matter of lines: what the agent has is its decision, if it is another than it was.
			return now.stages[name][1] != then.stages[name][1] && now.texts[name][1] == ""
		}
		if sideOf(pieces, oursOf) != now.texts[name][1] || hasMarkers(now.texts[name][1], m.p.ws.Name) {
			return false
		}
		for _, p := range pieces {
			if p.hunk != nil && slices.ContainsFunc(was, func(q piece) bool {
				return q.hunk != nil && q.hunk.Ours.Text == p.hunk.Ours.Text &&
					q.hunk.Theirs.Text == p.hunk.Theirs.Text
			}) {
				return false
			}
		}
		return true
	}, nil
}

// hasMarkers reports whether a file has conflicts as they are handed back.
func hasMarkers(text, name string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		_, label, marked := strings.Cut(line, "< "+labelOurs)
		if marked && strings.HasPrefix(line, strings.Repeat("<", markerShown)) &&
			(label == "" || strings.HasPrefix(label, labelBy)) ||
			strings.HasPrefix(line, strings.Repeat(">", markerShown)) && strings.HasSuffix(line, "> "+name) {
			return true
		}
	}
	return false
}

// labelOurs is what the caller's side is called in a file, with labelBy and the workspaces whose work it has there.
const (
	labelOurs = "caller"
	labelBy   = ", changed by "
)

// labelOf is what the caller's side of a file is called in it.
func (m *merging) labelOf(name string) string {
	if by, _ := m.names(filepath.Join(m.in.Folder, name)); by != "" {
		return labelOurs + labelBy + by
	}
	return labelOurs
}

// offer remembers what is about to be brought.
func (m *merging) offer() error {
	m.rec.Offered = slices.DeleteFunc(m.rec.Offered, func(tree string) bool { return tree == m.theirs })
	m.rec.Offered = append(m.rec.Offered, m.theirs)
	m.rec.Offered = m.rec.Offered[max(0, len(m.rec.Offered)-offeredMost):]
	return m.k.write(m.p, m.rec)
}

// Brought remembers that changes of a workspace were written, so that who changed a file can be named when another
// conflicts with it.
func Brought(ctx context.Context, k *Keeper, ws troupe.Workspace, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	return note(ctx, k, ws, func(rec *record) {
		for _, c := range changes {
			if !slices.Contains(rec.Brought, c.Path) {
				rec.Brought = append(rec.Brought, c.Path)
			}
		}
		rec.Brought = rec.Brought[max(0, len(rec.Brought)-broughtMost):]
	})
}

// broughtMost is of how many files it is remembered that a workspace changed them.
const broughtMost = 10_000
