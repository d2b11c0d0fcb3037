package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
	"github.com/troupe-dev/troupe/internal/schema"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/wire"
)

// clientTools are the tools that a client wants to carry out, as a tree keeps them. What cannot be offered, or could be
// taken for another tool, is refused.
func clientTools(known *toolbox, mask func(string) string, list []wire.ClientTool) ([]troupe.ClientTool, error) {
	if len(list) > troupe.MaxClientTools {
		return nil, notOffered(fmt.Sprintf("%d tools are too many for a client to carry out", len(list)),
			fmt.Sprintf("There are at most %d.", troupe.MaxClientTools), nil)
	}
	name, total := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`), 0
	var out []troupe.ClientTool
	for i, t := range list {
		if len(t.Name) > troupe.MaxClientTool || !name.MatchString(t.Name) {
			return nil, notOffered(fmt.Sprintf("tool %d cannot have the name %.80q", i+1, t.Name),
				fmt.Sprintf("A name begins with a letter, and has at most %d letters, digits, _ and -.",
					troupe.MaxClientTool), nil)
		}
		if other := taken(known, out, t.Name); other != "" {
			return nil, notOffered(fmt.Sprintf("the tool %s has the name of %s", t.Name, other),
				"Give it another name.", troupe.ErrExists)
		}
		made, problem := clientTool(mask, t)
		if problem != "" {
			return nil, notOffered("the tool "+t.Name+" "+problem,
				"`troupe docs server` says what a tool of a client has.", nil)
		}
		if total += len(made.Name) + len(made.Description) + len(made.Schema); total > troupe.MaxClientTotal {
			return nil, notOffered("the tools that the client carries out are too large",
				fmt.Sprintf("Their names, descriptions and schemas have at most %d bytes together.",
					troupe.MaxClientTotal), nil)
		}
		out = append(out, made)
	}
	return out, nil
}

func notOffered(problem, hint string, kind error) error {
	return &troupe.UserError{Problem: problem, Hint: hint, Code: troupe.ExitUsage, Err: kind}
}

// taken says which tool a name means already, for a model or where people write rules; "": none.
func taken(known *toolbox, before []troupe.ClientTool, name string) string {
	same := func(n string) bool { return strings.EqualFold(n, name) }
	for _, f := range known.Facts() {
		if same(f.Name) || same(f.OldName) || slices.ContainsFunc(f.Aliases, same) ||
			slices.ContainsFunc(f.Misspellings, same) {
			return "the tool " + f.Name + " of Troupe"
		}
	}
	if strings.HasPrefix(strings.ToLower(name), rule.MCPPrefix) {
		return "a tool of an MCP server"
	}
	if _, err := known.gate.ParseRule(troupe.Rule{Effect: troupe.Deny, Text: name}); err != nil {
		return "another one: a rule about it would be taken for one about that"
	}
	if slices.ContainsFunc(before, func(t troupe.ClientTool) bool { return same(t.Name) }) {
		return "another one of the client"
	}
	return ""
}

// clientTool is one of them; problem completes a sentence that begins with its name.
func clientTool(mask func(string) string, t wire.ClientTool) (out troupe.ClientTool, problem string) {
	out = troupe.ClientTool{Name: t.Name, Description: mask(strings.TrimSpace(t.Description)), ReadOnly: t.ReadOnly,
		Schema: json.RawMessage(`{"type":"object"}`), Deadline: time.Duration(t.DeadlineSeconds) * time.Second}
	most := int(troupe.MaxClientDeadline / time.Second)
	switch n := len(t.Description); {
	case out.Description == "":
		return out, "has no description"
	case n > troupe.MaxClientDescription:
		return out, fmt.Sprintf("has a description of %d bytes, the most is %d", n, troupe.MaxClientDescription)
	case t.DeadlineSeconds < 0 || t.DeadlineSeconds > most:
		return out, fmt.Sprintf("has a deadline of %d seconds; there are 1 to %d, and 0 for %d", t.DeadlineSeconds,
			most,
			int(troupe.ClientDeadline/time.Second))
	case t.DeadlineSeconds == 0:
		out.Deadline = troupe.ClientDeadline
	}
	if len(t.InputSchema) == 0 || string(t.InputSchema) == "null" {
		return out, ""
	}
	if _, err := schema.Parse(t.InputSchema); err != nil {
		return out, "has a schema that " + err.Error()
	}
	var b bytes.Buffer
	if err := json.Compact(&b, t.InputSchema); err != nil {
		return out, "has a schema that is no JSON"
	}
	if out.Schema = b.Bytes(); mask(b.String()) != b.String() {
		return out, "has a schema that holds what is taken for a secret"
	}
	return out, ""
}

// withClients is a set of tools with those that the client of a tree carries out. One whose name a later version of
// Troupe gave to a tool of its own is that tool.
func withClients(set tool.Set, clients []troupe.ClientTool) tool.Set {
	var more []tool.Descriptor
	for _, t := range clients {
		if _, here := set.Find(t.Name); !here {
			more = append(more, tool.Descriptor{ToolFacts: t.Facts(), Description: t.Description, Schema: t.Schema,
				Intent: asksClient(t)})
		}
	}
	return set.With(more...)
}

// asksClient decodes calls of a tool. What does not follow its schema is refused before a client hears of it.
func asksClient(t troupe.ClientTool) func(input string) (troupe.Intent, error) {
	return func(input string) (troupe.Intent, error) {
		wrong := func(problem string) (troupe.Intent, error) {
			return nil, &tool.InputError{Tool: t.Name, Problem: problem}
		}
		if strings.TrimSpace(input) == "" {
			input = "{}"
		}
		var object map[string]json.RawMessage
		var b bytes.Buffer
		if json.Unmarshal([]byte(input), &object) != nil || object == nil || json.Compact(&b, []byte(input)) != nil {
			return wrong("the input must be one JSON object")
		}
		s, err := schema.Parse(t.Schema)
		if err != nil {
			return wrong("its schema " + err.Error()) // it was checked before it was kept
		}
		if err := s.Check(b.Bytes()); err != nil {
			return wrong("the input does not follow its schema: " + err.Error())
		}
		return troupe.AskClient{Input: b.Bytes(), Deadline: t.Deadline}, nil
	}
}

// clientFacts are what is known of the tools of the tree that a client carries out.
func (p *profiles) clientFacts() (out []troupe.ToolFacts) {
	for _, t := range p.Clients {
		out = append(out, t.Facts())
	}
	return out
}

func (p *profiles) clientNames() (out []string) {
	for _, t := range p.Clients {
		out = append(out, t.Name)
	}
	return out
}

// clientsLast has a profile offer them behind all others, which many sessions share.
func (p *profiles) clientsLast(out *troupe.Profile) {
	names := p.clientNames()
	ofClient := func(name string) int {
		if slices.Contains(names, name) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out.Tools, func(a, b string) int { return ofClient(a) - ofClient(b) })
}

// hasClients refuses to begin a session whose main agent would not have a tool that its client carries out: neither
// would any agent below it.
func (p *profiles) hasClients(main troupe.Profile) error {
	for _, t := range p.Clients {
		if slices.Contains(main.Tools, t.Name) {
			continue
		}
		_, why := p.definition(main.Kind()).Holds(t.Facts())
		return notOffered(fmt.Sprintf("the agent %s does not have the tool %s: %s", main.Kind(), t.Name, why),
			"Have its definition name the tool, begin with another agent, or leave the tool out.", nil)
	}
	return nil
}

// playedClients are those that a client carried out in a recorded run, as far as their names tell.
func playedClients(p *Player, set tool.Set) (out []troupe.ClientTool) {
	known := func(name string) bool { _, ok := set.Known(name); return ok }
	for _, name := range p.OtherTools(known) {
		out = append(out, troupe.ClientTool{Name: name, Schema: json.RawMessage(`{"type":"object"}`),
			Deadline: troupe.MaxClientDeadline})
	}
	return out
}
