package cmd

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestTasks(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	for _, x := range []struct {
		args []string
		json bool
		want string
	}{
		{nil, false, "AGENT  TASK          KIND               WHAT                         STATUS   TIME   DOING\n" +
			"main   9m2000000000  agent, background  Auth Explorer: trace <auth>  running  1.5 s  waits for " +
			"approval\n"},
		{[]string{"main"}, false, "  agent  Auth"},
		{[]string{"main"}, true,
			`[{"session":"7k3f00000000","root":"7k3f00000000","path":"main","id":"9m2000000000","kind":"agent","name":"Auth Explorer"`},
	} {
		var b bytes.Buffer
		err := listTasks(t.Context(), &console.Console{Out: &b, Cwd: "/src"}, w, x.args, x.json)
		if err != nil || !strings.Contains(b.String(), x.want) {
			t.Errorf("%q: %v\n%s", x.args, err, b.String())
		}
	}
	if err := listTasks(t.Context(), &console.Console{}, w, []string{"nobody"},
		false); console.Code(err) != troupe.ExitUsage {
		t.Errorf("tasks of nobody: %v", err)
	}
}

// TestTaskWords: an agent has its number where tasks are listed, and what a person stopped is called stopped.
func TestTaskWords(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	c := &console.Console{Out: &b}
	if err := writeTasks(c, []wire.Task{{Path: "main", ID: "9m2000000000", Kind: troupe.TaskAgent, Number: 3,
		Name: "Auth Explorer", Title: "trace", Status: troupe.TaskKilled}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "#3 Auth Explorer: trace  stopped") {
		t.Errorf("listed:\n%s", b.String())
	}
}

type idleTasks struct{ *apitest.World }

func (idleTasks) Tasks(context.Context, troupe.SessionID) ([]wire.Task, error) { return nil, nil }

func TestTasksIdle(t *testing.T) {
	t.Parallel()
	for asJSON, want := range map[bool]string{true: "[]\n", false: "Nothing is at work.\n"} {
		var b bytes.Buffer
		if err := listTasks(t.Context(), &console.Console{Out: &b}, idleTasks{}, nil, asJSON); err != nil ||
			b.String() != want {
			t.Errorf("%v: %q", err, b.String())
		}
	}
}

type leftTasks struct{ *apitest.World }

func (leftTasks) Tasks(context.Context, troupe.SessionID) ([]wire.Task, error) {
	return []wire.Task{
		{Root: "7k3f00000000", Path: "main", ID: "7k3f00000000", Kind: troupe.TaskAgent, Name: "main", Title: "x",
			Status: troupe.TaskRunning, Left: true},
		{Root: "7k3f00000000", Path: "main", ID: "b1.0", Kind: troupe.TaskShell, Name: "sleep",
			Status: troupe.TaskRunning, Background: true, Left: true},
	}, nil
}

// TestTasksLeft: what nobody runs is said to be left behind, and how to go on, once for each session.
func TestTasksLeft(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := listTasks(t.Context(), &console.Console{Out: &b}, leftTasks{}, nil, false); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "  left behind  "); n != 2 || strings.Contains(b.String(), "running") {
		t.Errorf("got:\n%s", b.String())
	}
	if n := strings.Count(b.String(), "go on with: troupe --resume 7k3f00000000"); n != 1 {
		t.Errorf("%d hints:\n%s", n, b.String())
	}
}
