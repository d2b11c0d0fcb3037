package app

import (
	"os"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/all"
	"github.com/troupe-dev/troupe/internal/tool/shell"
	"github.com/troupe-dev/troupe/internal/tool/skill"
	"github.com/troupe-dev/troupe/internal/tool/web"
	toolworktree "github.com/troupe-dev/troupe/internal/tool/worktree"
)

// toolbox is every tool of this process, and what the gate knows of them.
type toolbox struct {
	tool.Set
	gate *gate.Tools
}

// newToolbox makes them. Worktrees are merged by m.
func (a *App) newToolbox(g *guard, m toolworktree.Merger) (*toolbox, error) {
	o := all.Options{
		Skill: skill.Options{Use: skills{a, g}.use}, Merger: m,
		Shell: shell.Options{Confine: g.confine},
		Web:   web.Options{UserAgent: "troupe/" + a.env.Version, Local: a.settings.LocalHosts},
	}
	if s := a.settings.Search; s.URL != "" {
		o.Web.Search.URL, o.Web.Search.Header = s.URL, s.Header
		if s.KeyEnv != "" {
			o.Web.Search.Key, _ = a.env.Lookup(s.KeyEnv)
		}
	}
	tools, err := a.tools(o)
	if err != nil {
		return nil, err
	}
	set := tool.NewSet(tools...)
	return &toolbox{set, gate.NewTools(set.Facts())}, nil
}

// confine lets the shell start commands in the sandbox.
func (g *guard) confine(c troupe.Confinement, bin string, argv []string, attr *os.ProcAttr) (shell.Confined, error) {
	return g.box.Start(c, bin, argv, attr)
}

// offer lists the tools that a child may be offered. Those that steer other sessions are for
// children that can have some of their own. The Agent tool stays where it cannot be used, so
// that whoever tries is told why.
func (t *toolbox) offer(parents, member bool) []troupe.ToolFacts {
	return slices.DeleteFunc(slices.Clone(t.Callable()), func(f troupe.ToolFacts) bool {
		return f.Holder == troupe.Parents && !parents || f.Holder == troupe.Correspondents && !parents && !member
	})
}

// known is all tools, to look at, whatever the settings are.
func (a *App) known() (tool.Set, error) {
	tools, err := a.tools(all.Options{})
	return tool.NewSet(tools...), err
}
