package subagent_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/subagent"
	"github.com/troupe-dev/troupe/internal/tool/tooltest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	valid := map[string]string{
		"spawn_subagent": `{"name":"Test Runner","task":"Run the tests.","mode":"background","config":{"system_prompt":` +
			`"You run tests.","template":"runner","allowed_tools":["Bash"],"disallowed_tools":["Edit"],` +
			`"allowed_capabilities":["exec"],"model":"haiku","max_turns":5,"filesystem_mode":"shared_ro"}}`,
		"get_subagents":    `{"name_or_id":"Test Runner","status_filter":"running"}`,
		"message_subagent": `{"name_or_id":"Test Runner","message":"Only auth.","cancel":true}`,
	}
	var names []string
	total := 0
	for _, d := range subagent.Tools() {
		spec := d.Spec()
		names = append(names, spec.Name)
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
	if !slices.Equal(names, []string{"spawn_subagent", "get_subagents", "message_subagent"}) || total > 3000 {
		t.Errorf("%v take %d bytes", names, total)
	}
}

// decode reads the input of a call.
func decode(t *testing.T, name, input string) (troupe.Intent, error) {
	t.Helper()
	for _, d := range subagent.Tools() {
		if d.Name == name {
			return d.Intent(input)
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil, nil
}

// usual is a birth with what calls leave open.
func usual(change func(*troupe.Spawn)) troupe.Spawn {
	out := troupe.Spawn{Name: "N", Description: "look", Prompt: "look", Type: troupe.GeneralAgent,
		Subagent: troupe.SubagentSpawn{UsualTurns: 20}}
	change(&out)
	return out
}

func TestDecode(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 200)
	for _, c := range []struct {
		name, in string
		want     troupe.Intent
	}{
		{"spawn_subagent", `{"name":" N ","task":"look"}`, usual(func(*troupe.Spawn) {})},
		{"spawn_subagent", `{"name":"N","task":"look","mode":"foreground","config":{}}`, usual(func(*troupe.Spawn) {})},
		{"spawn_subagent", `{"name":"N","task":"look","mode":null,"config":null}`, usual(func(*troupe.Spawn) {})},
		{"spawn_subagent", `{"name":"N","task":" a\n b\n"}`, usual(func(s *troupe.Spawn) {
			s.Description, s.Prompt = "a b", " a\n b\n"
		})},
		{"spawn_subagent", `{"name":"N","task":"` + long + `"}`, usual(func(s *troupe.Spawn) {
			s.Description, s.Prompt = strings.Repeat("ä", 100)+"…", long
		})},
		{"spawn_subagent",
			`{"name":"N","task":"look","mode":"background","config":{"agent_id":" Explore ","model":"haiku"}}`,
			usual(func(s *troupe.Spawn) { s.Background, s.Type, s.Model = true, "Explore", "haiku" })},
		{"spawn_subagent",
			`{"name":"N","task":"look","config":{"template":"runner","max_turns":3,"filesystem_mode":"isolated"}}`,
			usual(func(s *troupe.Spawn) { s.Type, s.MaxTurns, s.Workspace = "runner", 3, troupe.WorkspaceIsolated })},
		{"spawn_subagent", `{"name":"N","task":"look","config":{"system_prompt":"You look.","allowed_tools":["Read"],` +
			`"disallowed_tools":["Bash"],"allowed_capabilities":["read"]}}`,
			usual(func(s *troupe.Spawn) {
				s.Role, s.Tools, s.Without, s.Subagent.Capabilities = "You look.", []string{"Read"}, []string{"Bash"},
					[]string{"read"}
			})},
		{"get_subagents", ``, troupe.TaskQuery{}},
		{"get_subagents", `{"status_filter":"failed"}`, troupe.TaskQuery{Only: troupe.SubagentsFailed}},
		{"get_subagents", `{"name_or_id":" Bob "}`, troupe.TaskQuery{Task: "Bob"}},
		{"message_subagent", `{"name_or_id":" Bob","message":" Go on.\n"}`,
			troupe.SendMessage{To: "Bob", Text: " Go on.\n"}},
		{"message_subagent", `{"name_or_id":"Bob","message":"x","cancel":"true"}`,
			troupe.SendMessage{To: "Bob", Text: "x", Cancel: true}},
	} {
		if got, err := decode(t, c.name, c.in); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s:\n got %+v %v\nwant %+v", c.name, c.in, got, err, c.want)
		}
	}
	for _, c := range []struct{ name, in, want string }{
		{"spawn_subagent", `{"task":"look"}`, "`name` is required"},
		{"spawn_subagent", `{"name":"N"}`, "`task` is required"},
		{"spawn_subagent", `{"name":" ","task":"look"}`, "`name` must not be empty"},
		{"spawn_subagent", `{"name":"N","task":"look","mode":"later"}`, "must be one of foreground, background"},
		{"spawn_subagent", `{"name":"N","task":"look","config":[]}`, "`config` must be an object, got an array"},
		{"spawn_subagent", `{"name":"N","task":"look","config":{"modal":"x"}}`,
			"`config`: there is no parameter `modal`; did you mean `model`?"},
		{"spawn_subagent", `{"name":"N","task":"look","model":"x"}`, "there is no parameter `model`"},
		{"spawn_subagent", `{"name":"N","task":"look","config":{"max_turns":0}}`,
			"`config`: `max_turns` must be at least 1"},
		{"spawn_subagent", `{"name":"N","task":"look","config":{"filesystem_mode":"empty"}}`,
			"must be one of shared_rw, shared_ro, isolated"},
		{"spawn_subagent", `{"name":"N","task":"look","config":{"agent_id":"a","template":"b"}}`, "give one of them"},
		{"spawn_subagent", `{"name":"N","task":"look","config":{"template":"Fork"}}`, "there are no forks here"},
		{"spawn_subagent", `{"name":"N","task":"look","config":{"allowed_tools":[]}}`, "allows nothing"},
		{"spawn_subagent", `{"name":"N","task":"look","config":{"allowed_capabilities":[]}}`, "allows nothing"},
		{"get_subagents", `{"status_filter":"cancelled"}`, "must be one of all, running, completed, failed"},
		{"get_subagents", `{"task_id":"x"}`, "there is no parameter"},
		{"message_subagent", `{"name_or_id":"Bob","message":" "}`, "`message` must not be empty"},
		{"message_subagent", `{"name_or_id":"*","message":"x"}`, "a subagent of yours"},
		{"message_subagent", `{"name_or_id":"Parent","message":"x"}`, "a subagent of yours"},
	} {
		got, err := decode(t, c.name, c.in)
		var ie *tool.InputError
		if !errors.As(err, &ie) || ie.Tool != c.name || !strings.Contains(ie.Problem, c.want) {
			t.Errorf("%s %s: got %v %v, want %s", c.name, c.in, got, err, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("spawn_subagent", `{"name":"N","task":"look","config":{"max_turns":"3","allowed_tools":["Read"]}}`)
	f.Add("get_subagents", `{"name_or_id":"N","status_filter":"all"}`)
	f.Add("message_subagent", `{"name_or_id":"N","message":"x","cancel":"TRUE"}`)
	tools := tool.NewSet(subagent.Tools()...)
	f.Fuzz(func(t *testing.T, name, in string) {
		d, ok := tools.Find(name)
		if !ok {
			return
		}
		got, err := d.Intent(in)
		var ie *tool.InputError
		if err != nil && (!errors.As(err, &ie) || ie.Tool != name) {
			t.Fatalf("%T %v", err, err)
		}
		if err != nil {
			return
		}
		switch v := got.(type) {
		case troupe.Spawn:
			ok = name == "spawn_subagent" && v.Name != "" && strings.TrimSpace(v.Prompt) != "" && v.Type != "" &&
				!v.Fork && !v.Settled(true).Fork && v.MaxTurns >= 0 && v.Subagent.UsualTurns == 20 &&
				!strings.Contains(v.Description, "\n") && len(v.Description) <= 203
		case troupe.TaskQuery:
			ok = name == "get_subagents" && !v.Block
		case troupe.SendMessage:
			ok = name == "message_subagent" && v.To != "" && v.To != troupe.EveryoneName && v.Type == ""
		}
		if !ok {
			t.Fatalf("accepted as %+v", got)
		}
	})
}
