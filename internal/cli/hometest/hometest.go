// Package hometest opens homes for tests of the command line, with a script for a model, and a console that
// belongs to nobody's terminal.
package hometest

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/httpd"
	"github.com/troupe-dev/troupe/internal/wire"
)

// short is a folder whose path fits a socket, and a line of a screen, however long that of TMPDIR is.
func short(t testing.TB) string {
	t.Helper()
	dir := filepath.Join("/tmp", "home"+rand.Text()[:12]) // as long each time, as what is sent to models is
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Open opens a home of its own until the test ends. The beginning is of a run in a folder of its own, with the
// script for a model.
func Open(t testing.TB, script string) (*app.App, wire.Begin) {
	t.Helper()
	data, dir := t.TempDir(), short(t)
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := app.Open(t.Context(), app.Env{
		Lookup: func(name string) (string, bool) { return data, name == "TROUPE_HOME" || name == "HOME" },
		Now:    time.Now, Log: slog.New(slog.DiscardHandler), Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, wire.Begin{Cwd: dir, Model: "script:s.yaml"}
}

// OverSocket serves an app on a socket until the test ends, and is what asks it there.
func OverSocket(t testing.TB, a *app.App) api.API {
	t.Helper()
	s, err := httpd.Serve(t.Context(), filepath.Join(short(t), "a.sock"), a.As, httpd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := client.Dial(s.Path())
	t.Cleanup(func() {
		c.Close()
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Console is one in a folder, without an environment, whose process must not be left at once.
func Console(t testing.TB, dir string, in io.Reader, out io.Writer) *console.Console {
	return &console.Console{
		In: in, Out: out, Err: out, Cwd: dir, Now: time.Now, Lookup: func(string) (string, bool) { return "", false },
		Interrupts: &console.Interrupts{Leave: func(code int) { t.Errorf("left with %d", code) }},
	}
}
