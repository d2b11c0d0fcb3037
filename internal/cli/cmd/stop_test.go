package cmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/httpd"
	"github.com/troupe-dev/troupe/internal/httpd/httpdtest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// atPlace is a home whose tree is run by the process behind a socket, or by nobody.
type atPlace struct {
	*httpdtest.World
	socket string
}

func (h atPlace) Tree(context.Context, troupe.SessionID) (app.Tree, error) {
	return app.Tree{Running: h.socket != "", Owner: troupe.Owner{Socket: h.socket}, Paths: map[troupe.SessionID]string{httpdtest.Root: "main"}}, nil
}

func TestStop(t *testing.T) {
	t.Parallel()
	there := apitest.New()
	s, err := httpd.Serve(t.Context(), filepath.Join(t.TempDir(), "a.sock"), there.As, httpd.Options{Temp: os.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	for _, x := range []struct {
		ref, socket string
		now, json   bool
		says, did   string
	}{
		{"main", s.Path(), false, false, "main: stops after the step it is in; go on later with: troupe -p --resume 7k3f00000000\n", "stop 7k3f00000000 {Now:false Tree:true Task:}"},
		{"9m2", s.Path(), true, false, "9m2000000000: stops now; have it go on with: troupe send 9m2000000000", "stop 9m2000000000 {Now:true Tree:false Task:}"},
		{"main", s.Path(), true, true, `{"session":"7k3f00000000","effect":"stops","now":true,"tree":true}`, "stop 7k3f00000000 {Now:true Tree:true Task:}"},
		{"main", "", false, false, "main: nobody is running it now; there is nothing to stop\n", ""},
		{"main", "", false, true, `{"session":"7k3f00000000","effect":"none","now":false,"tree":true}`, ""},
	} {
		var b bytes.Buffer
		here := atPlace{httpdtest.New(), x.socket}
		before := len(there.Calls())
		err := stop(t.Context(), &console.Console{Out: &b, Lookup: noVariables, Cwd: "/src"}, here, x.ref, x.now, x.json)
		if err != nil || !strings.HasPrefix(b.String(), x.says) {
			t.Errorf("stop %s: %v, %s", x.ref, err, b.String())
		}
		if did := strings.Join(there.Calls()[before:], ";"); did != x.did || len(here.Calls()) > 0 {
			t.Errorf("stop %s did %q there and %q here, want %q there", x.ref, did, here.Calls(), x.did)
		}
	}
}

// endedWorld is a home where a session has come to its end, with as many tasks as there are.
type endedWorld struct {
	atPlace
	tasks []wire.Task
}

func (h endedWorld) Tasks(context.Context, troupe.SessionID) ([]wire.Task, error) {
	return h.tasks, nil
}

// TestStopIdle: a stop of what is not at work does not say that it stops something.
func TestStopIdle(t *testing.T) {
	t.Parallel()
	s := troupe.Session{Status: troupe.Completed}
	command := []wire.Task{{Kind: troupe.TaskShell, Status: troupe.TaskRunning, Background: true}}
	for _, x := range []struct {
		parent troupe.SessionID
		tasks  []wire.Task
		want   bool
	}{
		{"", nil, false},
		{"", command, true},
		{"7k3f00000000", command, false}, // a stop of an agent that has ended reaches nothing of its
		{"", []wire.Task{{Status: troupe.TaskKilled}}, false},
	} {
		s.Parent = x.parent
		if got, err := atWork(t.Context(), endedWorld{atPlace{httpdtest.New(), ""}, x.tasks}, s); err != nil || got != x.want {
			t.Errorf("below %q with %d tasks: at work %v, %v", x.parent, len(x.tasks), got, err)
		}
	}
	if says := stopText(stopped{Effect: "idle"}, troupe.Session{Status: troupe.Completed}); !strings.Contains(says, "it is idle") {
		t.Error(says)
	}
	if says := stopText(stopped{Effect: "idle"}, troupe.Session{Parent: "x", Status: troupe.Cancelled}); !strings.Contains(says, "not at work (cancelled)") {
		t.Error(says)
	}
}
