package worktree

import (
	"context"
	"strings"
)

// uncommitted marks the files that a merge removes and that the caller's last commit has otherwise, or not at all.
func (m *merging) uncommitted(ctx context.Context, changes []Change) error {
	var names []string
	for _, c := range changes {
		if c.Gone {
			names = append(names, m.nameIn(c.Path))
		}
	}
	if m.caller == nil || len(names) == 0 {
		return nil
	}
	had, err := map[string]entry{}, error(nil)
	if m.caller.head != "" {
		if had, err = m.r.entries(ctx, m.caller.head, names); err != nil {
			return err
		}
	}
	have, err := m.r.entries(ctx, m.ours, names)
	for i, c := range changes {
		name := m.nameIn(c.Path)
		changes[i].Uncommitted = c.Gone && had[name] != have[name]
	}
	return err
}

func (m *merging) nameIn(path string) string { return strings.TrimPrefix(path, m.in.Folder+"/") }
