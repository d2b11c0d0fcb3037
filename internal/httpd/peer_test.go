//go:build unix

package httpd

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestPeers has real processes call: this one, a child of it, a grandchild that detached
// itself from everything but its environment, and one that hid that too.
func TestPeers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("peers are told apart on Linux and, untested, on macOS")
	}
	s, err := serveAt(t, filepath.Join(short(t), "a.sock"), Options{Keys: rightKeys{}})
	if err != nil {
		t.Fatal(err)
	}
	socket := s.Path()
	if status, body := ask(t, socket, "GET", "/v1/tasks", ""); status != http.StatusOK {
		t.Errorf("this process gets %d %s", status, body)
	}
	for _, x := range []struct {
		name, what string
		env        []string
		status     int
		says       string
	}{
		{"a child", callIt, nil, http.StatusForbidden, "was started by the process that runs the agents"},
		{"a child that took the marker off", callIt, []string{troupe.AgentVariable + "X=1"}, http.StatusForbidden,
			"was started by the process that runs the agents"},
		// Commands of agents may have found a token, or the secret of processes.
		{"a child with a token", callIt, []string{tokenEnv + "=admin"}, http.StatusForbidden,
			"was started by the process that runs the agents"},
		{"an orphan with the marker and a secret", leaveIt,
			[]string{troupe.AgentVariable + "=7k3f00000000", tokenEnv + "=system"}, http.StatusForbidden,
			"was started by an agent's tool"},
		{"an orphan with the marker", leaveIt, []string{troupe.AgentVariable + "=7k3f00000000"}, http.StatusForbidden,
			"was started by an agent's tool"},
		// What the package's comment on peers admits. It is also the proof that a process
		// which is not below this one may call at all.
		{"an orphan without it", leaveIt, nil, http.StatusOK, "trace"},
	} {
		status, out := helper(t, x.what, socket, x.env...)
		if status != x.status || !strings.Contains(out, x.says) {
			t.Errorf("%s gets %d %s", x.name, status, out)
		}
		if status == http.StatusForbidden && (!strings.Contains(out, `"code":3`) ||
			!strings.Contains(out, "in a terminal of your own")) {
			t.Errorf("%s is not told what to do: %s", x.name, out)
		}
	}
}

// world is a table of processes that a test makes up.
type world struct {
	procs  map[int]process
	marks  map[int]bool
	hidden map[int]bool // their environment
	// steps change it before the nth look at any process.
	steps map[int]func(*world)
	looks int
}

func (w *world) process(pid int) (process, error) {
	w.looks++
	if step := w.steps[w.looks]; step != nil {
		step(w)
	}
	p, ok := w.procs[pid]
	if !ok {
		return process{}, fs.ErrNotExist
	}
	return p, nil
}

func (w *world) marked(pid int) (bool, error) {
	if _, ok := w.procs[pid]; !ok {
		return false, fs.ErrNotExist
	}
	if w.hidden[pid] {
		return false, fs.ErrPermission
	}
	return w.marks[pid], nil
}

// TestJudge: 10 is the server, 20 a terminal's shell and 21 its command, 30 and up are an agent's.
func TestJudge(t *testing.T) {
	t.Parallel()
	fresh := func() *world {
		return &world{
			procs: map[int]process{
				1: {0, 1, 1, 1}, 2: {1, 2, 2, 2}, 10: {2, 10, 2, 10},
				20: {2, 20, 20, 5}, 21: {20, 21, 20, 50},
				30: {10, 30, 30, 20}, 31: {30, 30, 30, 21}, 32: {1, 32, 32, 22},
			},
			marks: map[int]bool{}, hidden: map[int]bool{}, steps: map[int]func(*world){},
		}
	}
	for name, x := range map[string]struct {
		pid     int
		change  func(*world)
		refused string
	}{
		"itself":             {pid: 10},
		"a person's command": {pid: 21},
		"a child":            {pid: 30, refused: "started by the process"},
		"a grandchild":       {pid: 31, refused: "started by the process"},
		"nobody":             {pid: 0, refused: "another container"},
		"gone":               {pid: 99, refused: "not exist"},
		"marked": {pid: 32, change: func(w *world) { w.marks[32] = true },
			refused: "it was started by an agent's tool"},
		"orphan with clean hands": {pid: 32},
		"hides its environment":   {pid: 21, change: func(w *world) { w.hidden[21] = true }, refused: "permission"},
		"shell hides":             {pid: 21, change: func(w *world) { w.hidden[20] = true }},
		"leader marked": {pid: 21, change: func(w *world) {
			w.procs[21] = process{1, 21, 20,
				50}
			w.marks[20] = true
		}, refused: "process 20, which leads it"},
		"group leader marked": {pid: 21, change: func(w *world) {
			w.procs[21] = process{1, 20, 21,
				50}
			w.marks[20] = true
		}, refused: "process 20, which leads it"},
		"ancestor marked": {pid: 21, change: func(w *world) {
			w.marks[20] = true
			w.procs[21] = process{20, 21,
				21, 50}
		}, refused: "process 20 above it"},
		"far ancestor marked": {pid: 21, change: func(w *world) {
			w.marks[2] = true
			w.procs[21] = process{20, 21,
				21, 50}
		}, refused: "process 2 above it"},
		"parent in another world": {pid: 21, change: func(w *world) { delete(w.procs, 20) }},
		"number taken by another": {pid: 21,
			change:  func(w *world) { w.steps[6] = func(w *world) { w.procs[21] = process{20, 21, 20, 51} } },
			refused: "not exist"},
		"taken in the middle": {pid: 21,
			change:  func(w *world) { w.steps[2] = func(w *world) { w.procs[21] = process{20, 21, 20, 51} } },
			refused: "not exist"},
		"ends in the middle": {pid: 21, change: func(w *world) {
			w.steps[3] = func(w *world) {
				delete(w.procs,
					21)
			}
		}, refused: "not exist"},
		"parent ends, server next": {pid: 31, change: func(w *world) {
			w.steps[2] = func(w *world) { delete(w.procs, 30); w.procs[31] = process{10, 30, 30, 21} }
		}, refused: "started by the process"},
		// The parent's number is an innocent process's by the time it is read.
		"parent's number taken": {pid: 31, change: func(w *world) {
			w.steps[2] = func(w *world) { w.procs[30] = process{20, 30, 30, 99}; w.procs[31] = process{10, 30, 30, 21} }
		}, refused: "started by the process"},
	} {
		w := fresh()
		if x.change != nil {
			x.change(w)
		}
		err := judge(w, 10, x.pid)
		var user *troupe.UserError
		switch {
		case x.refused == "" && err != nil:
			t.Errorf("%s: refused: %v", name, err)
		case x.refused != "" && (err == nil || !strings.Contains(err.Error(), x.refused)):
			t.Errorf("%s: %v, want a refusal with %q", name, err, x.refused)
		case err != nil && (!errors.As(err, &user) || user.Code != troupe.ExitPermission || user.Hint == ""):
			t.Errorf("%s: %#v does not say what to do", name, err)
		}
	}
	loop := fresh()
	loop.procs[40], loop.procs[41] = process{41, 40, 40, 1}, process{40, 41, 41, 1}
	if err := judge(loop, 10, 40); err == nil {
		t.Error("a circle of parents may call")
	}
}

func TestSelf(t *testing.T) {
	t.Parallel()
	if self() != os.Getpid() {
		t.Error("who am I?")
	}
}
