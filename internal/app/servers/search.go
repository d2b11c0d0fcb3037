package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/tool"
)

// The tools by which an agent finds and calls what it has by name alone. What is offered never changes by it.
const (
	searchTool    = "ToolSearch"
	callTool      = "CallMcpTool"
	listResources = "ListMcpResourcesTool"
	readResource  = "ReadMcpResourceTool"
	// resourcesName stands for the resources of a server where rules are about tools.
	resourcesName = "resources"
)

// Settle has a profile hold tools of servers by name alone if telling them would take more than a tenth of the window,
// in tokens, of its model. It names the resources of its servers for the gate, and, of servers that may get other
// tools, those that come later: what it is offered has to hold the means to call them from its birth.
func (k *Known) Settle(p *troupe.Profile, have []Server, window int64) {
	const usual, bytesPerToken, part = 200_000, 4, 10
	size, names, changes := 0, map[string]bool{}, false
	for _, s := range have {
		l, _ := k.List(s.Entry)
		for i, name := range entry.ToolNames(s.Name, namesOf(l)) {
			if slices.Contains(p.Tools, name) {
				names[name] = true
				size += len(name) + len(l.Tools[i].Description) + len(l.Tools[i].Schema)
			}
		}
		if all := entry.Head(s.Name) + "*"; slices.Contains(p.Tools, all) {
			changes = true
			p.Tools = slices.DeleteFunc(p.Tools, func(name string) bool { return name == all })
			p.Deferred = append(p.Deferred, all)
		}
		if l.Resources && slices.Contains(p.Tools, readResource) {
			p.Deferred = append(p.Deferred, entry.ToolNames(s.Name, []string{resourcesName})...)
		}
	}
	if k.byName[p.Type] || k.played == nil && int64(size) > cmp.Or(window, usual)*bytesPerToken/part {
		p.Tools = slices.DeleteFunc(p.Tools, func(name string) bool { return names[name] })
		for name := range names {
			p.Deferred = append(p.Deferred, name)
		}
		changes = true
	}
	if changes {
		p.Tools = append(p.Tools, searchTool, callTool)
	}
	slices.Sort(p.Tools)
	slices.Sort(p.Deferred)
}

// ownTools are the tools that deal with servers as such.
func (t *Tree) ownTools(k *Known, have []Server, tools []tool.Descriptor) []tool.Descriptor {
	if len(have) == 0 {
		return nil
	}
	describe := func(name, doc, schema string, r tool.Runner) tool.Descriptor {
		d := tool.Descriptor{ToolFacts: troupe.ToolFacts{Name: name, Class: troupe.ClassExec}, Description: doc,
			Schema: json.RawMessage(schema)}
		if name == searchTool {
			d.Class, d.Schedule = troupe.ClassRead, troupe.Parallel
		}
		return d.With(r)
	}
	found := finder{tree: t, have: have, tools: tools, changes: map[string]bool{}}
	for _, s := range have {
		l, _ := k.List(s.Entry)
		found.changes[s.Name] = l.Changes
	}
	readable := slices.DeleteFunc(slices.Clone(have), func(s Server) bool {
		l, _ := k.List(s.Entry)
		return !l.Resources
	})
	return []tool.Descriptor{
		describe(searchTool, "Find tools of MCP servers: words for what you need, or names with commas between them. "+
			"Tells "+
			"their input schemas, for CallMcpTool.",
			`{"type":"object","properties":{"query":{"type":"string","minLength":1}},"required":["query"]}`, found),
		describe(callTool, "Call a tool of an MCP server by name, with the input that ToolSearch told.",
			`{"type":"object","properties":{"tool":{"type":"string","minLength":1},"input":{"type":"object"}},`+
				`"required":["tool","input"]}`, caller{found}),
		describe(listResources, "List what an MCP server lets be read.",
			`{"type":"object","properties":{"server":{"type":"string"}}}`, resources{t, readable, false}),
		describe(readResource, "Read a resource of an MCP server.",
			`{"type":"object","properties":{"server":{"type":"string"},"uri":{"type":"string","minLength":1}},`+
				`"required":["uri"]}`, resources{t, readable, true}),
	}
}

