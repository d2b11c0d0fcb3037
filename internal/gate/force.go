package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Standing is a rule that is in force, in words for people.
type Standing struct {
	Rule    troupe.Rule
	Agent   string // for whom it was set; it holds for all that this agent starts
	Managed bool
	Means   string // what it does
	Problem string // why it is not followed as written; "" if it is
	// Shadows are rules that never decide because of this one; ShadowedBy is the one because
	// of which this never does. Both are texts of rules, with their effect.
	Shadows    []string
	ShadowedBy string
}

// InForce lists the rules along a chain in the order in which they count: managed denials,
// then what denies, asks and allows, each from the root down.
func InForce(chain []Layer) []Standing {
	type placed struct {
		Standing
		rule  *Rule
		layer int
	}
	var all []placed
	for i := range chain {
		chain[i].rules(func(r *Rule, managed bool) {
			all = append(all, placed{
				Standing{Rule: r.rule, Agent: chain[i].Agent, Managed: managed, Means: r.means(), Problem: r.note}, r, i,
			})
		})
	}
	order := func(p placed) int {
		if p.Managed && p.rule.rule.Effect == troupe.Deny {
			return -3
		}
		return -strictness(p.rule.rule.Effect)
	}
	slices.SortStableFunc(all, func(a, b placed) int { return order(a) - order(b) })
	shadows := func(j, i int) bool {
		// A rule of a child does not hold for those above it, which judge as well.
		if i == j || order(all[j]) > order(all[i]) || all[j].layer > all[i].layer || !all[j].rule.covers(all[i].rule) {
			return false
		}
		return j < i || order(all[j]) == order(all[i]) && !all[i].rule.covers(all[j].rule)
	}
	for i := range all {
		for j := range all {
			if shadows(j, i) {
				all[i].ShadowedBy = all[j].label()
				all[j].Shadows = append(all[j].Shadows, all[i].label())
				break
			}
		}
	}
	out := make([]Standing, len(all))
	for i := range all {
		out[i] = all[i].Standing
	}
	return out
}

func (s *Standing) label() string { return string(s.Rule.Effect) + " " + s.Rule.Text }

// means says in words what a rule does.
func (r *Rule) means() string {
	verb := map[troupe.Effect]string{troupe.Allow: "allows ", troupe.Ask: "asks before ", troupe.Deny: "denies "}[r.rule.Effect]
	switch r.kind {
	case kindTool:
		switch {
		case r.tool == "":
			return verb + "everything"
		case r.glob:
			return verb + "every tool named " + r.tool
		case strings.HasPrefix(r.tool, mcpPrefix) && !strings.Contains(r.tool[len(mcpPrefix):], "__"):
			return verb + "every tool of the MCP server " + r.tool[len(mcpPrefix):]
		case r.facts.Argument == troupe.CommandArgument:
			return verb + "every command"
		case r.tool == toolRead:
			return verb + "reading any file"
		case r.tool == toolEdit:
			return verb + "changing any file"
		default:
			return verb + "every use of " + r.tool
		}
	case kindCommand:
		return verb + r.words.means(r.rule.Effect == troupe.Allow)
	case kindPath:
		var where []string
		for i := range r.pats {
			where = append(where, r.pats[i].means())
		}
		return verb + r.facts.Doing + " " + strings.Join(where, " or ")
	case kindName:
		if r.facts.Argument == troupe.SkillArgument {
			return verb + "the skill " + visible(r.names[0])
		}
		return verb + "starting agents of type " + visible(strings.Join(r.names, " or "))
	case kindDomain:
		if r.host.any {
			return verb + "fetching from every host"
		}
		host := strings.Join(r.host.labels, ".")
		if r.host.port != "" {
			host += ":" + r.host.port
		}
		if r.host.below {
			return verb + "fetching from every host below " + host
		}
		return verb + "fetching from " + host
	default:
		return "allows nothing"
	}
}

