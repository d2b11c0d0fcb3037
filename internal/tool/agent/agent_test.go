package agent_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/agent"
	"github.com/troupe-dev/troupe/internal/tool/tooltest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	tooltest.Spec(t, agent.Tools()[0].Spec())
	tooltest.Inputs(t, agent.Tools()[0].Spec(),
		`{"description":"Find auth","prompt":"Look.","subagent_type":"Explore","model":"haiku","effort":"low","name":"Auth Explorer","max_turns":5,"run_in_background":true,"tools":["Read"],"disallowed_tools":["Bash"],"system_prompt":"You look."}`, func(in string) error {
			_, err := agent.Decode(in)
			return err
		})
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]troupe.Spawn{
		`{"description":"Find auth","prompt":"Look."}`:                                                              {Description: "Find auth", Prompt: "Look."},
		`{"description":" Find auth ","prompt":" Look.\n","type":"Explore"}`:                                        {Description: "Find auth", Prompt: " Look.\n", Type: "Explore"},
		`{"description":"d","prompt":"p","subagent_type":"Plan","model":"opus","name":"N","max_turns":"7"}`:         {Description: "d", Prompt: "p", Type: "Plan", Model: "opus", Name: "N", MaxTurns: 7},
		`{"description":"d","prompt":"p","run_in_background":"True"}`:                                               {Description: "d", Prompt: "p", Background: true},
		`{"description":"d","prompt":"p","tools":["Read"],"disallowed_tools":["Bash"],"system_prompt":"You look."}`: {Description: "d", Prompt: "p", Tools: []string{"Read"}, Without: []string{"Bash"}, Role: "You look."},
		`{"description":"d","prompt":"p","effort":"XHigh"}`:                                                         {Description: "d", Prompt: "p", Effort: troupe.EffortXHigh},
		`{"description":"d","prompt":"p","run_in_background":false}`:                                                {Description: "d", Prompt: "p"},
		`{"description":"d","prompt":"p","fork":true}`:                                                              {Description: "d", Prompt: "p", Fork: true},
		`{"description":"d","prompt":"p","subagent_type":"Fork","wait":true,"max_turns":7}`:                         {Description: "d", Prompt: "p", Fork: true, Wait: true, MaxTurns: 7},
		`{"description":"d","prompt":"p","subagent_type":"","model":null,"max_turns":0}`:                            {Description: "d", Prompt: "p"},
	} {
		if got, err := agent.Decode(in); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v %v\nwant %+v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		`{"description":"d","prompt":"p","type":"a","subagent_type":"b"}`:  "given twice",
		`{"description":"d","prompt":" "}`:                                 "`prompt` must not be empty",
		`{"description":"d","prompt":"p","tools":[]}`:                      "names none",
		`{"description":"d","prompt":"p","name":"a/b"}`:                    "without a slash",
		`{"description":"d","prompt":"p","name":"a\nb"}`:                   "one line",
		`{"description":"d","prompt":"p","agent_type":"x"}`:                "did you mean `subagent_type`?",
		`{"description":"d","prompt":"p","max_turns":-1}`:                  "at least 0",
		`{"description":"d","prompt":"p","effort":"some"}`:                 "low, medium, high, xhigh, max",
		`{"description":"d","prompt":"p","run_in_background":"later"}`:     "true or false",
		`{"description":"d","prompt":"p","fork":true,"model":"opus"}`:      "`model` cannot be given for a fork",
		`{"description":"d","prompt":"p","fork":true,"type":"Explore"}`:    "`subagent_type` cannot",
		`{"description":"d","prompt":"p","fork":true,"effort":"low"}`:      "`effort` cannot",
		`{"description":"d","prompt":"p","fork":true,"tools":["Read"]}`:    "`tools` cannot",
		`{"description":"d","prompt":"p","fork":true,"system_prompt":"x"}`: "`system_prompt` cannot",
		`{"description":"d","prompt":"p","background":true}`:               "there is no parameter `background`",
	} {
		_, err := agent.Decode(in)
		var ie *tool.InputError
		if !errors.As(err, &ie) || !strings.Contains(ie.Problem, want) {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"description":"d","prompt":"p","type":"x","max_turns":"3"}`)
	f.Fuzz(func(t *testing.T, in string) {
		got, err := agent.Decode(in)
		var ie *tool.InputError
		switch {
		case err != nil && !errors.As(err, &ie):
			t.Fatalf("%T %v", err, err)
		case err == nil && (got.Description == "" || got.Prompt == "" || got.MaxTurns < 0):
			t.Fatalf("accepted as %+v", got)
		}
	})
}

// TestPlace: the two words for where an agent works mean one thing, or contradict each other.
func TestPlace(t *testing.T) {
	t.Parallel()
	for words, want := range map[[2]string]troupe.WorkspaceKind{
		{"worktree", ""}: troupe.WorkspaceTree, {"copy", ""}: troupe.WorkspaceCopy,
		{"none", ""}:      troupe.WorkspaceShared,
		{"", "shared_ro"}: troupe.WorkspaceReadOnly, {"", "isolated"}: troupe.WorkspaceIsolated,
		{"", "empty"}: troupe.WorkspaceEmpty, {"", "shared_rw"}: troupe.WorkspaceShared,
		{"worktree", "isolated"}: troupe.WorkspaceTree, {"none", "shared_rw"}: troupe.WorkspaceShared, {"", ""}: "",
		{"none", "isolated"}: "contradict", {"none", "shared_ro"}: "contradict", {"worktree", "empty"}: "contradict",
		{"copy", "shared_rw"}: "contradict", {"remote", ""}: "remote", {"", "mine"}: "must be",
	} {
		got, err := agent.Decode(`{"description":"d","prompt":"p","isolation":"` + words[0] + `","filesystem":"` +
			words[1] + `"}`)
		if err != nil && (want == "" || !strings.Contains(err.Error(), string(want))) ||
			err == nil && got.Workspace != want {
			t.Errorf("%q: %q %v", words, got.Workspace, err)
		}
	}
}
