package board_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/board"
	"github.com/troupe-dev/troupe/internal/tool/tooltest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	valid := map[string]string{
		"TaskCreate": `{"subject":"Run the tests","description":"all of them","activeForm":"Running the tests"}`,
		"TaskUpdate": `{"taskId":"1","status":"in_progress","subject":"a","description":"b","activeForm":"c","owner":"Bob",` +
			`"addBlocks":["2"],"addBlockedBy":["3"]}`,
		"TaskGet":  `{"taskId":"1"}`,
		"TaskList": `{}`,
	}
	total := 0
	for _, d := range board.Tools() {
		spec := d.Spec()
		total += len(spec.Name) + len(spec.Description) + len(spec.Schema)
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			tooltest.Spec(t, spec)
			tooltest.Inputs(t, spec, valid[spec.Name], func(in string) error {
				_, err := d.Intent(in)
				return err
			})
		})
	}
	// They are sent with every prompt of a main agent.
	if total > 2200 {
		t.Errorf("together they take %d bytes, more than 2200", total)
	}
}

func decode(name, input string) (troupe.Intent, error) {
	for _, d := range board.Tools() {
		if d.Name == name {
			return d.Intent(input)
		}
	}
	return nil, &tool.InputError{Tool: name, Problem: "there is no such tool"}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     troupe.Intent
	}{
		{"TaskCreate", `{"subject":" Run\n the tests ","description":" a\nb"}`,
			troupe.BoardCreate{Subject: "Run the tests", Description: " a\nb"}},
		{"TaskUpdate", `{"task_id":"#2","status":"completed","addBlockedBy":["1"]}`,
			troupe.BoardUpdate{Item: "#2", Status: troupe.BoardCompleted, AddBlockedBy: []string{"1"}}},
		{"TaskGet", `{"taskId":"7"}`, troupe.BoardQuery{Item: "7"}},
		{"TaskList", ``, troupe.BoardQuery{}},
	} {
		if got, err := decode(c.name, c.in); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s:\n got %+v %v\nwant %+v", c.name, c.in, got, err, c.want)
		}
	}
	for _, c := range []struct{ name, in, want string }{
		{"TaskCreate", `{"subject":" \n"}`, "must not be empty"},
		{"TaskCreate", `{"title":"x"}`, "there are: subject"},
		{"TaskUpdate", `{"taskId":"1","status":"done"}`, "must be one of pending, in_progress, completed, deleted"},
		{"TaskUpdate", `{"status":"completed"}`, "`taskId` is required"},
		{"TaskUpdate", `{"taskId":"1","addBlocks":[` + strings.Repeat(`"2",`, 100) + `"2"]}`, "more than 100"},
		{"TaskList", `{"taskId":"1"}`, "there is no parameter"},
	} {
		_, err := decode(c.name, c.in)
		var ie *tool.InputError
		if !errors.As(err, &ie) || ie.Tool != c.name || !strings.Contains(ie.Problem, c.want) {
			t.Errorf("%s %s: got %v, want %s", c.name, c.in, err, c.want)
		}
	}
}
