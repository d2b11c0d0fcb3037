package profile

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// serverPrefix is how the names of the tools of MCP servers begin.
const serverPrefix = "mcp__"

// serverTools is a word of a tools line that means tools of an MCP server: one of them, or with a star, or with the
// server's name alone, several. Which there are is known only where an agent is born.
func serverTools(word string) (name string, ok bool) {
	if rest, ok := strings.CutPrefix(strings.ToLower(word), serverPrefix); !ok || rest == "" {
		return "", false
	}
	return serverPrefix + word[len(serverPrefix):], true
}

// namesServer reports whether one of the words means a tool of an MCP server.
func namesServer(words []string, tool string) bool {
	if !strings.HasPrefix(tool, serverPrefix) {
		return false
	}
	tool = strings.ToLower(tool)
	for _, w := range words {
		w = strings.ToLower(w)
		if ok, err := path.Match(w, tool); ok && err == nil ||
			strings.HasPrefix(tool, strings.TrimSuffix(w, "__")+"__") &&
				strings.HasPrefix(w, serverPrefix) {
			return true
		}
	}
	return false
}

// keepsOfServer reports whether one of the words may mean a tool that a server comes to have. tool stands for all of
// these, a star behind the server's name; it is false for any other.
func keepsOfServer(words []string, tool string) bool {
	head, all := strings.CutSuffix(strings.ToLower(tool), "*")
	if !all || !strings.HasPrefix(head, serverPrefix) {
		return false
	}
	return slices.ContainsFunc(words, func(w string) bool {
		w = strings.ToLower(w)
		if i := strings.IndexAny(w, "*?[\\"); i >= 0 && strings.HasPrefix(head, w[:i]) {
			return true
		}
		return strings.HasPrefix(w, head)
	})
}

// servers reads which MCP servers agents of this type have. What cannot be read means none; of two lines, what stands
// in both.
func (b *builder) servers(f front.Field, twice bool) {
	var data []byte
	switch v := f.Value; v.Kind {
	case front.Nothing:
		b.def.Servers.None = true
		return
	case front.Text:
		data, _ = json.Marshal(v.Text)
	case front.List:
		data, _ = json.Marshal(v.List)
	case front.Tree:
		data = v.JSON
	case front.Unreadable:
	}
	refs, problems := entry.Refs(data)
	for _, p := range problems {
		b.problem(b.at.problem(f.Line, "%s: %s", f.Key, p))
		b.def.Servers.None = b.def.Servers.None || p.Unusable && p.Server == ""
	}
	if twice {
		b.problem(b.at.problem(f.Line, "%s stands there twice, so these agents get no server", f.Key))
		b.def.Servers.None = true
	}
	b.def.Servers.Only = refs
	b.def.Servers.None = b.def.Servers.None || len(refs) == 0
}

// unmet are the tools of MCP servers that its tools line names and that are not to be had where it is born.
func (d Definition) unmet(offer []troupe.ToolFacts) (out []string) {
	for _, w := range d.Tools {
		if strings.HasPrefix(w, serverPrefix) && !slices.ContainsFunc(offer, func(f troupe.ToolFacts) bool {
			return namesServer([]string{w}, f.Name)
		}) {
			out = append(out, w)
		}
	}
	return out
}

// Servers are the MCP servers that agents of a type have.
type Servers struct {
	// Only are those that it has; nil: all that hold where it is started. It is not started without one of them, nor
	// without those of Needs, names of servers that it has anyway.
	Only  []entry.Ref `json:"only,omitempty"`
	Needs []string    `json:"needs,omitempty"`
	None  bool        `json:"none,omitempty"` // it has none at all
}

// Named are the servers that the definition names; nil: it names none, and has all.
func (s Servers) Named() []entry.Ref {
	if s.None {
		return []entry.Ref{}
	}
	return s.Only
}
