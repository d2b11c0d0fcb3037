package cmd

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestStop(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		ref             string
		left, now, json bool
		says, did       string
	}{
		{"main", false, false, false, "job: stops after the step it is in; go on later with: troupe -p --resume " +
			"7k3f00000000\n", "stop 7k3f00000000 {Now:false Tree:true Task: Kept:false}"},
		{"9m2", false, true, false, "job/Auth Explorer: stops now; have it go on with: troupe send 9m2000000000",
			"stop 9m2000000000 {Now:true Tree:false Task: Kept:false}"},
		{"main", false, true, true, `{"session":"7k3f00000000","effect":"stops","now":true,"tree":true}`,
			"stop 7k3f00000000 {Now:true Tree:true Task: Kept:false}"},
		{"main", true, false, false, "job: no process is running it; there is nothing to stop\n",
			"stop 7k3f00000000 {Now:false Tree:true Task: Kept:false}"},
		{"main", true, false, true, `{"session":"7k3f00000000","effect":"none","now":false,"tree":true}`,
			"stop 7k3f00000000 {Now:false Tree:true Task: Kept:false}"},
	} {
		var b bytes.Buffer
		w := apitest.New()
		var a api.API = w
		if x.left {
			a = leftWorld{w}
		}
		err := stop(t.Context(), &console.Console{Out: &b, Cwd: "/src"}, a, x.ref, stopped{Now: x.now}, x.json)
		if err != nil || !strings.HasPrefix(b.String(), x.says) {
			t.Errorf("stop %s: %v, %s", x.ref, err, b.String())
		}
		if did := strings.Join(w.Calls(), ";"); did != x.did {
			t.Errorf("stop %s did %q, want %q", x.ref, did, x.did)
		}
	}
}

// coordinated is a home whose sessions are coordinators.
type coordinated struct{ *apitest.World }

func (h coordinated) Find(ctx context.Context, ref, cwd string) (wire.Session, error) {
	s, err := h.World.Find(ctx, ref, cwd)
	s.Type = wire.AgentCoordinator
	return s, err
}

// TestStopAll: a main agent is stopped with all below it, a sub-agent and a coordinator alone, and --all is for all.
// What is said is what was done.
func TestStopAll(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		ref              string
		coordinates, all bool
		tree, alone      bool
	}{
		{"main", false, false, true, false},
		{"main", false, true, true, false},
		{"9m2", false, false, false, false},
		{"9m2", false, true, true, false},
		{"main", true, false, false, true},
		{"main", true, true, true, false},
	} {
		var b bytes.Buffer
		w := apitest.New()
		var a api.API = w
		if x.coordinates {
			a = coordinated{w}
		}
		if err := stop(t.Context(), &console.Console{Out: &b, Cwd: "/src"}, a, x.ref, stopped{Tree: x.all},
			false); err != nil {
			t.Fatal(err)
		}
		did := strings.Join(w.Calls(), ";")
		if strings.Contains(did, "Tree:true") != x.tree || strings.Contains(b.String(), "its agents go on") != x.alone {
			t.Errorf("stop %s, a coordinator %t, --all %t: did %s, says %s", x.ref, x.coordinates, x.all, did,
				b.String())
		}
	}
}

// endedWorld is a home where a session has come to its end, with as many tasks as there are.
type endedWorld struct {
	*apitest.World
	tasks []wire.Task
}

func (h endedWorld) Tasks(context.Context, troupe.SessionID) ([]wire.Task, error) {
	return h.tasks, nil
}

// TestStopIdle: a stop of what is not at work does not say that it stops something.
func TestStopIdle(t *testing.T) {
	t.Parallel()
	s := wire.Session{Status: troupe.Completed}
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
		if got, err := atWork(t.Context(), endedWorld{apitest.New(), x.tasks}, s); err != nil || got != x.want {
			t.Errorf("below %q with %d tasks: at work %v, %v", x.parent, len(x.tasks), got, err)
		}
	}
	if says := stopText(stopped{Effect: "idle"}, wire.Session{Status: troupe.Completed}); !strings.Contains(says,
		"it is idle") {
		t.Error(says)
	}
	if says := stopText(stopped{Effect: "idle"}, wire.Session{Parent: "x",
		Status: troupe.Cancelled}); !strings.Contains(says, "not at work (stopped)") {
		t.Error(says)
	}
}
