package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

const root troupe.SessionID = "7k3f00000000"

// listen serves plain HTTP on a socket, as a server that misbehaves.
func listen(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(l) })
	c := Dial(path)
	t.Cleanup(func() {
		c.Close()
		s.Close()
		wg.Wait()
	})
	return c
}

func entry(seq int) string {
	return fmt.Sprintf("id: %s:%d\ndata: "+
		"{\"type\":\"session.started\",\"session\":%q,\"seq\":%d,\"at\":\"2026-11-21T09:00:00Z\",\"data\":{\"run\""+
		":%d}}\n\n", root, seq, root, seq, seq)
}

func follow(t *testing.T, c *Client, only troupe.SessionID) api.Stream {
	t.Helper()
	s, err := c.Follow(t.Context(), wire.Follow{Root: root, Only: only})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestResume has a server cut the stream in the middle of a message, bring messages twice,
// go silent between two, and fail for good.
func TestResume(t *testing.T) {
	t.Parallel()
	var asked []string
	var mu sync.Mutex
	c := listen(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.RawQuery)
		n := len(asked)
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Troupe-Root", string(root))
		say := func(s string) {
			_, _ = io.WriteString(w, s)
			_ = http.NewResponseController(w).Flush()
		}
		switch n {
		case 1:
			say("retry: 1000\n\n" + entry(1) + ": still here\n\n" + entry(2) + entry(3)[:40])
		case 2:
			say("event: something-new\ndata: {}\n\n" + entry(2) + entry(3) +
				"event: problem\ndata: {\"detail\":\"the disk is gone\",\"hint\":\"h\",\"code\":4}\n\n")
		case 3:
			w.WriteHeader(http.StatusBadGateway)
			say("<html>")
		}
	})
	f := follow(t, c, root)
	defer f.Close()
	var got []int64
	var err error
	for err == nil {
		var b wire.Batch
		b, err = f.Next(t.Context())
		for _, e := range b.Events {
			if e.Root != root {
				t.Errorf("event %d is of the tree %q", e.Seq, e.Root)
			}
			got = append(got, e.Seq)
		}
	}
	if fmt.Sprint(got) != "[1 2 3]" {
		t.Errorf("got %v", got)
	}
	var user *troupe.UserError
	if !errors.As(err, &user) || user.Code != 4 || user.Problem != "the disk is gone" {
		t.Errorf("it ended with %v", err)
	}
	if _, err := f.Next(t.Context()); !errors.As(err, &user) || user.Code != 0 ||
		!strings.Contains(user.Problem, "502 Bad Gateway: <html>") {
		t.Errorf("a stream that is refused: %v", err)
	}
	if want := "[after=0 after=2 after=3]"; fmt.Sprint(asked) != want {
		t.Errorf("asked for %v, want %s", asked, want)
	}
	// A stream that ends before it begins, again and again, is not asked for without end.
	mu.Lock()
	before := len(asked)
	mu.Unlock()
	if _, err := f.Next(t.Context()); !errors.Is(err, errCut) {
		t.Errorf("a stream that is always empty: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if n := len(asked) - before; n != 4 {
		t.Errorf("asked %d times", n)
	}
}

// TestProblemInStream: what went wrong over there is the error here.
func TestProblemInStream(t *testing.T) {
	t.Parallel()
	c := listen(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "event: problem\ndata: {\"detail\":\"the disk is "+
			"gone\",\"hint\":\"h\",\"code\":4,\"kind\":\"not_found\"}\n\n")
	})
	f := follow(t, c, "")
	defer f.Close()
	_, err := f.Next(t.Context())
	var user *troupe.UserError
	if !errors.As(err, &user) || user.Problem != "the disk is gone" || user.Hint != "h" || user.Code != 4 ||
		!errors.Is(err, troupe.ErrNotFound) {
		t.Errorf("%#v", err)
	}
}

// TestHangUp: a server that goes away in the middle of an answer leaves it open whether
// anything was done, and the caller is told.
func TestHangUp(t *testing.T) {
	t.Parallel()
	c := listen(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	var user *troupe.UserError
	if err := c.Background(t.Context(), root); !errors.As(err, &user) ||
		!strings.Contains(user.Hint, "may or may not") || errors.Is(err, api.ErrUnreachable) {
		t.Errorf("%#v", err)
	}
	if _, err := c.Tasks(t.Context(), ""); !errors.As(err, &user) || user.Hint != "" {
		t.Errorf("%#v", err)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	done, cancel := context.WithCancel(t.Context())
	cancel()
	f := follow(t, Dial("/nowhere"), "")
	defer f.Close()
	if b, err := f.Next(done); b.Events != nil || err != nil {
		t.Errorf("%v, %v", b, err)
	}
}

// FuzzReadMessage: whatever comes, reading ends, says the same however it is cut into reads,
// and holds no more than it was sent.
func FuzzReadMessage(f *testing.F) {
	f.Add(entry(1) + ": still here\n\n" + entry(2))
	f.Add("event: problem\r\ndata: a\r\ndata:b\r\n\r\n")
	f.Add("data\n\ndata:\n\n\n")
	f.Fuzz(func(t *testing.T, s string) {
		read := func(r io.Reader) (out []string) {
			b := bufio.NewReaderSize(r, 16)
			for {
				m, err := readMessage(b)
				if err != nil {
					return append(out, err.Error())
				}
				if len(m.data) > len(s) {
					t.Fatalf("%d bytes of data from %d", len(m.data), len(s))
				}
				out = append(out, fmt.Sprintf("%s %t %q", m.name, m.data == nil, m.data))
			}
		}
		whole, bytewise := read(strings.NewReader(s)), read(iotest.OneByteReader(strings.NewReader(s)))
		if fmt.Sprint(whole) != fmt.Sprint(bytewise) {
			t.Errorf("%q reads as %q, and byte by byte as %q", s, whole, bytewise)
		}
		if len(whole) > strings.Count(s, "\n")+1 {
			t.Errorf("%q has %d messages", s, len(whole))
		}
	})
}

func TestReadMessage(t *testing.T) {
	t.Parallel()
	r := bufio.NewReader(strings.NewReader("event: a\ndata: 1\ndata:2\nid: x\n\n: hello\n\ndata: " +
		strings.Repeat("x", 100_000) + "\n\ndata: cut"))
	for i, want := range []message{{"a", []byte("1\n2")}, {}, {"", []byte(strings.Repeat("x", 100_000))}} {
		if m, err := readMessage(r); err != nil || m.name != want.name || string(m.data) != string(want.data) {
			t.Errorf("message %d is %.80q, %v", i, m, err)
		}
	}
	if m, err := readMessage(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a message: %q, %v", m, err)
	}
}
