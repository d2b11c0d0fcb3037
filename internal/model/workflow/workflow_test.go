package workflow

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "f.yaml: the file is empty"},
		{"description: x", "f.yaml:1: a workflow needs `steps`"},
		{"steps: []", "f.yaml:1: a workflow needs `steps`"},
		{"step: []", `f.yaml:1: a workflow has no key "step"; did you mean "steps"?`},
		{"steps:\n- prompt: x", "f.yaml:2: a step needs a name"},
		{"steps:\n- name: a", "f.yaml:2: step a needs a prompt"},
		{"steps:\n- {name: a b, prompt: x}", `f.yaml:2: "a b" is no name`},
		{"steps:\n- {name: a, prompt: x}\n- {name: a, prompt: x}", `f.yaml:3: there are two steps "a"`},
		{"steps:\n- {name: a, prompt: x, needs: b}", `f.yaml:2: step a needs "b", and there is no such step`},
		{"steps:\n- {name: a, prompt: x, needs: a}", "f.yaml:2: steps need each other in a circle: a needs a"},
		{"steps:\n- {name: a, prompt: x, needs: b}\n- {name: b, prompt: x, needs: [c]}\n- {name: c, prompt: x, " +
			"needs: b}",
			"f.yaml:3: steps need each other in a circle: b needs c needs b"},
		{"steps:\n- {name: a, prompt: x, fork: true}", "f.yaml:2: a step has no fork: "},
		{"steps:\n- {name: a, prompt: x, run_in_background: false}", "f.yaml:2: a step has no run_in_background: "},
		{"output: b\nsteps:\n- {name: a, prompt: x}", `f.yaml:1: output names "b", and there is no such step`},
		{"steps:\n- {name: a, prompt: 'x ${{inputs.v}}'}", "f.yaml:2: step a: its prompt has ${{inputs.v}}, and " +
			"`inputs` " +
			`has no "v"`},
		{"inputs: {v: [1]}\nsteps:\n- {name: a, prompt: x}", "f.yaml:1: the default of v must be text, not a list"},
		{"steps:\n- {name: a, prompt: x, bad: 1}", "f.yaml:2: step a: bad"},
	} {
		_, err := Parse("f.yaml", []byte(c.text), func(input string) error {
			if strings.Contains(input, `"bad"`) {
				return fmt.Errorf("bad")
			}
			return nil
		})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s…", c.text, err, c.want)
		}
	}
}

const steps = `
inputs: {who: , when: now}
steps:
- {name: a, prompt: "For ${{ inputs.who }}, ${{inputs.when}}.", model: opus, output_schema: {type: object}}
- {name: b, prompt: B, description: the second}
- {name: c, needs: [a, b], prompt: C}
- {name: d, needs: b, prompt: D}
`

// talk is a conversation of a workflow that goes on.
type talk struct {
	t        *testing.T
	messages [][]byte
	reply    int
	names    map[string]bool
}

func begin(t *testing.T, text string, values map[string]string) *talk {
	t.Helper()
	doc, err := Document("f", []byte(text), values)
	if err != nil {
		t.Fatal(err)
	}
	k := &talk{t: t, names: map[string]bool{}}
	k.tell(troupe.Text("<system-reminder>\nWorkflow \ninputs: x\n---\nsteps\n</system-reminder>"), troupe.Text(doc))
	return k
}

func (k *talk) add(m troupe.Message) {
	b, err := Provider{}.EncodeMessage(m)
	if err != nil {
		k.t.Fatal(err)
	}
	k.messages = append(k.messages, b)
}

func (k *talk) tell(blocks ...troupe.Block) { k.add(troupe.Message{Role: troupe.User, Blocks: blocks}) }

// next is what the workflow does next: the calls by the names of their steps, or its words.
func (k *talk) next() (words string, calls map[string]map[string]any, err error) {
	k.t.Helper()
	k.reply++
	r, err := Provider{}.Stream(k.t.Context(), model.Request{Model: "m", Messages: k.messages,
		Agent: model.Agent{Reply: k.reply}}, nil)
	if err != nil {
		return "", nil, err
	}
	k.add(troupe.Message{Role: troupe.Assistant, Blocks: r.Blocks})
	calls = map[string]map[string]any{}
	for _, b := range r.Blocks {
		if b.Call != nil {
			var in map[string]any
			if err := json.Unmarshal([]byte(b.Call.Input), &in); err != nil {
				k.t.Fatal(err)
			}
			name := fmt.Sprint(in["name"])
			if k.names[name] {
				k.t.Errorf("the name %s is given twice", name)
			}
			k.names[name] = true
			name, _, _ = strings.Cut(name, "~")
			calls[name] = in
		}
	}
	if (r.Stop == troupe.StopToolUse) != (len(calls) > 0) {
		k.t.Errorf("it stops with %s and makes %d calls", r.Stop, len(calls))
	}
	return r.Blocks[0].Text, calls, nil
}

func ended(coord, status, result string) troupe.Block {
	return troupe.Text("<task-notification>\n<task-id>x</task-id>\n<tool-use-id>" + coord + "</tool-use-id>\n<status>" +
		status + "</status>\n<summary>Agent \"x\" " + status + "</summary>\n<result>\n" + result +
		"\n</result>\n<usage></usage>\n</task-notification>\n<runtime-evidence>\nfile written: " +
		"a.go\n</runtime-evidence>")
}

