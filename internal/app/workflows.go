package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/model/workflow"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/tool/agent"
	"github.com/troupe-dev/troupe/internal/wire"
)

const (
	// workflowFolder is where a user and a project have their workflows.
	workflowFolder = "workflows"
	// maxWorkflow is how large a workflow's file may be.
	maxWorkflow = 1 << 20
)

// workflowFile is a workflow that was found, and the text that it was read from.
type workflowFile struct {
	wire.Workflow

	text []byte
}

// Workflows lists the workflows that there are at a place, or looks at files.
func (a using) Workflows(_ context.Context, q wire.WorkflowQuery) (wire.WorkflowList, error) {
	out := wire.WorkflowList{Workflows: []wire.Workflow{}, Problems: []string{}}
	var found []workflowFile
	take := func(s front.Source, path string) {
		f, err := readWorkflow(s, path)
		if i := slices.IndexFunc(found, func(o workflowFile) bool { return o.Name == f.Name }); i >= 0 &&
			s.Scope != "" {
			f.Shadows = append([]string{found[i].Source}, found[i].Shadows...)
			found = slices.Delete(found, i, i+1) // for a broken one too: nothing weaker is run in its place
		}
		if err != nil {
			out.Problems = append(out.Problems, err.Error())
			return
		}
		found = append(found, f)
	}
	for _, path := range q.Paths {
		take(front.Source{}, path)
	}
	if len(q.Paths) == 0 {
		eachWorkflow(a.app.dirs, q.Cwd, take, func(err error) { out.Problems = append(out.Problems, err.Error()) })
	}
	if q.Name != "" {
		found = slices.DeleteFunc(found, func(f workflowFile) bool { return f.Name != q.Name })
		if len(found) == 0 {
			return out, noWorkflow(q.Name, out.Problems)
		}
	}
	slices.SortStableFunc(found, func(a, b workflowFile) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range found {
		if q.Begin {
			var err error
			if f.Prompt, err = a.beginning(f, q); err != nil {
				return out, err
			}
		}
		out.Workflows = append(out.Workflows, f.Workflow)
	}
	return out, nil
}

// beginning is the prompt of a workflow's session.
func (a using) beginning(f workflowFile, q wire.WorkflowQuery) (string, error) {
	p, err := a.app.policyOf(q.Cwd)
	if err != nil {
		return "", err
	}
	tools, err := a.app.known()
	if err != nil {
		return "", err
	}
	types, _ := profile.Load(profile.Sources{Folders: p.agentFolders(a.app.dirs, q.Cwd), Flag: q.Agents,
		Tools: tools.Callable(), Skip: p.untrustedAgents(), Mask: a.app.masker()})
	if d, err := types.Lookup(profile.Workflow); err != nil || !d.IsWorkflow() {
		return "", &troupe.UserError{Problem: "a workflow cannot be run here: the agent type " + profile.Workflow +
			" is another one, of " + d.Source, Hint: "Give that type another name.", Code: troupe.ExitUsage, Err: err}
	}
	prompt, err := workflow.Document(f.Name, f.text, q.Inputs)
	if err != nil {
		return "", &troupe.UserError{Problem: err.Error(),
			Hint: "Give inputs as --input NAME=VALUE.", Code: troupe.ExitUsage, Err: err}
	}
	return prompt, nil
}

func noWorkflow(name string, problems []string) error {
	e := &troupe.UserError{Problem: fmt.Sprintf("there is no workflow %q", name),
		Hint: "`troupe workflow list` names those that there are; a file is named with its folder, such as ./" + name +
			".yaml.", Code: troupe.ExitUsage}
	for _, p := range problems {
		file, _, _ := strings.Cut(p, ": ") // what is wrong may name other paths
		if file, _, _ = strings.Cut(filepath.Base(file), ":"); workflowName(file) == name {
			e.Problem = p
		}
	}
	return e
}

// workflowFolders are those that workflows are looked for in, the weakest first. What a project brings takes the place
// of none of the user's own: it is run with what the user gives for theirs, and nobody has trusted it.
func workflowFolders(home, own, cwd string) []front.Source {
	var out []front.Source
	for _, dir := range config.Folders(cwd) {
		for _, name := range [...]string{".claude", ".troupe"} {
			out = append(out, front.Source{Path: filepath.Join(dir, name), Root: dir, Scope: front.ScopeProject})
		}
	}
	if home != "" {
		out = append(out, front.Source{Path: filepath.Join(home, ".claude"), Scope: front.ScopeUser})
	}
	out = append(out, front.Source{Path: own, Scope: front.ScopeUser})
	for _, m := range config.ManagedFiles(runtime.GOOS) {
		out = append(out, front.Source{Path: filepath.Dir(m.Path), Scope: front.ScopeManaged})
	}
	for i := range out {
		out[i].Path = filepath.Join(out[i].Path, workflowFolder)
	}
	return out
}

// eachWorkflow hands on each file of a workflow that there is at a place, the weakest first.
func eachWorkflow(dirs config.Dirs, cwd string, take func(s front.Source, path string), failed func(error)) {
	for _, s := range workflowFolders(dirs.Home, dirs.Config, cwd) {
		paths, err := workflowsIn(s.Path)
		if err != nil {
			failed(err)
		}
		for _, path := range paths {
			take(s, path)
		}
	}
}

func workflowsIn(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("the folder of workflows cannot be read: %w", err)
	}
	for _, e := range entries {
		if workflowName(e.Name()) != "" {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

// workflowName is what the workflow of a file is called; "" if it is no file of a workflow.
func workflowName(file string) string {
	switch ext := filepath.Ext(file); ext {
	case ".yaml", ".yml":
		return strings.TrimSuffix(file, ext)
	}
	return ""
}

// workflowText reads a file. A link of a project's leads to none outside of it: that would be told in parts, as what is
// wrong with it.
func workflowText(s front.Source, path string) (text []byte, err error) {
	if s.Root == "" {
		return disk.Read(path, maxWorkflow)
	}
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	name, err := filepath.Rel(s.Root, path)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, disk.Flags, 0)
	if err != nil {
		return nil, err
	}
	text, _, err = disk.ReadFrom(f, maxWorkflow)
	return text, err
}

// readWorkflow reads a workflow. Of one that is broken it gives the name.
func readWorkflow(s front.Source, path string) (workflowFile, error) {
	base := filepath.Base(path)
	out := workflowFile{Workflow: wire.Workflow{Name: cmp.Or(workflowName(base), base)}}
	var err error
	if out.text, err = workflowText(s, path); err != nil {
		if perr, ok := errors.AsType[*fs.PathError](err); ok {
			err = perr.Err
		}
		return out, fmt.Errorf("%s: %w", path, err)
	}
	f, err := workflow.Parse(path, out.text, func(input string) error {
		_, err := agent.Decode(input)
		return err
	})
	if err != nil {
		return out, err //nolint:wrapcheck // it names the file and its line
	}
	out.Workflow = wire.Workflow{Name: out.Name, Description: f.Description, Source: path, Scope: string(s.Scope),
		Steps: make([]wire.WorkflowStep, len(f.Steps))}
	for _, in := range f.Inputs {
		out.Inputs = append(out.Inputs, wire.WorkflowInput(in))
	}
	for i, s := range f.Steps {
		out.Steps[i] = wire.WorkflowStep{Name: s.Name, Needs: append([]string{}, s.Needs...)}
	}
	return out, nil
}
