package workflow

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/model/internal/yamlfile"
)

const (
	// maxSteps bounds a workflow: beyond it, a list of agents is a program.
	maxSteps = 500
	// maxName is what the runtime takes as an agent's name.
	maxName = 64
)

// File is a workflow that has been read.
type File struct {
	Description string
	Inputs      []Input
	Steps       []Step
	// Output is the step whose result is the workflow's; "": those of all steps that no other needs.
	Output string
}

// Input is a value that a run is given. Without a Default, every run must have it.
type Input struct {
	Name    string
	Default *string
}

// Step is one agent of a workflow.
type Step struct {
	Name  string
	Needs []string
	Line  int
	// prompt is as it stands in the file, params the other parameters of its call of Agent, as they stand in JSON.
	prompt string
	params []param
}

type param struct {
	name  string
	value json.RawMessage
}

// given are the parameters of a call of Agent that a workflow gives itself.
func given() map[string]string {
	return map[string]string{
		"run_in_background": "the steps of a workflow are always in the background",
		"wait":              "a step waits for those that it needs",
		"fork":              "a workflow has no conversation that a step could go on from",
		"team_name":         "a workflow has no team; its steps are handed the results of those that they need",
	}
}

// Parse reads the text of a workflow. Path is for messages; each error says its line. check, if not nil, says what is
// wrong with the input of a call of Agent.
func Parse(path string, text []byte, check func(input string) error) (File, error) {
	var f File
	root, err := yamlfile.Parse(path, text)
	if err != nil {
		return f, err
	}
	var steps, output yamlfile.Node
	err = root.Fields("a workflow", map[string]func(yamlfile.Node) error{
		"description": func(n yamlfile.Node) (err error) {
			f.Description, err = n.String("description")
			return err
		},
		"inputs": func(n yamlfile.Node) error { return n.Members("inputs", f.addInput) },
		"steps": func(n yamlfile.Node) error {
			steps = n
			return n.Elements("steps", func(_ int, v yamlfile.Node) error { return f.addStep(v) })
		},
		"output": func(n yamlfile.Node) (err error) {
			output = n
			f.Output, err = n.String("output")
			return err
		},
	})
	if err != nil {
		return f, err
	}
	if len(f.Steps) == 0 {
		return f, root.Errorf("a workflow needs `steps`: a list of agents, each with a name and a prompt")
	}
	if f.Output != "" && f.step(f.Output) == nil {
		return f, output.Errorf("output names %q, and there is no such step", f.Output)
	}
	if err := f.ordered(path); err != nil {
		return f, err
	}
	i := 0
	return f, steps.Elements("steps", func(_ int, n yamlfile.Node) error {
		s := f.Steps[i]
		i++
		if _, err := f.fill(s.prompt, nil); err != nil {
			return n.Errorf("step %s: %w", s.Name, err)
		}
		if check == nil {
			return nil
		}
		if err := check(s.call(s.Name, s.prompt)); err != nil {
			return n.Errorf("step %s: %w", s.Name, err)
		}
		return nil
	})
}

var (
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	inputForm = regexp.MustCompile(`\$\{\{\s*inputs\.([^\s}]*)\s*\}\}`)
)

func checkName(n yamlfile.Node, name string) error {
	if !nameForm.MatchString(name) || len(name) > maxName {
		return n.Errorf("%q is no name: it is made of at most %d letters, digits, '-', '_' and '.', the first a "+
			"letter "+
			"or a digit", name, maxName)
	}
	return nil
}

func (f *File) addInput(name string, n yamlfile.Node) error {
	if err := checkName(n, name); err != nil {
		return err
	}
	in := Input{Name: name}
	if !n.IsNull() {
		value, err := n.String("the default of " + name)
		if err != nil {
			return err
		}
		in.Default = &value
	}
	f.Inputs = append(f.Inputs, in)
	return nil
}

