package task_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/task"
	"github.com/troupe-dev/troupe/internal/tool/tooltest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	valid := map[string]string{
		task.Send:   `{"to":"Auth Explorer","message":"Look at login too.","summary":"also login","cancel":true}`,
		task.Output: `{"task_id":"b3.0","block":true,"timeout":5000}`,
		task.Stop:   `{"task_id":"b3.0"}`,
	}
	var names []string
	total := 0
	for _, spec := range task.Specs() {
		names = append(names, spec.Name)
		n := len(spec.Name) + len(spec.Description) + len(spec.Schema)
		t.Logf("%s: %d + %d bytes", spec.Name, len(spec.Description), len(spec.Schema))
		total += n
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			tooltest.Spec(t, spec)
			tooltest.Inputs(t, spec, valid[spec.Name], func(in string) error {
				_, err := task.Decode(spec.Name, in)
				return err
			})
		})
	}
	if !slices.Equal(names, task.Names()) {
		t.Errorf("there are specs of %v and names %v", names, task.Names())
	}
	// They are sent with every prompt of every agent.
	if total > 1600 {
		t.Errorf("together they take %d bytes, more than 1600", total)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, c := range []struct {
		name, in string
		want     troupe.Intent
	}{
		{task.Send, `{"to":" Bob ","message":" Go on.\n"}`, troupe.SendMessage{To: "Bob", Text: " Go on.\n"}},
		{task.Send, `{"to":"s_1","message":"Stop.","summary":"it is\n done","cancel":"true"}`, troupe.SendMessage{To: "s_1", Text: "Stop.", Summary: "it is done", Cancel: true}},
		{task.Output, ``, troupe.TaskQuery{}},
		{task.Output, `{}`, troupe.TaskQuery{}},
		{task.Output, `{"task_id":"","block":true,"timeout":9000}`, troupe.TaskQuery{}},
		{task.Output, `{"task_id":null}`, troupe.TaskQuery{}},
		{task.Output, `{"task_id":"b3.0"}`, troupe.TaskQuery{Task: "b3.0", Block: true, Timeout: 30 * s}},
		{task.Output, `{"task":" Bob ","timeout":"600000"}`, troupe.TaskQuery{Task: "Bob", Block: true, Timeout: 600 * s}},
		{task.Output, `{"task_id":"b3.0","block":false,"timeout":5000}`, troupe.TaskQuery{Task: "b3.0"}},
		{task.Output, `{"task_id":"b3.0","timeout":0}`, troupe.TaskQuery{Task: "b3.0"}},
		{task.Stop, `{"task_id":" b3.0"}`, troupe.TaskStop{Task: "b3.0"}},
		{task.Stop, `{"task":"Bob"}`, troupe.TaskStop{Task: "Bob"}},
		{task.Stop, `{"shell_id":"b3.0","task_id":null}`, troupe.TaskStop{Task: "b3.0"}},
	} {
		if got, err := task.Decode(c.name, c.in); err != nil || got != c.want {
			t.Errorf("%s %s:\n got %+v %v\nwant %+v", c.name, c.in, got, err, c.want)
		}
	}
	for _, c := range []struct{ name, in, want string }{
		{task.Send, `{"to":"Bob","message":" \n"}`, "`message` must not be empty"},
		{task.Send, `{"to":" ","message":"x"}`, "`to` must not be empty"},
		{task.Send, `{"recipient":"Bob","message":"x"}`, "there are: to, message"},
		{task.Output, `{"task_id":"b","task":"b"}`, "given twice"},
		{task.Output, `{"task_id":"b","timeout":600001}`, "at most 600000"},
		{task.Output, `{"task_id":"b","timeout":-1}`, "at least 0"},
		{task.Output, `{"task_id":"b","block":1}`, "true or false"},
		{task.Output, `{"taskid":"b"}`, "did you mean `task_id`?"},
		{task.Stop, `{}`, "`task_id` is required"},
		{task.Stop, `{"shell_id":null}`, "`task_id` is required"},
		{task.Stop, `{"shell_id":" "}`, "must not be empty"},
		{task.Stop, `{"shell_id":"a","task_id":"b"}`, "given twice"},
		{"TaskCreate", `{}`, "none of SendMessage"},
	} {
		got, err := task.Decode(c.name, c.in)
		var ie *tool.InputError
		if got != nil || !errors.As(err, &ie) || ie.Tool != c.name || !strings.Contains(ie.Problem, c.want) {
			t.Errorf("%s %s: got %v %v, want %s", c.name, c.in, got, err, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(task.Send, `{"to":"Bob","message":"x","cancel":"TRUE"}`)
	f.Add(task.Output, `{"task":"b1.0","timeout":"1e3"}`)
	f.Add(task.Stop, `{"shell_id":"b1.0"}`)
	f.Fuzz(func(t *testing.T, name, in string) {
		got, err := task.Decode(name, in)
		if err != nil {
			var ie *tool.InputError
			if got != nil || !errors.As(err, &ie) || ie.Tool != name {
				t.Fatalf("%v, %T %v", got, err, err)
			}
			return
		}
		ok := false
		switch v := got.(type) {
		case troupe.SendMessage:
			ok = name == task.Send && named(v.To) && strings.TrimSpace(v.Text) != "" && !strings.Contains(v.Summary, "\n")
		case troupe.TaskQuery: // a wait has something to wait for, and an end
			ok = name == task.Output && v.Block == (v.Timeout > 0) && v.Timeout <= 10*time.Minute && (!v.Block || named(v.Task))
		case troupe.TaskStop:
			ok = name == task.Stop && named(v.Task)
		}
		if !ok {
			t.Fatalf("accepted as %+v", got)
		}
	})
}

func named(s string) bool { return s != "" && s == strings.TrimSpace(s) }
