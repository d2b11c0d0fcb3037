package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestCheckoutsStay: no agent writes in a checkout, whatever is allowed, whoever asks.
func TestCheckoutsStay(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, served := filepath.Join(root, "home"), filepath.Join(root, "served")
	app := filepath.Join(home+"-checkouts", "3b82740ff6cd", "555e3f3c6c02", "app")
	for _, dir := range []string{home, served, app} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(served, "s.yaml")
	if err := os.WriteFile(script, []byte("replies:\n  - turn: 1\n    calls: [{tool: Write, input: {file_path: x.txt, "+
		"content: x}}]\n  - text: done\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), Env{Lookup: func(name string) (string, bool) { return home, name == "TROUPE_HOME" },
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Version: "test", Folders: []string{served}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, right := range []troupe.Right{troupe.RightOperator, troupe.RightAdmin} {
		as := a.As(troupe.Caller{Name: "ann", Right: right, Surface: troupe.SurfaceServer})
		b, err := as.Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: app, Model: "script:" + script,
			Permissions: wire.Permissions{Allow: []string{"Edit", "Write"}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := as.Wait(t.Context(), b.Root); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(app, "x.txt")); err == nil {
			t.Errorf("%s had a checkout changed", right)
		}
		r, err := as.Report(t.Context(), b.Root)
		if err != nil || len(r.Denials) != 1 || !strings.Contains(r.Denials[0].Why, "a checkout is not changed") {
			t.Errorf("%s is told %+v, %v", right, r.Denials, err)
		}
	}
}

// TestCheckoutsAreKnown: a session goes on whose folder is in a checkout, what is asked for in vain is refused before
// it begins, and why a push failed is said.
func TestCheckoutsAreKnown(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, served := filepath.Join(root, "home"), filepath.Join(root, "served")
	checkedOut := filepath.Join(home+"-checkouts", "3b82740ff6cd", "555e3f3c6c02", "app")
	for _, dir := range []string{home, served, checkedOut} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Open(t.Context(), Env{Lookup: func(name string) (string, bool) { return home, name == "TROUPE_HOME" },
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Version: "test", Folders: []string{served},
		GitHosts: []string{"localhost:1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := movedAway(a, troupe.Session{Cwd: checkedOut}); err != nil {
		t.Errorf("a session in a checkout: %v", err)
	}
	if _, err := checkOut(t.Context(), a, wire.Begin{Role: wire.Role{Repository: wire.Repository{
		Repo: "https://localhost:1/you/app", PullRequest: true}}}); err == nil ||
		!strings.Contains(err.Error(), "does not know how pull requests are opened") {
		t.Errorf("a pull request that cannot be opened: %v", err)
	}
	for _, b := range []wire.Repository{{Repo: "x"}, {Push: true}, {PullRequest: true}} {
		b := wire.Begin{Role: wire.Role{Repository: b, Worktree: new(string)}}
		if err := refuseRepository(b, true); err == nil || !strings.Contains(err.Error(), "has its repository") {
			t.Errorf("%+v of a session that goes on: %v", b, err)
		}
	}
	end := troupe.WorkspaceResult{Base: "1", Tip: "2"}
	(&workspaces{app: a}).pushed(t.Context(), troupe.Session{Workspace: troupe.Workspace{Of: served, Push: true,
		Owner: "0123456789ab", Name: "fixer"}}, &end)
	if !strings.Contains(end.NotPushed, "is no checkout") || end.Pushed != nil {
		t.Errorf("a push that failed: %+v", end)
	}
}
