package app

import (
	"os"
	"slices"
	"sort"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/agent"
	"github.com/troupe-dev/troupe/internal/tool/files"
	"github.com/troupe-dev/troupe/internal/tool/notebook"
	"github.com/troupe-dev/troupe/internal/tool/search"
	"github.com/troupe-dev/troupe/internal/tool/shell"
	"github.com/troupe-dev/troupe/internal/tool/task"
	"github.com/troupe-dev/troupe/internal/tool/web"
	"github.com/troupe-dev/troupe/internal/turn"
)

// toolbox is every tool of this process, as the engine sees them.
type toolbox struct {
	runners map[string]tool.Runner
	specs   map[string]troupe.Tool
	agent   string
	shell   *shell.Shell
}

func (a *App) newToolbox(g *guard) (*toolbox, error) {
	t := &toolbox{runners: make(map[string]tool.Runner), specs: make(map[string]troupe.Tool), shell: shell.New(shell.Options{Confine: g.confine})}
	o := web.Options{UserAgent: "troupe/" + a.env.Version, Local: a.settings.LocalHosts}
	if s := a.settings.Search; s.URL != "" {
		o.Search.URL, o.Search.Header = s.URL, s.Header
		if s.KeyEnv != "" {
			o.Search.Key, _ = a.env.Lookup(s.KeyEnv)
		}
	}
	fetching, err := web.New(o)
	if err != nil {
		return nil, err
	}
	locks := tool.NewLocks()
	for _, r := range slices.Concat(
		files.New(files.Options{Locks: locks}), notebook.New(notebook.Options{Locks: locks}), search.New(search.Options{}),
		[]tool.Runner{t.shell}, fetching,
	) {
		spec := r.Spec()
		t.runners[spec.Name] = r
		t.specs[spec.Name] = spec
	}
	spec := agent.Spec()
	t.agent = spec.Name
	for _, spec := range append(task.Specs(), spec) {
		t.specs[spec.Name] = spec
	}
	return t, nil
}

// confine lets the shell start commands in the sandbox.
func (g *guard) confine(c troupe.Confinement, bin string, argv []string, attr *os.ProcAttr) (shell.Confined, error) {
	return g.box.Start(c, bin, argv, attr)
}

// close ends what the shell holds on to. Commands have ended with their contexts.
func (t *toolbox) close() error { return t.shell.Close() }

// names lists all tools, sorted.
func (t *toolbox) names() []string {
	out := make([]string, 0, len(t.specs))
	for name := range t.specs {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// offer lists the tools that a child may be offered. Those that steer other sessions are for
// children that can have some of their own. The Agent tool stays where it cannot be used, so
// that whoever tries is told why.
func (t *toolbox) offer(parents bool) []string {
	if parents {
		return t.names()
	}
	return slices.DeleteFunc(t.names(), func(name string) bool {
		return slices.Contains(task.Names(), name)
	})
}

// Specs implements session.Tools. A name that no tool has any more is left out.
func (t *toolbox) Specs(names []string) []troupe.Tool {
	out := make([]troupe.Tool, 0, len(names))
	for _, name := range names {
		if spec, ok := t.specs[name]; ok {
			out = append(out, spec)
		}
	}
	return out
}

// Runner implements session.Tools.
func (t *toolbox) Runner(name string) (tool.Runner, bool) {
	r, ok := t.runners[name]
	return r, ok
}

// Schedule implements session.Tools. Reading tools go side by side and births do; what has
// effects, or is not known, goes alone.
func (t *toolbox) Schedule(name string) turn.Schedule {
	switch name {
	case t.agent:
		return turn.Birth
	case "Read", "Glob", "Grep", "WebFetch", "WebSearch", task.Output:
		return turn.Parallel
	default:
		return turn.Alone
	}
}

// Intent implements session.Tools. A type of agent that was left out is named, so that rules
// about it hold.
func (t *toolbox) Intent(name, input string) (troupe.Intent, bool, error) {
	switch {
	case name == t.agent:
		sp, err := agent.Decode(input)
		if sp.Type == "" {
			sp.Type = profile.General
		}
		return sp, true, err
	case slices.Contains(task.Names(), name):
		in, err := task.Decode(name, input)
		return in, true, err
	}
	return nil, false, nil
}
