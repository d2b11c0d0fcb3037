package router_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/api/router"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/httpd"
	"github.com/troupe-dev/troupe/internal/wire"
)

// open opens a home. What runs in it can be reached at a socket.
func open(t *testing.T, home string) *app.App {
	t.Helper()
	a, err := app.Open(t.Context(), app.Env{
		Lookup: func(name string) (string, bool) { return home, name == "TROUPE_HOME" },
		Now:    time.Now, Log: slog.New(slog.DiscardHandler), Version: "test",
		Serve: func(ctx context.Context, a *app.App, path string) (app.Served, error) {
			return httpd.Serve(ctx, path, a.As, httpd.Options{Temp: os.TempDir()})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// TestLiveHere plays everything through a router over the home whose process runs the trees.
func TestLiveHere(t *testing.T) {
	t.Parallel()
	you := troupe.You(troupe.SurfaceChat)
	apitest.Live(t, router.New(open(t, t.TempDir()).As(you), dial, ""), you)
}

// TestLiveElsewhere plays everything through a router whose trees another process runs.
func TestLiveElsewhere(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	owner, here := open(t, home), open(t, home)
	s, err := httpd.Serve(t.Context(), filepath.Join(t.TempDir(), "s"), owner.As, httpd.Options{Temp: os.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := client.Dial(s.Path())
	you := troupe.You(troupe.SurfaceSocket)
	you.Process = os.Getpid()
	apitest.Live(t, begins{router.New(here.As(troupe.You(troupe.SurfaceCommand)), dial, ""), c}, you)
	c.Close()
	if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// begins begins its trees in another process.
type begins struct {
	api.API
	there api.API
}

func (b begins) Begin(ctx context.Context, o wire.Begin) (wire.Begun, error) {
	return b.there.Begin(ctx, o)
}

// TestNotRunHere: what is said to a process that does not run the tree would wait for ever where
// the process that does never looks.
func TestNotRunHere(t *testing.T) {
	t.Parallel()
	home, folder := t.TempDir(), t.TempDir()
	script := filepath.Join(folder, "replies.yaml")
	if err := os.WriteFile(script, []byte("replies:\n  - text: done\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	owner, other := open(t, home).As(troupe.You(troupe.SurfaceChat)), open(t, home).As(troupe.You(troupe.SurfaceSocket))
	begun, err := owner.Begin(t.Context(), wire.Begin{Prompt: "hello", Cwd: folder, Model: "script:" + script})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Send(t.Context(), begun.Root, wire.Message{Text: "and more"}); !errors.Is(err,
		troupe.ErrFenced) {
		t.Errorf("words: %v", err)
	}
	if err := other.Stop(t.Context(), begun.Root, wire.Stop{Tree: true}); !errors.Is(err, troupe.ErrFenced) {
		t.Errorf("a stop: %v", err)
	}
	if err := owner.Wait(t.Context(), begun.Root); err != nil {
		t.Fatal(err)
	}
}
