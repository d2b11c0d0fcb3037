package apitest

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Faults breaks the connection that an api works over. serve puts the World on a socket; front makes
// an api that reaches it there. What was asked for is done once or not at all, and the caller learns
// which, or that it cannot be known; what is followed comes whole, and nothing of it twice.
func Faults(t *testing.T, serve func(w *World, path string) (stop func()),
	front func(w *World, socket string) api.API) {
	t.Helper()
	begin := func() (*World, *cutter, api.API) {
		w := New()
		socket := filepath.Join(t.TempDir(), "s")
		t.Cleanup(serve(w, socket))
		c := newCutter(t, socket)
		return w, c, front(w, c.path)
	}
	send := func(a api.API) error {
		_, err := a.Send(t.Context(), Root, wire.Message{Text: strings.Repeat("x", 10_000)})
		return err
	}
	var user *troupe.UserError

	w := New()
	if err := send(front(w, filepath.Join(t.TempDir(), "gone"))); !errors.Is(err, api.ErrUnreachable) ||
		!errors.As(err, &user) || user.Hint == "" || len(w.Calls()) > 0 {
		t.Errorf("no server: %v, %v", err, w.Calls())
	}
	for _, most := range []int{0, 20, 150} { // before the answer, in its head, in its body
		w, c, a := begin()
		c.limit(most)
		err := send(a)
		if !errors.As(err, &user) || errors.Is(err, api.ErrUnreachable) ||
			!strings.Contains(user.Hint, "may or may not") || len(w.Calls()) != 1 {
			t.Errorf("cut after %d bytes of the answer: %v, %v", most, err, w.Calls())
		}
		c.limit(-1)
		if err := send(a); err != nil || len(w.Calls()) != 2 {
			t.Errorf("once it is mended: %v, %v", err, w.Calls())
		}
	}
	t.Run("streams", func(t *testing.T) { streamFaults(t, serve, front) })
}

// streamFaults has a stream cut again and again, its server go and come back, and its reader sleep.
func streamFaults(t *testing.T, serve func(w *World, path string) (stop func()),
	front func(w *World, socket string) api.API) {
	w := New()
	socket := filepath.Join(t.TempDir(), "s")
	stop := serve(w, socket)
	c := newCutter(t, socket)
	s, err := front(w, c.path).Follow(t.Context(), wire.Follow{Root: Root, Deltas: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := map[troupe.SessionID]int64{}
	gone := false
	read := func() {
		t.Helper()
		for got[Root] < int64(len(w.logs(Root))) || got[Child] < int64(len(w.logs(Child))) {
			b, err := s.Next(t.Context())
			for _, e := range b.Events {
				if e.Seq != got[e.Session]+1 {
					t.Fatalf("event %d of %s comes after %d", e.Seq, e.Session, got[e.Session])
				}
				got[e.Session]++
			}
			switch {
			case gone && err != nil: // there is no one to ask, and it says so
				return
			case err != nil:
				t.Fatal(err)
			}
		}
	}
	read()
	const many = 200
	for i := range many { // and no one reads
		w.Commit([]troupe.SessionID{Root, Child}[i%2], troupe.Started{Run: i})
	}
	read()
	for cut := range 40 {
		c.limit(450 + 37*cut) // enough for the head and a message
		c.cut()
		for i := range 5 {
			w.Commit(Child, troupe.Started{Run: i})
		}
		read()
	}
	c.limit(-1)
	stop()
	c.cut()
	gone = true
	w.Commit(Root, troupe.Started{Run: many})
	read()
	gone = false
	defer serve(w, socket)()
	w.Commit(Child, troupe.Started{Run: many})
	read()
}

// cutter stands before a server and cuts what it answers short.
type cutter struct {
	path string
	mu   sync.Mutex
	most int // bytes of an answer that pass; -1 is all
	open map[net.Conn]bool
}

func newCutter(t *testing.T, socket string) *cutter {
	c := &cutter{path: filepath.Join(t.TempDir(), "cut"), most: -1, open: make(map[net.Conn]bool)}
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "unix", c.path)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { c.pass(t.Context(), conn, socket) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		c.cut()
		all.Wait()
	})
	return c
}

func (c *cutter) limit(most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = most
}

// cut ends every connection.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		_ = conn.Close()
	}
}

func (c *cutter) pass(ctx context.Context, from net.Conn, socket string) {
	defer from.Close() //nolint:errcheck // it is cut
	var d net.Dialer
	to, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return
	}
	defer to.Close() //nolint:errcheck // it is cut
	c.mu.Lock()
	most := c.most
	c.open[from], c.open[to] = true, true
	c.mu.Unlock()
	var asks sync.WaitGroup
	asks.Go(func() {
		_, _ = io.Copy(to, from)
		if half, ok := to.(*net.UnixConn); ok {
			_ = half.CloseWrite()
		}
	})
	var answer io.Reader = to
	switch {
	case most == 0: // the request is read, and acted on, by the time that an answer comes
		_, _ = io.ReadFull(to, make([]byte, 1))
		answer = strings.NewReader("")
	case most > 0:
		answer = io.LimitReader(to, int64(most))
	}
	_, _ = io.Copy(from, answer)
	_, _ = from.Close(), to.Close()
	asks.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, from)
	delete(c.open, to)
}
