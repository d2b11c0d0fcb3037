// Package rule is what people wrote: it parses permission rules and says what they match. It knows
// nothing of calls and commands; package command says what those are, and the gate decides.
package rule

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// Rule is a parsed permission rule. Its zero value speaks of no call.
type Rule struct {
	Written troupe.Rule // as written; Effect is never anything but the three
	Kind    Kind
	known   *Tools
	Tool    string            // canonical name; "" is every tool; a glob if Glob
	Facts   *troupe.ToolFacts // of the tool
	Glob    bool              // Tool is a glob of names
	Words   Wildcard          // KindCommand: the command
	Denials []Wildcard        // KindCommand: what it means as a deny or ask rule
	Names   []string          // KindName: one, and in a deny rule what was probably meant instead
	Paths   []Pattern         // KindPath: alternatives; KindTool: what a path meant that could not be read
	Host    Domain
	Note    string // what became of a rule that could not be read as written
}

// Kind is what a rule speaks of.
type Kind int

const (
	KindNothing Kind = iota // speaks of no call: an allow rule that could not be read
	KindTool                // every use of a tool
	KindCommand             // commands
	KindPath                // paths
	KindName                // one type of agent, or one skill
	KindDomain              // hosts
)

// Words of the rule language: rules about reading and changing files hold for whatever does so.
const (
	ToolRead  = "Read"
	ToolEdit  = "Edit"
	ToolWrite = "Write"
	MCPPrefix = "mcp__"
)

// Error says why a rule is not followed as it is written, and what it does instead.
type Error struct {
	Rule    troupe.Rule
	Problem string // why
	Instead string // what the rule does now
}

func (e *Error) Error() string {
	where := ""
	if e.Rule.Source != "" {
		where = e.Rule.Source + ": "
	}
	return fmt.Sprintf("%s%s rule %q %s; %s", where, e.Rule.Effect, e.Rule.Text, e.Problem, e.Instead)
}

// ParseRule reads one rule. The Rule it returns is always to be used, with an error (a
// *Error, for people) or without: what cannot be read allows nothing if it is an allow
// rule, and otherwise covers everything it may have meant.
//
// Understood are Tool and Tool(*); Bash(command) with stars, and Bash(prefix:*); Read, Edit,
// Write, NotebookEdit, Grep and Glob with a path; WebFetch(domain:host); Agent(type), also
// written Task; Skill(name); mcp__server, mcp__server__tool, and stars behind the server.
// Read covers Grep and Glob too, Edit covers Write and NotebookEdit.
func (t *Tools) ParseRule(r troupe.Rule) (Rule, error) {
	out, err := Rule{Written: r, known: t}.parse()
	out.Facts = t.Facts(out.Tool)
	return out, err
}

func (r Rule) parse() (Rule, error) {
	out, written := r, r.Written
	switch written.Effect {
	case troupe.Allow, troupe.Ask, troupe.Deny:
	default:
		out.Written.Effect = troupe.Deny
		return out.unread("", fmt.Sprintf("has the effect %q, which is none", written.Effect))
	}
	name, spec, hasSpec, problem := splitRule(written.Text)
	if problem != "" {
		return out.unread(name, problem)
	}
	if meant, ok := strings.CutSuffix(name, ":*"); ok {
		return out.unread(meant, "has :* behind the tool's name; the name alone means every use")
	}
	if strings.Contains(name, "*") {
		if written.Effect == troupe.Allow && !serverNamed(name) {
			return out.unread("", "has a wildcard in the tool's name, which an allow rule may have only behind the "+
				"name of an MCP server")
		}
		if name != "*" {
			out.Tool, out.Glob = name, true
		}
		if hasSpec && spec != "*" {
			return out.unread(out.Tool, "has parentheses after a wildcard")
		}
		out.Kind = KindTool
		return out, nil
	}
	out.Tool = out.known.Canonical(name)
	if meant := out.known.misspelt(out.Tool); meant != "" && (written.Effect != troupe.Allow || hasSpec) {
		return out.unread(meant, fmt.Sprintf("names %q, which is no tool here; %s was probably meant (rules are "+
			"about %s, and mcp__… of MCP servers)", Visible(name), meant, out.known.withParentheses()))
	}
	if lower := strings.ToLower(name); strings.HasPrefix(lower, MCPPrefix) && !strings.HasPrefix(name, MCPPrefix) {
		return out.unread(MCPPrefix+name[len(MCPPrefix):], "writes mcp__ in other letters than the tools of MCP "+
			"servers have")
	}
	if !hasSpec || strings.Trim(spec, "*") == "" && spec != "" {
		out.Kind = KindTool
		if hasSpec && out.Tool == ToolRead && written.Effect != troupe.Allow {
			// The name alone is about the tool; with parentheses it is about files, all of the project.
			out.Paths = []Pattern{{Segs: []Segment{{Kind: Any}}, folder: written.Folder}}
		}
		return out, nil
	}
	return out.parseSpec(spec)
}

