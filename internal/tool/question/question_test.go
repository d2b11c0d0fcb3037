package question_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/question"
	"github.com/troupe-dev/troupe/internal/tool/tooltest"
)

const valid = `{"questions":[{"question":"Which store?","header":"Store","multiSelect":false,"options":[` +
	`{"label":"SQLite","description":"one file"},{"label":"PostgreSQL","description":"a server"}]}]}`

func decode(in string) (troupe.Intent, error) { return question.Tools()[0].Intent(in) }

func TestConformance(t *testing.T) {
	t.Parallel()
	spec := question.Tools()[0].Spec()
	tooltest.Spec(t, spec)
	tooltest.Inputs(t, spec, valid, func(in string) error {
		_, err := decode(in)
		return err
	})
}

func TestDecode(t *testing.T) {
	t.Parallel()
	got, err := decode(`{"questions":[
		{"question":" Which\nstore? ","header":" St\nore ","options":[{"label":"A"},{"label":" B ","description":"b\nc"}]},
		{"question":"Which?","header":"H","multi_select":"true","default":"y","options":[{"label":"X"},{"label":"Y"}]}]}`)
	want := troupe.AskUser{Questions: []troupe.Question{
		{Header: "St ore", Text: "Which\nstore?", Default: "A",
			Options: []troupe.Option{{Label: "A"}, {Label: "B", Description: "b c"}}},
		{Header: "H", Text: "Which?", Multi: true, Default: "Y", Named: true,
			Options: []troupe.Option{{Label: "X"}, {Label: "Y"}}},
	}}
	if d := cmp.Diff(troupe.Intent(want), got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	const two = `"options":[{"label":"A"},{"label":"B"}]`
	for in, want := range map[string]string{
		`{"questions":[]}`:                           "`questions` must have at least 1 items, got 0",
		`{"questions":{}}`:                           "must be a list of objects, got an object",
		`{"questions":["why"]}`:                      "item 1 of `questions` must be an object, got a string",
		`{"questions":[{"header":"h",` + two + `}]}`: "item 1 of `questions`: `question` is required",
		`{"questions":[{"question":"q","header":"h","options":[{"label":"A"}]}]}`: "item " +
			"1 of `questions`: `options` must have at least 2 items, got 1",
		`{"questions":[{"question":"q","header":"h","options":[{"label":"A"},{"labell":"B"}]}]}`: "item " +
			"1 of `questions`: item 2 of `options`: there is no parameter `labell`; did you mean `label`?",
		`{"questions":[{"question":"q","header":"h","options":[{"label":"A"},{"label":"a"}]}]}`: "two " +
			"options have the label",
		`{"questions":[{"question":"q","header":"h","default":"C",` + two +
			`}]}`: "`default` must be the label",
		`{"questions":[{"question":"q","header":"h","question":"r",` + two +
			`}]}`: "`question` is given twice",
		`{"questions":[` + strings.Repeat(`{"question":"q","header":"h",`+two+`},`, 4) +
			`{"question":"q"}]}`: "at most 4 items, got 5",
	} {
		_, err := decode(in)
		var ie *tool.InputError
		if !errors.As(err, &ie) || !strings.Contains(ie.Problem, want) {
			t.Errorf("%s:\n got %v\nwant %s", in, err, want)
		}
	}
}

// FuzzDecode: whatever is accepted is within the bounds, with a default that is one of its options.
func FuzzDecode(f *testing.F) {
	f.Add(valid)
	f.Add(`{"questions":[{"question":"q","header":"h","default":"b","options":[{"label":"a"},{"label":"b"}]}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		got, err := decode(in)
		var ie *tool.InputError
		if err != nil {
			if !errors.As(err, &ie) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		asked, _ := got.(troupe.AskUser)
		if n := len(asked.Questions); n < 1 || n > troupe.MaxQuestions || !json.Valid([]byte(in)) {
			t.Fatalf("%d questions", n)
		}
		for _, q := range asked.Questions {
			n := len(q.Options)
			if n < troupe.MinOptions || n > troupe.MaxOptions || q.Option(q.Default) != q.Default ||
				strings.Contains(q.Header, "\n") || strings.TrimSpace(q.Text) == "" {
				t.Fatalf("accepted %+v", q)
			}
		}
	})
}
