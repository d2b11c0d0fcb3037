package client_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/httpd"
	"github.com/troupe-dev/troupe/internal/httpd/httpdtest"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cases is what a client and the use cases have in common.
type cases interface {
	httpd.Reader
	httpd.Controller
}

var _ cases = (*client.Client)(nil)

// serve puts a World on a socket and calls it.
func serve(t *testing.T, w *httpdtest.World) *client.Client {
	t.Helper()
	cases := httpd.Cases{Read: w, Do: w, Follow: func(root, only troupe.SessionID, after map[troupe.SessionID]int64) httpd.Follower {
		return w.Follow(root, only, after)
	}}
	s, err := httpd.Serve(t.Context(), filepath.Join(t.TempDir(), "s"), cases, httpd.Options{Temp: "/tmp"})
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

// TestConformance asks the same of the use cases and of a client of theirs, one call after
// the other, and wants the same answers, the same errors and the same to be done.
func TestConformance(t *testing.T) {
	t.Parallel()
	here, there := httpdtest.New(), httpdtest.New()
	c := serve(t, there)
	const nobody troupe.SessionID = "zzzz00000000"
	nothing := func(err error) (any, error) { return nil, err }
	for _, x := range []struct {
		name string
		call func(ctx context.Context, c cases) (any, error)
	}{
		{"find an id", func(ctx context.Context, c cases) (any, error) { return c.Find(ctx, string(httpdtest.Root), "") }},
		{"find a beginning", func(ctx context.Context, c cases) (any, error) { return c.Find(ctx, "9m2", "") }},
		{"find a path", func(ctx context.Context, c cases) (any, error) { return c.Find(ctx, "main/Auth Explorer", "") }},
		{"find main", func(ctx context.Context, c cases) (any, error) { return c.Find(ctx, "main", "/src") }},
		{"find main elsewhere", func(ctx context.Context, c cases) (any, error) { return c.Find(ctx, "main", "/else&where=1") }},
		{"find an odd name", func(ctx context.Context, c cases) (any, error) { return c.Find(ctx, "../a?b#c%2F/..", "") }},
		{"find a dot", func(ctx context.Context, c cases) (any, error) { return c.Find(ctx, "..", "") }},
		{"list", func(ctx context.Context, c cases) (any, error) { return c.List(ctx, "", 0) }},
		{"list some", func(ctx context.Context, c cases) (any, error) { return c.List(ctx, "/src", 7) }},
		{"list none", func(ctx context.Context, c cases) (any, error) { return c.List(ctx, "/else", 7) }},
		{"report", func(ctx context.Context, c cases) (any, error) { return c.Report(ctx, httpdtest.Root) }},
		{"report nobody", func(ctx context.Context, c cases) (any, error) { return c.Report(ctx, nobody) }},
		{"events", func(ctx context.Context, c cases) (any, error) { return c.Events(ctx, httpdtest.Root, 0, 0) }},
		{"one event", func(ctx context.Context, c cases) (any, error) { return c.Events(ctx, httpdtest.Root, 0, 1) }},
		{"later events", func(ctx context.Context, c cases) (any, error) { return c.Events(ctx, httpdtest.Root, 1, 10) }},
		{"events of nobody", func(ctx context.Context, c cases) (any, error) { return c.Events(ctx, nobody, 0, 0) }},
		{"tasks", func(ctx context.Context, c cases) (any, error) { return c.Tasks(ctx, httpdtest.Root) }},
		{"all tasks", func(ctx context.Context, c cases) (any, error) { return c.Tasks(ctx, "") }},
		{"tasks of nobody", func(ctx context.Context, c cases) (any, error) { return c.Tasks(ctx, nobody) }},
		{"cost", func(ctx context.Context, c cases) (any, error) { return c.Cost(ctx, httpdtest.Root) }},
		{"cost of nobody", func(ctx context.Context, c cases) (any, error) { return c.Cost(ctx, nobody) }},
		{"requests", func(ctx context.Context, c cases) (any, error) { return c.Requests(ctx, "") }},
		{"requests of a tree", func(ctx context.Context, c cases) (any, error) { return c.Requests(ctx, httpdtest.Root) }},
		{"requests of another", func(ctx context.Context, c cases) (any, error) { return c.Requests(ctx, nobody) }},
		{"send", func(ctx context.Context, c cases) (any, error) {
			return c.Send(ctx, httpdtest.Child, wire.Message{Text: "look at <a> & \u2028b\x00", Cancel: true, Images: []troupe.Image{{MediaType: "image/png", Data: []byte{0, 255}}}})
		}},
		{"send to nobody", func(ctx context.Context, c cases) (any, error) { return c.Send(ctx, nobody, wire.Message{Text: "x"}) }},
		{"stop", func(ctx context.Context, c cases) (any, error) {
			return nothing(c.Stop(ctx, httpdtest.Root, wire.Stop{Now: true, Tree: true}))
		}},
		{"stop softly", func(ctx context.Context, c cases) (any, error) {
			return nothing(c.Stop(ctx, httpdtest.Root, wire.Stop{}))
		}},
		{"stop nobody", func(ctx context.Context, c cases) (any, error) { return nothing(c.Stop(ctx, nobody, wire.Stop{})) }},
		{"background", func(ctx context.Context, c cases) (any, error) { return nothing(c.Background(ctx, httpdtest.Child)) }},
		{"background main", func(ctx context.Context, c cases) (any, error) { return nothing(c.Background(ctx, httpdtest.Root)) }},
		{"compact", func(ctx context.Context, c cases) (any, error) {
			return nothing(c.Compact(ctx, httpdtest.Root, "keep the plan"))
		}},
		{"compact without words", func(ctx context.Context, c cases) (any, error) { return nothing(c.Compact(ctx, httpdtest.Root, "")) }},
		{"compact another's", func(ctx context.Context, c cases) (any, error) { return nothing(c.Compact(ctx, httpdtest.Child, "")) }},
		{"answer nothing", func(ctx context.Context, c cases) (any, error) {
			return nothing(c.Answer(ctx, "q/1?x", wire.Answer{Allow: true}))
		}},
		{"answer", func(ctx context.Context, c cases) (any, error) {
			return nothing(c.Answer(ctx, "9m2000000000-1", wire.Answer{Allow: true, Session: true, Note: "ok"}))
		}},
		{"answer again", func(ctx context.Context, c cases) (any, error) {
			return nothing(c.Answer(ctx, httpdtest.Request, wire.Answer{}))
		}},
		{"no requests", func(ctx context.Context, c cases) (any, error) { return c.Requests(ctx, "") }},
	} {
		want, wantErr := x.call(t.Context(), here)
		got, err := x.call(t.Context(), c)
		if d := cmp.Diff(want, got); d != "" && wantErr == nil {
			t.Errorf("%s: the use case and the client differ (- +):\n%s", x.name, d)
		}
		sameError(t, x.name, err, wantErr)
		if d := cmp.Diff(here.Calls(), there.Calls()); d != "" {
			t.Errorf("%s: something else was done (- +):\n%s", x.name, d)
		}
	}
	if n := len(here.Calls()); n < 7 {
		t.Errorf("only %d things were done", n)
	}
}

func sameError(t *testing.T, name string, got, want error) {
	t.Helper()
	if (got == nil) != (want == nil) {
		t.Errorf("%s: error %v, want %v", name, got, want)
		return
	}
	if want == nil {
		return
	}
	if got.Error() != want.Error() {
		t.Errorf("%s: the error says %q, want %q", name, got, want)
	}
	for _, kind := range []error{troupe.ErrNotFound, troupe.ErrExists, troupe.ErrAmbiguous, troupe.ErrFenced, troupe.ErrNewer, troupe.ErrCap} {
		if errors.Is(got, kind) != errors.Is(want, kind) {
			t.Errorf("%s: errors.Is(err, %v) is %t here and %t there", name, kind, errors.Is(want, kind), errors.Is(got, kind))
		}
	}
	var g, w *troupe.UserError
	if errors.As(want, &w) && (!errors.As(got, &g) || g.Problem != w.Problem || g.Hint != w.Hint || g.Code != w.Code) {
		t.Errorf("%s: the error is %+v, want %+v", name, g, w)
	}
}

// follower is what both kinds of follower can do.
type follower = httpd.Follower

// TestFollow has two followers of either kind, one of the tree and one of a session, see
// events as they come, across All and Next.
func TestFollow(t *testing.T) {
	t.Parallel()
	here, there := httpdtest.New(), httpdtest.New()
	c := serve(t, there)
	for _, only := range []troupe.SessionID{"", httpdtest.Child} {
		after := map[troupe.SessionID]int64{httpdtest.Root: 1}
		ways := []follower{here.Follow(httpdtest.Root, only, after), c.Follow(httpdtest.Root, only, after)}
		var got [2][]troupe.Event
		read := func(i int, n int, next func(context.Context) ([]troupe.Event, error)) {
			for begin := len(got[i]); len(got[i]) < begin+n; {
				events, err := next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got[i] = append(got[i], events...)
			}
		}
		for i, f := range ways {
			w := []*httpdtest.World{here, there}[i]
			read(i, 1, f.All)
			w.Commit(httpdtest.Child, troupe.Started{Run: 2})
			read(i, 1, f.Next)
			w.Commit(httpdtest.Child, troupe.Started{Run: 3})
			read(i, 1, f.All) // the stream will bring it too, and nobody must see it twice
			w.Commit(httpdtest.Child, troupe.Started{Run: 4})
			w.Commit(httpdtest.Child, troupe.Started{Run: 5})
			read(i, 2, f.Next)
			done, cancel := context.WithCancel(t.Context())
			cancel()
			if events, err := f.Next(done); len(events) > 0 || err != nil {
				t.Errorf("a follower that is done says %v, %v", events, err)
			}
			w.Commit(httpdtest.Child, troupe.Started{Run: 6})
			read(i, 1, f.Next) // it can be asked again
			f.Close()
		}
		sort := func(a, b troupe.Event) int {
			return slices.Compare([]int64{int64(a.Session[0]), a.Seq}, []int64{int64(b.Session[0]), b.Seq})
		}
		slices.SortStableFunc(got[0], sort)
		slices.SortStableFunc(got[1], sort)
		if d := cmp.Diff(got[0], got[1]); d != "" {
			t.Errorf("the followers saw different things (- +):\n%s", d)
		}
	}
}

// TestCancelled: a call ends with its context, a waiting follower included.
func TestCancelled(t *testing.T) {
	t.Parallel()
	w := httpdtest.New()
	c := serve(t, w)
	f := c.Follow(httpdtest.Root, httpdtest.Root, map[troupe.SessionID]int64{httpdtest.Root: 2})
	defer f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if events, err := f.Next(ctx); len(events) > 0 || err != nil {
		t.Errorf("Next = %v, %v", events, err)
	}
	if _, err := c.Tasks(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call after its time = %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	c := client.Dial(filepath.Join(t.TempDir(), "none.sock"))
	defer c.Close()
	_, err := c.Send(t.Context(), httpdtest.Root, wire.Message{Text: "x"})
	if !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("err = %v", err)
	}
	f := c.Follow(httpdtest.Root, "", nil)
	defer f.Close()
	if _, err := f.Next(t.Context()); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("Next = %v", err)
	}
}