// parseSpec reads what stands in the parentheses. New forms of rule are added here.
func (r Rule) parseSpec(spec string) (Rule, error) {
	if spec == "" {
		return r.unread(r.Tool, "has nothing in its parentheses")
	}
	switch argument := r.known.Facts(r.Tool).Argument; argument {
	case troupe.CommandArgument:
		words, problem := ParseWildcard(spec)
		if problem == "" {
			problem = mistakeInCommand(spec, r.Written.Effect)
		}
		if problem != "" {
			return r.unread(r.Tool, problem)
		}
		if words.any() {
			r.Kind = KindTool
			return r, nil
		}
		r.Kind, r.Words = KindCommand, words
		if r.Written.Effect != troupe.Allow {
			r.Denials = forbidden(words)
		}
	case troupe.PathArgument:
		pats, problem := parsePaths(spec)
		if problem != "" {
			if r.Written.Effect != troupe.Allow {
				r.Paths = guessPaths(spec)
				for i := range r.Paths {
					r.Paths[i].folder = r.Written.Folder
				}
			}
			return r.unread(r.Tool, "cannot be read: the path "+problem)
		}
		for i := range pats {
			pats[i].folder = r.Written.Folder
		}
		r.Kind, r.Paths = KindPath, pats
	case troupe.AgentArgument, troupe.SkillArgument, troupe.ReceiverArgument:
		if strings.ContainsAny(spec, "*,(){}") {
			return r.unread(r.Tool, "does not name one "+thingOf(argument)+"; lists and wildcards are not "+
				"supported there")
		}
		r.Kind, r.Names = KindName, []string{strings.TrimSpace(spec)}
		if argument == troupe.AgentArgument {
			return r.meantAgent()
		}
	case troupe.DomainArgument:
		host, problem := parseDomain(spec)
		if problem != "" {
			return r.unread(r.Tool, problem)
		}
		r.Kind, r.Host = KindDomain, host
	default:
		return r.unread(r.Tool,
			"has parentheses, which are not supported for "+Visible(r.Tool)+"; they are for "+r.known.withParentheses())
	}
	return r, nil
}

func thingOf(a troupe.Argument) string {
	if a == troupe.SkillArgument {
		return "skill"
	}
	if a == troupe.ReceiverArgument {
		return "receiver"
	}
	return "type of agent"
}

// serverNamed: a wildcard that stands behind the whole name of an MCP server.
func serverNamed(name string) bool {
	rest, ok := strings.CutPrefix(name, MCPPrefix)
	server, _, found := strings.Cut(rest, "__")
	return ok && found && server != "" && !strings.Contains(server, "*")
}

// unread makes of r what a rule becomes that cannot be followed as written. tool is the
// one it speaks of, as far as that can be told.
func (r Rule) unread(tool, problem string) (Rule, error) {
	e := &Error{Rule: r.Written, Problem: problem}
	r.Note = problem
	if r.Written.Effect == troupe.Allow {
		r.Kind, e.Instead = KindNothing, "it allows nothing"
		return r, e
	}
	r.Kind = KindTool
	verb := "denies"
	if r.Written.Effect == troupe.Ask {
		verb = "asks before"
	}
	if r.Glob {
		e.Instead = "it " + verb + " every use of tools named " + tool
	} else if r.Tool = r.known.Canonical(tool); r.Tool == "" {
		e.Instead = "it " + verb + " every tool"
	} else {
		e.Instead = "it " + verb + " every use of " + r.Tool
	}
	return r, e
}

// splitRule takes Name(spec) apart. With a problem, name is the tool that was probably
// meant, or "".
func splitRule(text string) (name, spec string, hasSpec bool, problem string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", "", false, "is empty"
	}
	name, spec, hasSpec = strings.Cut(text, "(")
	if bad := strings.IndexFunc(name, func(c rune) bool { return !nameRune(c) }); bad >= 0 {
		meant := name[:bad]
		if strings.Contains(meant, "*") {
			meant = ""
		}
		return meant, "", false, fmt.Sprintf("has %q after the tool's name", name[bad:])
	}
	if name == "" {
		return "", "", false, "names no tool"
	}
	if !hasSpec {
		return name, "", false, ""
	}
	meant := name
	if strings.Contains(meant, "*") {
		meant = ""
	}
	if !strings.HasSuffix(spec, ")") {
		return meant, "", false, "does not end with a closing parenthesis"
	}
	if !utf8.ValidString(spec) {
		return meant, "", false, "is not valid UTF-8"
	}
	return name, spec[:len(spec)-1], true, ""
}

func nameRune(c rune) bool {
	return c == '_' || c == '-' || c == '*' || c == '.' || c == ':' ||
		c != utf8.RuneError && (unicode.IsLetter(c) || unicode.IsDigit(c))
}

// oneTypo: one letter more, less or other, or two swapped.
func oneTypo(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 0:
		return i == len(a) || a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] &&
			a[i+2:] == b[i+2:]
	case 1:
		return a[i:] == b[i+1:]
	default:
		return false
	}
}

// Split takes a flag's value apart into rules, at commas and blanks outside parentheses:
// `Edit, Bash(go test ./...)` is two rules.
func Split(text string) []string {
	var out []string
	depth, from := 0, 0
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth = max(depth-1, 0)
		case depth == 0 && (c == ',' || blank(c)):
			add(text[from:i])
			from = i + 1
		}
	}
	add(text[from:])
	return out
}
