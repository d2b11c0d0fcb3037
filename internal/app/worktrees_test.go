package app

import (
	"errors"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestNoSuchWorktree: where no worktree has a name there is an error, and no worktree.
func TestNoSuchWorktree(t *testing.T) {
	a, now := playHouse(t, t.TempDir())
	p := newPlay(t, a, now, t.TempDir())
	p.begin("r00t00000000", "go")
	list, err := you(a).Setup().Workspaces().Worktrees(t.Context(), wire.WorktreeQuery{Cwd: p.dir, Name: "none"})
	if !errors.Is(err, troupe.ErrNotFound) || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}
