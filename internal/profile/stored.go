package profile

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// CheckStored reads a definition that is to be stored, as it will be read where it counts. source names it.
func CheckStored(source, name string, text []byte, tools []troupe.ToolFacts) Checked {
	return checkFile(loader{tools: tools, scope: ScopeStored}, source, name+".md", text, nil)
}

func isBuiltIn(name string) bool {
	return slices.ContainsFunc(builtins(), func(d Definition) bool { return front.Fold(d.Name) == front.Fold(name) })
}

// noMoreThan has a project's definition give no more than the stored one whose name it has. Nobody was asked whether
// it may take that place, and agents are started by this name for what the stored one leaves them.
func (l *loader) noMoreThan(key string, d *Definition) {
	stored, there := l.stored[key]
	switch {
	case l.scope == ScopeStored:
		if l.stored == nil {
			l.stored = make(map[string]Definition)
		}
		l.stored[key] = *d
		return
	case l.scope == ScopeUser:
		delete(l.stored, key) // from here on a project needs the user's word
		return
	case !there || l.scope != ScopeProject:
		return
	}
	if !stored.All {
		if d.All {
			d.All, d.Tools = false, stored.Tools
		}
		d.Tools = slices.DeleteFunc(slices.Clone(d.Tools), func(tool string) bool {
			return !slices.Contains(stored.Tools, tool) && !namesServer(stored.Tools, tool)
		})
	}
	switch {
	case stored.Servers.None:
		d.Servers.None = true
	case stored.Servers.Only != nil:
		d.Servers.None = d.Servers.None || d.Servers.Only != nil && !same(d.Servers.Only, stored.Servers.Only)
		d.Servers.Only = stored.Servers.Only
	}
	if stored.Starts != nil {
		if d.Starts == nil {
			d.Starts = stored.Starts
		}
		d.Starts = slices.DeleteFunc(slices.Clone(d.Starts), func(kind string) bool {
			return !slices.ContainsFunc(stored.Starts, func(s string) bool { return strings.EqualFold(s, kind) })
		})
	}
	d.Reads = d.Reads || stored.Reads
	if d.Sandbox == "" || stored.Sandbox == troupe.LevelReadOnly {
		d.Sandbox = stored.Sandbox
	}
	for _, tool := range l.tools {
		if d.has(tool) && !stored.has(tool) {
			d.Without = append(d.Without, tool.Name)
		}
	}
	d.Without = sorted(append(slices.Clip(d.Without), stored.Without...))
	d.MaxTurns, d.MaxTokens = lower(d.MaxTurns, stored.MaxTurns), lower(d.MaxTokens, stored.MaxTokens)
}

// lower is the lower of two limits, of which 0 is none.
func lower[N int | int64](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
