package reach_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/reach"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/httpd"
	"github.com/troupe-dev/troupe/internal/httpd/httpdtest"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// home is a home with one tree, which somebody runs or nobody. trees are what it shows of
// it, one look after the other.
type home struct {
	*httpdtest.World
	trees []app.Tree
}

func (h *home) Tree(context.Context, troupe.SessionID) (app.Tree, error) {
	t := h.trees[0]
	if len(h.trees) > 1 {
		h.trees = h.trees[1:]
	}
	t.Sum.Root = httpdtest.Root
	t.Paths = map[troupe.SessionID]string{httpdtest.Root: "main"}
	return t, nil
}

func running(socket string) app.Tree {
	return app.Tree{Running: true, Owner: troupe.Owner{PID: 7, Host: "here", Socket: socket}}
}

func TestAct(t *testing.T) {
	t.Parallel()
	there := httpdtest.New()
	s, err := httpd.Serve(t.Context(), filepath.Join(t.TempDir(), "a.sock"), httpd.Cases{Read: there, Do: there}, httpd.Options{Temp: os.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	gone := filepath.Join(t.TempDir(), "gone.sock")
	for _, x := range []struct {
		name        string
		trees       []app.Tree
		here, there int // how many messages arrive
		later, err  string
	}{
		{name: "nobody runs it", trees: []app.Tree{{}}, here: 1, later: "nobody is running it now; it will be read when it goes on: troupe -p --resume 7k3f00000000"},
		{name: "a dead process's socket", trees: []app.Tree{{Owner: troupe.Owner{Socket: gone}}}, here: 1, later: "nobody is running"},
		{name: "a process runs it", trees: []app.Tree{running(s.Path())}, there: 1, later: "process 7 has just let go of it; it will be read when it goes on: troupe -p --resume 7k3f00000000"},
		{name: "it serves nothing", trees: []app.Tree{running("")}, here: 1, later: "process 7 runs it and takes no calls"},
		{name: "it ends just now", trees: []app.Tree{running(gone), {}}, here: 1, later: "nobody is running"},
		{name: "another takes over", trees: []app.Tree{running(gone), running(s.Path())}, there: 1, later: "process 7"},
		{name: "it does not answer", trees: []app.Tree{running(gone)}, err: "process 7 on here runs session 7k3f00000000, but it does not answer"},
	} {
		h := &home{httpdtest.New(), x.trees}
		before := len(there.Calls())
		later := ""
		err := reach.Act(t.Context(), person(), h, httpdtest.Root, func(p reach.Place) error {
			_, err := p.Send(t.Context(), httpdtest.Root, wire.Message{Text: "x"})
			later = p.Later()
			if p.Path(httpdtest.Root) != "main" || p.Path("z") != "z" {
				t.Error("sessions are not named by their path")
			}
			return err
		})
		if n := len(h.Calls()); n != x.here {
			t.Errorf("%s: %d messages in the home, want %d", x.name, n, x.here)
		}
		if n := len(there.Calls()) - before; n != x.there {
			t.Errorf("%s: %d messages in the process, want %d", x.name, n, x.there)
		}
		switch {
		case x.err == "" && (err != nil || !strings.Contains(later, x.later)):
			t.Errorf("%s: %v, %q", x.name, err, later)
		case x.err != "" && (err == nil || !strings.Contains(err.Error(), x.err) || !errors.Is(err, client.ErrUnreachable)):
			t.Errorf("%s: %v, want %q", x.name, err, x.err)
		}
	}
}

// TestActOnce: what may have been done is not done again.
func TestActOnce(t *testing.T) {
	t.Parallel()
	h := &home{httpdtest.New(), []app.Tree{running("/nowhere")}}
	n := 0
	broken := errors.New("cut off in the middle")
	err := reach.Act(t.Context(), person(), h, httpdtest.Root, func(reach.Place) error { n++; return broken })
	if n != 1 || !errors.Is(err, broken) {
		t.Errorf("called %d times: %v", n, err)
	}
}

// person is a console that no agent has opened.
func person() *console.Console {
	return &console.Console{Lookup: func(string) (string, bool) { return "", false }}
}

// TestActForAgents: what is refused by a process that runs the tree is refused as well when
// nobody does.
func TestActForAgents(t *testing.T) {
	t.Parallel()
	h := &home{httpdtest.New(), []app.Tree{{}}}
	agent := &console.Console{Lookup: func(name string) (string, bool) { return "7k3f00000000", name == httpd.Marker }}
	err := reach.Act(t.Context(), agent, h, httpdtest.Root, func(reach.Place) error {
		t.Error("it acts")
		return nil
	})
	if console.Code(err) != console.ExitPermission {
		t.Errorf("err = %v", err)
	}
}
