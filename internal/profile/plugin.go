package profile

import (
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// full is the name that a definition has for all: behind its plugin's name, if it is of one.
func (l *loader) full(name string) string {
	if l.plugin == "" {
		return name
	}
	return l.plugin + ":" + name
}

// notForPlugins takes fields that are not a plugin's to set: what the user enabled is the plugin, with what it says it
// runs, and no definition in it adds to that. What such a field would have taken from the agents they do not have
// either. Nor are they a stored agent's: who may store one may not have a machine run programs.
func (b *builder) notForPlugins(f front.Field, key string) bool {
	stored := b.scope == ScopeStored
	say := func(text, plugin string) {
		p := b.at.problem(f.Line, "%s is not followed in an agent of a plugin%s%s", f.Key, text, plugin)
		if stored {
			p = b.at.problem(f.Line, "%s is not followed in a stored agent%s", f.Key, text)
			p.Unusable = true
		}
		b.problem(p)
	}
	switch key {
	case keyHooks:
		say("", "; the plugin's manifest can have hooks")
	case keyServers:
		if stored && (f.Value.Kind == front.Text || f.Value.Kind == front.List) {
			return false // names alone, of servers that hold anyway
		}
		b.def.Servers = Servers{None: true, Needs: b.def.Servers.Needs}
		say(", so these agents get no MCP server", "; the plugin's manifest can have servers")
	case keyMode:
		mode := strings.TrimSpace(f.Value.Text)
		if f.Value.Kind == front.Text && !strings.EqualFold(mode, string(troupe.ModePlan)) ||
			f.Value.Kind == front.Nothing {
			say(": these agents have the mode of who starts them", "")
			break
		}
		b.def.Reads, b.def.Sandbox, b.def.Starts = true, troupe.LevelReadOnly, []string{}
		say("; it would have kept them to reading, so they only read", "")
	case keyMemory: // what is kept there would be told in the user's other sessions too
		if scope := strings.ToLower(b.text(f)); scope != "" && scope != "none" && scope != "false" {
			say(", so these agents have none", "")
		}
	default:
		return false
	}
	return true
}
