package client_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/httpd"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve puts a World on a socket and calls it.
func serve(t *testing.T, w *apitest.World) *client.Client {
	t.Helper()
	s, err := httpd.Serve(t.Context(), filepath.Join(t.TempDir(), "s"), w.As, httpd.Options{Temp: "/tmp"})
	if err != nil {
		t.Fatal(err)
	}
	c := client.Dial(s.Path())
	t.Cleanup(func() {
		c.Close()
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestConformance(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	apitest.Conform(t, w, serve(t, w))
	if c := w.Caller(); c.Surface != troupe.SurfaceSocket || c.Process != os.Getpid() || c.Right != troupe.RightOwner {
		t.Errorf("the caller is %+v", c)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	serve := func(w *apitest.World, path string) func() {
		s, err := httpd.Serve(t.Context(), path, w.As, httpd.Options{Temp: "/tmp"})
		if err != nil {
			t.Fatal(err)
		}
		return sync.OnceFunc(func() {
			if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	apitest.Faults(t, serve, func(_ *apitest.World, socket string) api.API {
		c := client.Dial(socket)
		t.Cleanup(c.Close)
		return c
	})
}

func TestStreams(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	apitest.Streams(t, w, serve(t, w))
}

// TestCancelled: a call ends with its context, a waiting follower included.
func TestCancelled(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	c := serve(t, w)
	f, err := c.Follow(t.Context(), wire.Follow{Root: apitest.Root, Only: apitest.Root,
		From: map[troupe.SessionID]int64{apitest.Root: 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if b, err := f.Next(ctx); len(b.Events) > 0 || err != nil {
		t.Errorf("Next = %v, %v", b, err)
	}
	if _, err := c.Tasks(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call after its time = %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	c := client.Dial(filepath.Join(t.TempDir(), "none.sock"))
	defer c.Close()
	_, err := c.Send(t.Context(), apitest.Root, wire.Message{Text: "x"})
	if !errors.Is(err, api.ErrUnreachable) {
		t.Errorf("err = %v", err)
	}
	f, err := c.Follow(t.Context(), wire.Follow{Root: apitest.Root})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Next(t.Context()); !errors.Is(err, api.ErrUnreachable) {
		t.Errorf("Next = %v", err)
	}
}
