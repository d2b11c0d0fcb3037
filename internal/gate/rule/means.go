package rule

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe"
)

// Means says in words what a rule does.
func (r *Rule) Means() string {
	verb := map[troupe.Effect]string{troupe.Allow: "allows ", troupe.Ask: "asks before ",
		troupe.Deny: "denies "}[r.Written.Effect]
	switch r.Kind {
	case KindTool:
		switch {
		case r.Tool == "":
			return verb + "everything"
		case r.Glob:
			return verb + "every tool named " + r.Tool
		case strings.HasPrefix(r.Tool, MCPPrefix) && !strings.Contains(r.Tool[len(MCPPrefix):], "__"):
			return verb + "every tool of the MCP server " + r.Tool[len(MCPPrefix):]
		case r.Facts.Argument == troupe.CommandArgument:
			return verb + "every command"
		case r.Tool == ToolRead:
			return verb + "reading any file"
		case r.Tool == ToolEdit:
			return verb + "changing any file"
		default:
			return verb + "every use of " + r.Tool
		}
	case KindCommand:
		return verb + r.Words.Means(r.Written.Effect == troupe.Allow)
	case KindPath:
		var where []string
		for i := range r.Paths {
			where = append(where, r.Paths[i].Means())
		}
		return verb + r.Facts.Doing + " " + strings.Join(where, " or ")
	case KindName:
		if r.Facts.Argument == troupe.SkillArgument {
			return verb + "the skill " + Visible(r.Names[0])
		}
		return verb + "starting agents of type " + Visible(strings.Join(r.Names, " or "))
	case KindDomain:
		if r.Host.Any {
			return verb + "fetching from every host"
		}
		host := strings.Join(r.Host.Labels, ".")
		if r.Host.Port != "" {
			host += ":" + r.Host.Port
		}
		if r.Host.below {
			return verb + "fetching from every host below " + host
		}
		return verb + "fetching from " + host
	default:
		return "allows nothing"
	}
}

func (w *Wildcard) Means(allow bool) string {
	first := Visible(strings.TrimSpace(w.Lits[0]))
	var what string
	switch {
	case w.Exact() && allow:
		return "exactly the command " + first
	case w.Exact():
		what = "the command " + first
	case len(w.Lits) == 2 && w.Bare:
		what = "commands that begin with the words " + first
	case len(w.Lits) == 2 && w.Lits[1] == "":
		what = "commands that begin with " + first
	default:
		what = "commands like " + Visible(strings.Join(w.Lits, "*"))
	}
	if !allow {
		what += ", also within others"
	}
	return what
}

func (p *Pattern) Means() string {
	from := map[anchor]string{atProject: "the project", atRoot: "the whole disk", atHome: "your home"}[p.anchor]
	var names []string
	deep := len(p.Segs) > 0 && p.Segs[0].Kind == Any
	for i, s := range p.Segs {
		if s.Kind == Any && (i == 0 || i == len(p.Segs)-1) {
			continue
		}
		names = append(names, s.Text)
		if s.Kind == Any {
			names[len(names)-1] = "…"
		}
	}
	what := Visible(strings.Join(names, "/"))
	if p.up > 0 {
		from = strings.TrimSuffix(strings.Repeat("the folder above ", p.up), " ") + " " + from
	}
	switch {
	case what == "":
		return "anything in " + from
	case deep:
		return what + " anywhere in " + from
	default:
		return what + " in " + from
	}
}

// Includes reports whether every call that the other rule speaks of is one that this one
// speaks of. In doubt it does not.
func (r *Rule) Includes(o *Rule) bool {
	if r.Kind == KindNothing || o.Kind == KindNothing {
		return false
	}
	allow := r.Written.Effect == troupe.Allow
	if r.Kind == KindTool {
		switch {
		case r.Tool == "":
			return true
		case o.Kind == KindTool && (o.Tool == "" || o.Glob):
			return r.Glob && r.Tool == o.Tool
		case allow:
			return r.AllowsTool(o.Facts)
		default:
			return r.NamesTool(o.Facts)
		}
	}
	if o.Kind != r.Kind || r.Kind != KindPath && r.Tool != o.Tool {
		return false
	}
	switch r.Kind {
	case KindCommand:
		return r.Words.Includes(&o.Words)
	case KindPath:
		return (r.Tool == o.Tool || r.IsLike(o.Facts)) && includePaths(r.Paths, o.Paths)
	case KindName:
		return r.NamesOne(o.Names[0]) && len(o.Names) <= len(r.Names)
	case KindDomain:
		return r.Host.Port == "" && r.Host.Includes(&o.Host)
	default:
		return false
	}
}

// includePaths: each of the other's alternatives is covered by one of these.
func includePaths(pats, others []Pattern) bool {
	for i := range others {
		if !slices.ContainsFunc(pats, func(p Pattern) bool { return p.Includes(&others[i]) }) {
			return false
		}
	}
	return true
}

func (d *Domain) Includes(o *Domain) bool {
	if d.Any || o.Any {
		return d.Any
	}
	if o.below {
		return d.below && (slices.Equal(d.Labels, o.Labels) || d.Match(Host{Labels: o.Labels}))
	}
	return d.Match(Host{Labels: o.Labels, Port: o.Port})
}

// Includes: the other's text, with its stars as text, is what this one matches. A star in the
// text can only have been matched by a star.
func (w *Wildcard) Includes(o *Wildcard) bool {
	if w.Exact() {
		return o.Exact() && o.Lits[0] == w.Lits[0]
	}
	const star = "\x00"
	text := strings.Join(o.Lits, star)
	if o.Bare && !w.Match(strings.TrimRight(o.Lits[0], " ")) {
		return false
	}
	return w.Match(text)
}

// Includes: the same place, and each name in turn; a pattern covers what lies below it.
func (p *Pattern) Includes(o *Pattern) bool {
	if p.anchor != o.anchor || p.up != o.up || p.folder != o.folder {
		return false
	}
	i := 0
	for ; i < len(p.Segs) && i < len(o.Segs); i++ {
		a, b := p.Segs[i], o.Segs[i]
		if a.Kind == Any && i == len(p.Segs)-1 {
			return true
		}
		if a == b {
			continue
		}
		if a.Kind != Glob || b.Kind != Literal {
			return false
		}
		if ok, err := path.Match(a.Text, b.Text); err != nil || !ok {
			return false
		}
	}
	return i == len(p.Segs) || i == len(p.Segs)-1 && p.Segs[i].Kind == Any
}

// Visible shows a name with its control characters, so that it cannot pose as other text.
func Visible(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Sprintf("%q", s)
	}
	return s
}
