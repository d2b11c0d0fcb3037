package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// An agent that has a folder of its own may start others with folders of theirs, which are beside that one. When it is
// gone, what they did goes where the work of that one goes: to the tree that it was beside.

// standing is a workspace as people have it now: beside the tree that it was made from or, where that is the folder of
// another workspace and gone, beside the one which that was beside. In is that other workspace; nil if there is none.
func standing(k *Keeper, all []*record, ws troupe.Workspace) (_ troupe.Workspace, in *record) {
	if !troupe.Within(ws.Of, k.folders) {
		return ws, nil
	}
	i := slices.IndexFunc(all, func(r *record) bool {
		return r.Workspace.Owner != ws.Owner && troupe.Within(ws.Of, r.Workspace.Top)
	})
	if i < 0 {
		return ws, nil
	}
	in = all[i]
	if _, err := os.Lstat(in.Workspace.Top); !errors.Is(err, fs.ErrNotExist) {
		return ws, nil
	}
	above, _ := standing(k, slices.Delete(slices.Clone(all), i, i+1), in.Workspace)
	ws.Of = above.Of + strings.TrimPrefix(ws.Of, in.Workspace.Top)
	ws.From = above.Of + strings.TrimPrefix(ws.From, in.Workspace.Top)
	return ws, in
}

// standingPlace is the place of a workspace on record.
func standingPlace(k *Keeper, all []*record, rec *record) (place, error) {
	ws, in := standing(k, all, rec.Workspace)
	p, err := k.place(ws)
	p.in = in
	return p, err
}

// hadBy is the tree of what the workspace has whose folder another one was made from; "" if that is not known.
func hadBy(k *Keeper, in *record) string {
	if in == nil {
		return ""
	}
	p, err := k.place(in.Workspace)
	if err != nil {
		return ""
	}
	kept, err := readKept(p)
	if err != nil {
		return ""
	}
	return kept.newest(in)
}

// broughtBefore reports whether the workspace whose folder it was made from had all of it when that ended.
func broughtBefore(ctx context.Context, p place, rec *record, kept kept) (already bool) {
	had := hadBy(p.k, p.in)
	if had == "" {
		return false
	}
	err := p.k.mergeTree(ctx, p, rec, kept.newest(rec), Into{had: had}, func(m *merging) error {
		out, err := m.merge(ctx)
		already = out.Already
		return err
	})
	return err == nil && already
}

// within are the names of workspaces that were made from the folder of one, and are there still.
func within(k *Keeper, of troupe.Workspace) (names []string, err error) {
	all, err := k.records()
	for _, rec := range all {
		if rec.Workspace.Owner != of.Owner && troupe.Within(rec.Workspace.Of, of.Top) {
			names = append(names, rec.Workspace.Name)
		}
	}
	return names, err
}