func (f *File) addStep(n yamlfile.Node) error {
	s := Step{Line: n.Line()}
	if len(f.Steps) == maxSteps {
		return n.Errorf("a workflow has at most %d steps", maxSteps)
	}
	err := n.Members("a step", func(key string, v yamlfile.Node) (err error) {
		switch key {
		case "name":
			if s.Name, err = v.String("name"); err == nil {
				err = checkName(v, s.Name)
			}
			return err
		case "needs":
			s.Needs, err = v.Strings("needs")
			return err
		case "prompt":
			s.prompt, err = v.String("prompt")
			return err
		}
		if why, is := given()[key]; is {
			return v.Errorf("a step has no %s: %s", key, why)
		}
		value, err := v.AppendJSON(nil)
		if key == "output_schema" {
			key = "schema"
		}
		s.params = append(s.params, param{key, value})
		return err
	})
	switch {
	case err != nil:
		return err
	case s.Name == "":
		return n.Errorf("a step needs a name, by which others need it")
	case strings.TrimSpace(s.prompt) == "":
		return n.Errorf("step %s needs a prompt: all that its agent is told", s.Name)
	case f.step(s.Name) != nil:
		return n.Errorf("there are two steps %q", s.Name)
	}
	f.Steps = append(f.Steps, s)
	return nil
}

func (f *File) step(name string) *Step {
	i := slices.IndexFunc(f.Steps, func(s Step) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Steps[i]
}

// ordered reports a step that needs one that there is not, or itself by way of others.
func (f *File) ordered(path string) error {
	const (
		entered = iota + 1
		left
	)
	state := map[string]int{}
	var way []string
	var visit func(s *Step) error
	visit = func(s *Step) error {
		if state[s.Name] == left {
			return nil
		}
		way = append(way, s.Name)
		if state[s.Name] == entered {
			circle := way[slices.Index(way, s.Name) : len(way)-1]
			return fmt.Errorf("%s:%d: steps need each other in a circle: %s", path, s.Line,
				strings.Join(append(circle, s.Name), " needs "))
		}
		state[s.Name] = entered
		for _, name := range s.Needs {
			next := f.step(name)
			if next == nil {
				return fmt.Errorf("%s:%d: step %s needs %q, and there is no such step", path, s.Line, s.Name, name)
			}
			if err := visit(next); err != nil {
				return err
			}
		}
		state[s.Name] = left
		way = way[:len(way)-1]
		return nil
	}
	for i := range f.Steps {
		if err := visit(&f.Steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// fill puts the values of inputs into a prompt; nil leaves them as they are and only looks whether there are such.
func (f *File) fill(prompt string, values map[string]string) (string, error) {
	var err error
	out := inputForm.ReplaceAllStringFunc(prompt, func(match string) string {
		name := inputForm.FindStringSubmatch(match)[1]
		if !slices.ContainsFunc(f.Inputs, func(in Input) bool { return in.Name == name }) && err == nil {
			err = fmt.Errorf("its prompt has %s, and `inputs` has no %q", match, name)
		}
		if values == nil {
			return match
		}
		return values[name]
	})
	return out, err
}

// values are what a run is given, with the defaults for what it is not.
func (f *File) values(from map[string]string) (map[string]string, error) {
	out := map[string]string{}
	var missing []string
	for _, in := range f.Inputs {
		v, ok := from[in.Name]
		switch {
		case ok:
			out[in.Name] = v
		case in.Default != nil:
			out[in.Name] = *in.Default
		default:
			missing = append(missing, in.Name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("it needs a value for %s", strings.Join(missing, ", "))
	}
	for name := range from {
		if _, ok := out[name]; !ok {
			return nil, fmt.Errorf("it has no input %q; its inputs are: %s", name, f.inputNames())
		}
	}
	return out, nil
}

func (f *File) inputNames() string {
	if len(f.Inputs) == 0 {
		return "none"
	}
	names := make([]string, len(f.Inputs))
	for i, in := range f.Inputs {
		names[i] = in.Name
	}
	return strings.Join(names, ", ")
}

// call is the input of the step's call of Agent.
func (s Step) call(agent, prompt string) string {
	out := []byte("{")
	add := func(name string, value json.RawMessage) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted(name)...), ':'), value...)
	}
	add("name", quoted(agent))
	if !slices.ContainsFunc(s.params, func(p param) bool { return p.name == "description" }) {
		add("description", quoted(s.Name))
	}
	for _, p := range s.params {
		add(p.name, p.value)
	}
	add("prompt", quoted(prompt))
	return string(append(out, '}'))
}

func quoted(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a text always is JSON
	}
	return b
}

// outputs are the steps whose results are the workflow's.
func (f *File) outputs() []string {
	if f.Output != "" {
		return []string{f.Output}
	}
	needed := map[string]bool{}
	for _, s := range f.Steps {
		for _, n := range s.Needs {
			needed[n] = true
		}
	}
	var out []string
	for _, s := range f.Steps {
		if !needed[s.Name] {
			out = append(out, s.Name)
		}
	}
	return out
}