// strict decodes an input that has these keys and no others.
func strict(name, input string, to any) error {
	dec := json.NewDecoder(strings.NewReader(cmp.Or(strings.TrimSpace(input), "{}")))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return &tool.InputError{Tool: name, Problem: err.Error()}
	}
	if dec.More() {
		return &tool.InputError{Tool: name, Problem: "the input must be one JSON object"}
	}
	return nil
}

// finder finds tools.
type finder struct {
	tree    *Tree
	have    []Server
	tools   []tool.Descriptor // as of the birth of the tree
	changes map[string]bool   // servers that may get others
}

// Prepare implements tool.Runner.
func (f finder) Prepare(_ tool.Env, input string) (tool.Prepared, error) {
	var in struct {
		Query string `json:"query"`
	}
	if err := strict(searchTool, input, &in); err != nil {
		return nil, err
	}
	if strings.TrimSpace(in.Query) == "" {
		return nil, &tool.InputError{Tool: searchTool, Problem: "`query` must not be empty"}
	}
	return search{f, in.Query}, nil
}

type search struct {
	finder
	query string
}

// Access implements tool.Prepared.
func (search) Access() troupe.Access { return troupe.Access{Class: troupe.ClassRead} }

// mostFound is how many tools a search tells.
const mostFound = 8

// Run implements tool.Prepared.
func (s search) Run(_ context.Context, env tool.Env) (tool.Output, error) {
	query := strings.TrimPrefix(s.query, "select:")
	all := s.all(env.Session)
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	score := map[string]int{}
	for _, d := range all {
		name, text := strings.ToLower(d.Name), strings.ToLower(d.Description)
		for _, n := range strings.Split(query, ",") {
			if strings.EqualFold(strings.TrimSpace(n), d.Name) {
				score[d.Name] += 1000
			}
		}
		for _, w := range words {
			switch {
			case w != "mcp" && strings.Contains(name, w):
				score[d.Name] += 3
			case strings.Contains(text, w):
				score[d.Name]++
			}
		}
	}
	best := slices.Clone(all)
	slices.SortStableFunc(best, func(a, b tool.Descriptor) int { return score[b.Name] - score[a.Name] })
	var b strings.Builder
	for _, d := range best[:min(len(best), mostFound)] {
		if score[d.Name] > 0 {
			fmt.Fprintf(&b, "%s: %s\ninput: %s\n\n", d.Name, d.Description, d.Schema)
		}
	}
	if b.Len() == 0 {
		return tool.Output{Blocks: []troupe.Block{troupe.Text("No tool has these words in its name or description; " +
			"try " +
			"others.")}}, nil
	}
	return tool.Output{Blocks: []troupe.Block{troupe.Text(clean(b.String()))}}, nil
}

// caller calls tools by name.
type caller struct{ finder }

// Prepare implements tool.Runner.
func (c caller) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	var in struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	}
	if err := strict(callTool, input, &in); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.tools, func(d tool.Descriptor) bool { return d.Name == in.Tool })
	if late, ok := c.lateRunner(in.Tool); i < 0 && ok {
		p, err := late.Prepare(env, string(in.Input))
		if err != nil {
			return nil, err
		}
		return through{p, in.Tool}, nil
	}
	if i < 0 {
		names := make([]string, len(c.tools))
		for i, d := range c.tools {
			names[i] = d.Name
		}
		problem := fmt.Sprintf("there is no tool %q", in.Tool)
		if near := tool.Nearest(in.Tool, names); near != "" {
			problem += "; did you mean " + near + "?"
		}
		return nil, &tool.InputError{Tool: callTool, Problem: problem + " ToolSearch finds those there are"}
	}
	p, err := c.tools[i].Prepare(env, string(in.Input))
	if err != nil {
		return nil, err
	}
	return through{p, in.Tool}, nil
}

// through is a call that is made through another tool.
type through struct {
	tool.Prepared
	name string
}

// Access implements tool.Prepared.
func (t through) Access() troupe.Access {
	a := t.Prepared.Access()
	a.Tool = t.name
	return a
}

// Preview implements tool.Previewer.
func (t through) Preview(env tool.Env) (text string, futile bool) {
	if p, ok := t.Prepared.(tool.Previewer); ok {
		return p.Preview(env)
	}
	return t.name, false
}
