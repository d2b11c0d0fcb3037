package worktree

import (
	"context"
	"maps"
	"slices"
)

// fewMost is of how many files it is cheaper to look at each than to have git look at all.
const fewMost = 2000

// few looks at the files alone that the workspace has changed, or had changed when it was merged before: no other
// matters to a merge, unless the caller has moved one of them away or has something else in its place. Then it is not
// all.
func few(ctx context.Context, m *merging) (s scan, all bool, err error) {
	had := map[string]bool{} // by their names: the base has it
	for name := range m.rec.Declined {
		had[name] = true
	}
	for _, tree := range append(slices.Clone(m.rec.Offered), m.theirs) {
		deltas, err := m.r.deltas(ctx, m.base, tree)
		if err != nil {
			return s, false, err
		}
		for _, d := range deltas {
			had[d.name] = had[d.name] || d.was.id != ""
		}
	}
	if len(had) > fewMost {
		return s, false, nil
	}
	s, err = m.r.sortOut(ctx, m.in.Folder, slices.Sorted(maps.Keys(had)))
	if err != nil || len(s.odd)+len(s.nested) > 0 {
		return s, false, err
	}
	for _, name := range s.gone {
		if _, err := lookAt(m.in.Folder, name); err == nil || had[name] {
			return s, false, nil
		}
	}
	return s, true, m.caller.unfiltered(s.here)
}
