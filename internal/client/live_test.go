package client_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/httpd"
)

// TestLive plays everything that can be asked for over a socket.
func TestLive(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	a, err := app.Open(t.Context(), app.Env{
		Lookup: func(name string) (string, bool) { return home, name == "TROUPE_HOME" },
		Now:    time.Now, Log: slog.New(slog.DiscardHandler), Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := httpd.Serve(t.Context(), filepath.Join(t.TempDir(), "s"), a.As, httpd.Options{Temp: "/tmp"})
	if err != nil {
		t.Fatal(err)
	}
	c := client.Dial(s.Path())
	caller := troupe.You(troupe.SurfaceSocket)
	caller.Process = os.Getpid()
	apitest.Live(t, c, caller)
	c.Close()
	if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
