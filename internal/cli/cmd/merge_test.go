package cmd

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// mergingWorld is a home whose merges come to the same.
type mergingWorld struct {
	*apitest.World

	out wire.MergedWorktree
}

func (w mergingWorld) Setup() api.Setup {
	of := w.World.Setup()
	return mergingSetup{of, merging{of.Workspaces(), w.out}}
}

type mergingSetup struct {
	api.Setup
	w merging
}

func (s mergingSetup) Workspaces() api.Workspaces { return s.w }

type merging struct {
	api.Workspaces

	out wire.MergedWorktree
}

func (w merging) MergeWorktree(context.Context, wire.WorktreeMerge) (wire.MergedWorktree, error) {
	return w.out, nil
}

// TestMergeExit: a merge that stopped half-way has failed, as one with conflicts has, whatever is printed of it.
func TestMergeExit(t *testing.T) {
	t.Parallel()
	file := []wire.MergedFile{{Path: "a", Action: wire.MergeChanged}}
	for name, x := range map[string]struct {
		out  wire.MergedWorktree
		fine bool
	}{
		"merged":    {wire.MergedWorktree{Files: file}, true},
		"stopped":   {wire.MergedWorktree{Files: file, Stopped: "the disk is full"}, false},
		"conflicts": {wire.MergedWorktree{Conflicts: []wire.WorktreeConflict{{Path: "a", Why: "both"}}}, false},
	} {
		for _, asJSON := range []bool{false, true} {
			var b bytes.Buffer
			err := merge(t.Context(), &console.Console{Out: &b, Err: &b, Cwd: "/src"},
				mergingWorld{World: apitest.New(), out: x.out}, wire.WorktreeMerge{}, asJSON)
			var exit *console.Exit
			if x.fine && err != nil || !x.fine && (!errors.As(err, &exit) || exit.Code != troupe.ExitFailed) {
				t.Errorf("%s, JSON %v: %v\n%s", name, asJSON, err, b.String())
			}
		}
	}
}