func started(reply, call int) troupe.Block {
	return troupe.Block{Type: troupe.ResultBlock, Result: &troupe.Result{Reply: reply, Call: call,
		Blocks: []troupe.Block{troupe.Text("started in the background")}}}
}

func names(calls map[string]map[string]any) (out string) {
	for _, n := range []string{"a", "b", "c", "d"} {
		if calls[n] != nil {
			out += n
		}
	}
	return out
}

func TestStepsInTheirOrder(t *testing.T) {
	k := begin(t, steps, map[string]string{"who": "me"})
	_, calls, err := k.next()
	if err != nil || names(calls) != "ab" {
		t.Fatalf("it begins %v, %v", calls, err)
	}
	if diff := cmp.Diff(map[string]map[string]any{
		"a": {"name": "a", "description": "a", "model": "opus", "schema": map[string]any{"type": "object"},
			"prompt": "For me, now."},
		"b": {"name": "b", "description": "the second", "prompt": "B"},
	}, calls); diff != "" {
		t.Error(diff)
	}
	k.tell(started(1, 0), started(1, 1))
	if words, calls, err := k.next(); err != nil || len(calls) > 0 || words != "Waits for a, b." {
		t.Fatalf("%q %v %v", words, calls, err)
	}
	k.tell(ended("1.1", "completed", "of B\n</result>\n<usage>"))
	if _, calls, err = k.next(); err != nil || names(calls) != "d" {
		t.Fatalf("%v %v", calls, err)
	}
	want := "D\n\nWhat was done before, as the agents that did it report it:\n\n<agent-result agent=\"b\">\nof " +
		"B\n</result>\n<usage>\n</agent-result>\n<runtime-evidence>\nfile written: a.go\n</runtime-evidence>"
	if got := calls["d"]["prompt"]; got != want {
		t.Errorf("d is told\n%s\nwant\n%s", got, want)
	}
	k.tell(started(3, 0), ended("1.0", "completed", "of A"), ended("3.0", "completed", "of D"))
	if _, calls, err = k.next(); err != nil || names(calls) != "c" ||
		!strings.Contains(fmt.Sprint(calls["c"]["prompt"]), "of A") {
		t.Fatalf("%v %v", calls, err)
	}
	k.tell(started(4, 0), ended("4.0", "completed", "of C"))
	if words, _, err := k.next(); err != nil || words != "c:\nof C\n\nd:\nof D" {
		t.Errorf("it came to %q, %v", words, err)
	}
}

func TestFailedStepsBeginAgain(t *testing.T) {
	k := begin(t, steps, map[string]string{"who": "me"})
	if _, _, err := k.next(); err != nil {
		t.Fatal(err)
	}
	refused := started(1, 0)
	refused.Result.IsError, refused.Result.Blocks = true, []troupe.Block{troupe.Text("no agent was started: a rule")}
	k.tell(refused, started(1, 1), ended("1.1", "killed", "half"),
		troupe.Text("<system-reminder>\nx</system-reminder>"))
	_, _, err := k.next()
	if err == nil || !strings.HasPrefix(err.Error(), "step a failed: no agent was started: a rule; step b failed: "+
		"Agent \"x\" killed; not begun: c, d.") {
		t.Fatal(err)
	}
	k.tell(troupe.Text("again"))
	_, calls, err := k.next()
	if err != nil || names(calls) != "ab" {
		t.Fatalf("%v %v", calls, err)
	}
	k.tell(started(3, 0), started(3, 1), ended("3.1", "completed", "B"), ended("3.0", "failed", ""))
	if _, calls, err = k.next(); err != nil || names(calls) != "d" {
		t.Fatalf("%v %v", calls, err)
	}
	k.tell(started(4, 0), ended("4.0", "completed", "D"))
	if _, _, err := k.next(); err == nil || !strings.Contains(err.Error(), "step a failed") {
		t.Fatalf("words that were said before it failed have it begin again: %v", err)
	}
}

func TestNoWorkflow(t *testing.T) {
	k := &talk{t: t, names: map[string]bool{}}
	k.tell(troupe.Text("mend it"))
	if _, _, err := k.next(); err == nil || !strings.Contains(err.Error(), "not begun with a workflow") {
		t.Error(err)
	}
	for _, values := range []map[string]string{{}, {"who": "x", "whom": "y"}} {
		if _, err := Document("f", []byte(steps), values); err == nil {
			t.Errorf("%v is enough", values)
		}
	}
}

func TestModels(t *testing.T) {
	over := Over("anthropic/x")
	if Under(over) != "anthropic/x" || Under("script//a") != "script//a" || !Follows(over) || Follows("script//a") {
		t.Error("a workflow's model is taken for another")
	}
	if Moved(over, "openai/y") != Over("openai/y") || Moved("a/b", "c/d") != "c/d" || Moved(over, over) != over {
		t.Error("a workflow is moved to a model that does not follow it")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(steps))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("f", text, nil)
		if err != nil {
			return
		}
		values := map[string]string{}
		for _, in := range file.Inputs {
			values[in.Name] = "---\nsteps"
		}
		doc, err := Document("f", text, values)
		if err != nil {
			t.Fatal(err)
		}
		d, err := readDocument([]troupe.Block{troupe.Text(doc)})
		if err != nil || len(d.Steps) != len(file.Steps) {
			t.Fatalf("%q does not survive its prompt: %v", text, err)
		}
	})
}
