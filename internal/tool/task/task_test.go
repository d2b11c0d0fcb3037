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
		"SendMessage": `{"to":"Auth Explorer","message":"Look at login too.","summary":"also login","cancel":true}`,
		"TaskOutput":  `{"task_id":"b3.0","block":true,"timeout":5000}`,
		"TaskStop":    `{"task_id":"b3.0"}`,
	}
	var names []string
	total := 0
	for _, d := range task.Tools() {
		spec := d.Spec()
		names = append(names, spec.Name)
		n := len(spec.Name) + len(spec.Description) + len(spec.Schema)
		t.Logf("%s: %d + %d bytes", spec.Name, len(spec.Description), len(spec.Schema))
		total += n
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			tooltest.Spec(t, spec)
			tooltest.Inputs(t, spec, valid[spec.Name], func(in string) error {
				_, err := d.Intent(in)
				return err
			})
		})
	}
	if !slices.Equal(names, []string{"SendMessage", "TaskOutput", "TaskStop"}) {
		t.Errorf("there are %v", names)
	}
	// They are sent with every prompt of every agent.
	if total > 1800 {
		t.Errorf("together they take %d bytes, more than 1800", total)
	}
}

// decode reads the input of a call; a tool that there is not refuses all.
func decode(name, input string) (troupe.Intent, error) {
	for _, d := range task.Tools() {
		if d.Name == name {
			return d.Intent(input)
		}
	}
	return nil, &tool.InputError{Tool: name, Problem: "there is no such tool"}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, c := range []struct {
		name, in string
		want     troupe.Intent
	}{
		{"SendMessage", `{"to":" Bob ","message":" Go on.\n"}`, troupe.SendMessage{To: "Bob", Text: " Go on.\n"}},
		{"SendMessage", `{"to":"s_1","message":"Stop.","summary":"it is\n done","cancel":"true"}`,
			troupe.SendMessage{To: "s_1", Text: "Stop.", Summary: "it is done", Cancel: true}},
		{"TaskOutput", ``, troupe.TaskQuery{}},
		{"TaskOutput", `{}`, troupe.TaskQuery{}},
		{"TaskOutput", `{"task_id":"","block":true,"timeout":9000}`, troupe.TaskQuery{}},
		{"TaskOutput", `{"task_id":null}`, troupe.TaskQuery{}},
		{"TaskOutput", `{"task_id":"b3.0"}`, troupe.TaskQuery{Task: "b3.0", Block: true, Timeout: 30 * s}},
		{"TaskOutput", `{"task":" Bob ","timeout":"600000"}`,
			troupe.TaskQuery{Task: "Bob", Block: true, Timeout: 600 * s}},
		{"TaskOutput", `{"task_id":"b3.0","block":false,"timeout":5000}`, troupe.TaskQuery{Task: "b3.0"}},
		{"TaskOutput", `{"task_id":"b3.0","timeout":0}`, troupe.TaskQuery{Task: "b3.0"}},
		{"TaskStop", `{"task_id":" b3.0"}`, troupe.TaskStop{Task: "b3.0"}},
		{"TaskStop", `{"task":"Bob"}`, troupe.TaskStop{Task: "Bob"}},
		{"TaskStop", `{"shell_id":"b3.0","task_id":null}`, troupe.TaskStop{Task: "b3.0"}},
	} {
		if got, err := decode(c.name, c.in); err != nil || got != c.want {
			t.Errorf("%s %s:\n got %+v %v\nwant %+v", c.name, c.in, got, err, c.want)
		}
	}
	for _, c := range []struct{ name, in, want string }{
		{"SendMessage", `{"to":"Bob","message":" \n"}`, "`message` must not be empty"},
		{"SendMessage", `{"to":" ","message":"x"}`, "`to` must not be empty"},
		{"SendMessage", `{"recipient":"Bob","message":"x"}`, "there are: to, message"},
		{"TaskOutput", `{"task_id":"b","task":"b"}`, "given twice"},
		{"TaskOutput", `{"task_id":"b","timeout":600001}`, "at most 600000"},
		{"TaskOutput", `{"task_id":"b","timeout":-1}`, "at least 0"},
		{"TaskOutput", `{"task_id":"b","block":1}`, "true or false"},
		{"TaskOutput", `{"taskid":"b"}`, "did you mean `task_id`?"},
		{"TaskStop", `{}`, "`task_id` is required"},
		{"TaskStop", `{"shell_id":null}`, "`task_id` is required"},
		{"TaskStop", `{"shell_id":" "}`, "must not be empty"},
		{"TaskStop", `{"shell_id":"a","task_id":"b"}`, "given twice"},
	} {
		got, err := decode(c.name, c.in)
		var ie *tool.InputError
		if got != nil || !errors.As(err, &ie) || ie.Tool != c.name || !strings.Contains(ie.Problem, c.want) {
			t.Errorf("%s %s: got %v %v, want %s", c.name, c.in, got, err, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("SendMessage", `{"to":"Bob","message":"x","cancel":"TRUE"}`)
	f.Add("TaskOutput", `{"task":"b1.0","timeout":"1e3"}`)
	f.Add("TaskStop", `{"shell_id":"b1.0"}`)
	f.Fuzz(func(t *testing.T, name, in string) {
		got, err := decode(name, in)
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
			ok = name == "SendMessage" && named(v.To) && strings.TrimSpace(v.Text) != "" &&
				!strings.Contains(v.Summary, "\n")
		case troupe.TaskQuery: // a wait has something to wait for, and an end
			ok = name == "TaskOutput" && v.Block == (v.Timeout > 0) && v.Timeout <= 10*time.Minute &&
				(!v.Block || named(v.Task))
		case troupe.TaskStop:
			ok = name == "TaskStop" && named(v.Task)
		}
		if !ok {
			t.Fatalf("accepted as %+v", got)
		}
	})
}

func named(s string) bool { return s != "" && s == strings.TrimSpace(s) }
