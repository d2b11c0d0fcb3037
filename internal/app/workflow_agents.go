package app

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/model/workflow"
	"github.com/troupe-dev/troupe/internal/profile"
)

// What is kept of workflows for agents: so many, and so many bytes of their texts together. `troupe workflow run` knows
// of more.
const (
	mostWorkflows = 50
	workflowBytes = 1 << 20
	maxTold       = 200 // bytes of what one is for
)

// keptWorkflow is a workflow that agents of a tree may start, as it was when the run began.
type keptWorkflow struct {
	Name string `json:"name"`
	Says string `json:"says"` // its inputs and what it is for, on a line
	Text string `json:"text"`
}

// keptWorkflows are those that hold in a folder, by name. What is wrong with others `troupe workflow list` says.
func keptWorkflows(dirs config.Dirs, cwd string) []keptWorkflow {
	byName := make(map[string]workflowFile)
	eachWorkflow(dirs, cwd, func(s front.Source, path string) {
		f, err := readWorkflow(s, path)
		if byName[f.Name] = f; err != nil { // nothing weaker takes its place
			delete(byName, f.Name)
		}
	}, func(error) {})
	var out []keptWorkflow
	size := 0
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		f := byName[name]
		if len(out) < mostWorkflows && size+len(f.text) <= workflowBytes {
			size += len(f.text)
			out = append(out, keptWorkflow{Name: f.Name, Says: saysOf(f), Text: string(f.text)})
		}
	}
	return out
}

func saysOf(f workflowFile) string {
	var inputs []string
	for _, in := range f.Inputs {
		text := in.Name
		if in.Default != nil {
			text += "=" + *in.Default
		}
		inputs = append(inputs, text)
	}
	says := cmp.Or(f.Description, "-")
	if len(inputs) > 0 {
		says = "(" + strings.Join(inputs, ", ") + ") " + says
	}
	says = strings.Join(strings.Fields(says), " ")
	if len(says) > maxTold {
		says = strings.ToValidUTF8(says[:maxTold], "") + "…"
	}
	return troupe.Escape(says)
}

// workflows tells agents that may start workflows which there are; "" if there are none.
func (p *profiles) workflows(allowed func(kind string) bool) string {
	if len(p.Workflows) == 0 || allowed != nil && !allowed(profile.Workflow) {
		return ""
	}
	if d, err := p.kinds().Lookup(profile.Workflow); err != nil || !d.IsWorkflow() {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n- workflow: Running a file of steps, each of which is an agent. prompt is the name of one, and " +
		"below it " +
		"its inputs, a line `name: value` each:\n")
	for _, w := range p.Workflows {
		fmt.Fprintf(&b, "  - %s: %s\n", w.Name, w.Says)
	}
	return strings.TrimRight(b.String(), "\n")
}

// follows makes a profile that of the workflow which a call names.
func (p *profiles) follows(out *troupe.Profile, sp troupe.Spawn, ofWorkflow bool) error {
	switch {
	case ofWorkflow:
		return errors.New("a step of a workflow cannot be a workflow: put its steps into this one")
	case sp.Schema != "" || sp.Tools != nil || sp.Without != nil || sp.Role != "" || sp.Team != "" || sp.Fork:
		return errors.New("`schema`, `tools`, `disallowed_tools`, `system_prompt`, `team_name` and `fork` are not " +
			"for a " +
			"workflow: its file says what its steps have")
	}
	name, values, err := workflow.Asked(sp.Prompt)
	if err != nil {
		return err //nolint:wrapcheck // it says what the prompt of such a call has to be
	}
	i := slices.IndexFunc(p.Workflows, func(w keptWorkflow) bool { return w.Name == name })
	if i < 0 {
		var names []string
		for _, w := range p.Workflows {
			names = append(names, w.Name)
		}
		return fmt.Errorf("there is no workflow %q; there are: %s", name, cmp.Or(strings.Join(names, ", "), "none"))
	}
	if out.InitialPrompt, err = workflow.Document(name, []byte(p.Workflows[i].Text), values); err != nil {
		return err //nolint:wrapcheck // it names the workflow
	}
	out.Model, out.Workflow = workflow.Over(out.Model), true
	out.Limits.MaxTurns = sp.MaxTurns // its replies are a list's, one for each step that ends
	return nil
}
