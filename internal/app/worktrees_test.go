package app

import (
	"errors"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
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

// TestMatchRows: a word means the same worktree to a person and to an agent: one of that name, of an agent of that name,
// one that begins so, or one of a session whose id begins so, in that order.
func TestMatchRows(t *testing.T) {
	row := func(name string, owner, main troupe.SessionID) worktree.Row {
		return worktree.Row{Workspace: troupe.Workspace{Name: name, Owner: owner, Main: main}}
	}
	rows := []worktree.Row{row("fix", "a00000000000", ""), row("fix-login", "b00000000000", ""),
		row("other", "c00000000000", "r00t00000000"), row("login", "d00000000000", "")}
	names := func(r worktree.Row) ([]string, error) {
		return map[string][]string{"fix": {"Other", "main/Other"}, "other": {"Lead"}, "login": {"twin"},
			"fix-login": {"twin"}}[r.Workspace.Name], nil
	}
	for word, want := range map[string]string{"fix": "fix", "fix-": "fix-login", "other": "other", "lead": "other",
		"main/other": "fix", "r00t": "other", "c0": "other", "d00000000000": "login", "log": "login"} {
		if got, err := matchRows(rows, names, word); err != nil || got.Workspace.Name != want {
			t.Errorf("%s: %q, %v", word, got.Workspace.Name, err)
		}
	}
	for word, want := range map[string]error{"fi": troupe.ErrAmbiguous, "twin": troupe.ErrAmbiguous,
		"x": troupe.ErrNotFound} {
		if _, err := matchRows(rows, names, word); !errors.Is(err, want) {
			t.Errorf("%s: %v", word, err)
		}
	}
}