func (w *wildcard) means(allow bool) string {
	first := visible(strings.TrimSpace(w.lits[0]))
	var what string
	switch {
	case w.exact() && allow:
		return "exactly the command " + first
	case w.exact():
		what = "the command " + first
	case len(w.lits) == 2 && w.bare:
		what = "commands that begin with the words " + first
	case len(w.lits) == 2 && w.lits[1] == "":
		what = "commands that begin with " + first
	default:
		what = "commands like " + visible(strings.Join(w.lits, "*"))
	}
	if !allow {
		what += ", also within others"
	}
	return what
}

func (p *pattern) means() string {
	from := map[anchor]string{atProject: "the project", atRoot: "the whole disk", atHome: "your home"}[p.anchor]
	var names []string
	deep := len(p.segs) > 0 && p.segs[0].kind == segAny
	for i, s := range p.segs {
		if s.kind == segAny && (i == 0 || i == len(p.segs)-1) {
			continue
		}
		names = append(names, s.text)
		if s.kind == segAny {
			names[len(names)-1] = "…"
		}
	}
	what := visible(strings.Join(names, "/"))
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

// covers reports whether every call that the other rule speaks of is one that this one
// speaks of. In doubt it does not.
func (r *Rule) covers(o *Rule) bool {
	if r.kind == kindNothing || o.kind == kindNothing {
		return false
	}
	allow := r.rule.Effect == troupe.Allow
	if r.kind == kindTool {
		switch {
		case r.tool == "":
			return true
		case o.kind == kindTool && (o.tool == "" || o.glob):
			return r.glob && r.tool == o.tool
		case allow:
			return r.allowsTool(o.facts)
		default:
			return r.namesTool(o.facts)
		}
	}
	if o.kind != r.kind || r.kind != kindPath && r.tool != o.tool {
		return false
	}
	switch r.kind {
	case kindCommand:
		return r.words.covers(&o.words)
	case kindPath:
		return (r.tool == o.tool || r.family(o.facts)) && coversPaths(r.pats, o.pats)
	case kindName:
		return r.namesOne(o.names[0]) && len(o.names) <= len(r.names)
	case kindDomain:
		return r.host.port == "" && r.host.covers(&o.host)
	default:
		return false
	}
}

// coversPaths: each of the other's alternatives is covered by one of these.
func coversPaths(pats, others []pattern) bool {
	for i := range others {
		if !slices.ContainsFunc(pats, func(p pattern) bool { return p.covers(&others[i]) }) {
			return false
		}
	}
	return true
}

func (d *domain) covers(o *domain) bool {
	if d.any || o.any {
		return d.any
	}
	if o.below {
		return d.below && (slices.Equal(d.labels, o.labels) || d.match(hostName{labels: o.labels}))
	}
	return d.match(hostName{labels: o.labels, port: o.port})
}

// covers: the other's text, with its stars as text, is what this one matches. A star in the
// text can only have been matched by a star.
func (w *wildcard) covers(o *wildcard) bool {
	if w.exact() {
		return o.exact() && o.lits[0] == w.lits[0]
	}
	const star = "\x00"
	text := strings.Join(o.lits, star)
	if o.bare && !w.match(strings.TrimRight(o.lits[0], " ")) {
		return false
	}
	return w.match(text)
}

// covers: the same place, and each name in turn; a pattern covers what lies below it.
func (p *pattern) covers(o *pattern) bool {
	if p.anchor != o.anchor || p.up != o.up || p.folder != o.folder {
		return false
	}
	i := 0
	for ; i < len(p.segs) && i < len(o.segs); i++ {
		a, b := p.segs[i], o.segs[i]
		if a.kind == segAny && i == len(p.segs)-1 {
			return true
		}
		if a == b {
			continue
		}
		if a.kind != segGlob || b.kind != segLiteral {
			return false
		}
		if ok, err := path.Match(a.text, b.text); err != nil || !ok {
			return false
		}
	}
	return i == len(p.segs) || i == len(p.segs)-1 && p.segs[i].kind == segAny
}
