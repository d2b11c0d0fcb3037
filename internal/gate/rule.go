package gate

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// Rule is a parsed permission rule. Its zero value speaks of no call.
type Rule struct {
	rule   troupe.Rule // as written; Effect is never anything but the three
	kind   ruleKind
	tool   string // canonical name; "" is every tool; may be a glob if globTool
	glob   bool   // tool is a glob of names
	exact  string // kindCommand: the command
	exact2 string // a second reading of it, for deny and ask rules; or ""
	agent  string // kindAgent
	pat    pattern
	note   string // what became of a rule that could not be read as written
}

type ruleKind int

const (
	kindNothing ruleKind = iota // speaks of no call: an allow rule that could not be read
	kindTool                    // every use of a tool
	kindCommand                 // one exact command
	kindPath                    // paths
	kindAgent                   // one type of agent
)

// The tools whose rules have parentheses.
const (
	toolBash  = "Bash"
	toolRead  = "Read"
	toolGrep  = "Grep"
	toolGlob  = "Glob"
	toolEdit  = "Edit"
	toolWrite = "Write"
	toolAgent = "Agent"
	toolTask  = "Task" // an older name of Agent
)

// RuleError says why a rule is not followed as it is written, and what it does instead.
type RuleError struct {
	Rule    troupe.Rule
	Problem string // why
	Instead string // what the rule does now
}

func (e *RuleError) Error() string {
	where := ""
	if e.Rule.Source != "" {
		where = e.Rule.Source + ": "
	}
	return fmt.Sprintf("%s%s rule %q %s; %s", where, e.Rule.Effect, e.Rule.Text, e.Problem, e.Instead)
}

// ParseRule reads one rule. The Rule it returns is always to be used, with an error (a
// *RuleError, for people) or without: what cannot be read allows nothing if it is an allow
// rule, and otherwise covers everything it may have meant.
//
// Understood are Tool, Tool(*), Bash(exact command), Agent(type), and Read, Edit, Write,
// Grep and Glob with a path. Read covers Grep and Glob too, Edit covers Write.
func ParseRule(r troupe.Rule) (Rule, error) {
	out := Rule{rule: r}
	switch r.Effect {
	case troupe.Allow, troupe.Ask, troupe.Deny:
	default:
		out.rule.Effect = troupe.Deny
		return out.unread("", fmt.Sprintf("has the effect %q, which is none", r.Effect))
	}
	name, spec, hasSpec, problem := splitRule(r.Text)
	if problem != "" {
		return out.unread(name, problem)
	}
	if strings.Contains(name, "*") {
		if r.Effect == troupe.Allow {
			return out.unread("", "has a wildcard in the tool's name, which an allow rule may not have")
		}
		if name != "*" {
			out.tool, out.glob = name, true
		}
		if hasSpec && spec != "*" {
			return out.unread(out.tool, "has parentheses after a wildcard")
		}
		out.kind = kindTool
		return out, nil
	}
	out.tool = canonical(name)
	if !hasSpec || spec == "*" {
		out.kind = kindTool
		return out, nil
	}
	return out.parseSpec(spec)
}

// parseSpec reads what stands in the parentheses. New forms of rule are added here.
func (r Rule) parseSpec(spec string) (Rule, error) {
	if spec == "" {
		return r.unread(r.tool, "has nothing in its parentheses")
	}
	switch r.tool {
	case toolBash:
		command, ok := exactCommand(spec)
		if !ok {
			return r.unread(r.tool, "has a wildcard, and only exact commands are supported so far (a literal star is written \\*)")
		}
		r.kind, r.exact = kindCommand, command
		if r.rule.Effect != troupe.Allow && strings.Contains(command, `\`) {
			r.exact2 = unescapeParens(command)
		}
	case toolRead, toolGrep, toolGlob, toolEdit, toolWrite:
		pat, problem := parsePattern(spec)
		if problem != "" {
			return r.unread(r.tool, "cannot be read: the path "+problem)
		}
		r.kind, r.pat = kindPath, pat
	case toolAgent:
		if strings.ContainsAny(spec, "*,(){}") {
			return r.unread(r.tool, "does not name one type of agent, and lists and wildcards are not supported so far")
		}
		r.kind, r.agent = kindAgent, strings.TrimSpace(spec)
	default:
		return r.unread(r.tool, "has parentheses, which are not supported so far for "+r.tool)
	}
	return r, nil
}

// unread makes of r what a rule becomes that cannot be followed as written. tool is the
// one it speaks of, as far as that can be told.
func (r Rule) unread(tool, problem string) (Rule, error) {
	e := &RuleError{Rule: r.rule, Problem: problem}
	if r.rule.Effect == troupe.Allow {
		r.kind, e.Instead = kindNothing, "it allows nothing"
		return r, e
	}
	r.kind = kindTool
	verb := "denies"
	if r.rule.Effect == troupe.Ask {
		verb = "asks before"
	}
	if r.glob {
		e.Instead = "it " + verb + " every use of tools named " + tool
	} else if r.tool = canonical(tool); r.tool == "" {
		e.Instead = "it " + verb + " every tool"
	} else {
		e.Instead = "it " + verb + " every use of " + r.tool
	}
	r.note = problem
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

// canonical writes the names of the tools known here as they are written elsewhere.
func canonical(name string) string {
	if strings.EqualFold(name, toolTask) {
		return toolAgent
	}
	for _, known := range [...]string{toolBash, toolRead, toolGrep, toolGlob, toolEdit, toolWrite, toolAgent} {
		if strings.EqualFold(name, known) {
			return known
		}
	}
	return name
}

// exactCommand reads a command in which \* stands for a star; any other star is a wildcard.
// A backslash means itself unless it is part of a run that ends at a star, where two stand
// for one.
func exactCommand(spec string) (command string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(spec); {
		run := 0
		for i+run < len(spec) && spec[i+run] == '\\' {
			run++
		}
		i += run
		if i == len(spec) || spec[i] != '*' {
			b.WriteString(strings.Repeat(`\`, run))
			if i < len(spec) {
				b.WriteByte(spec[i])
				i++
			}
			continue
		}
		if run%2 == 0 {
			return "", false
		}
		b.WriteString(strings.Repeat(`\`, run/2))
		b.WriteByte('*')
		i++
	}
	return b.String(), true
}

// commandSpec is the inverse of exactCommand.
func commandSpec(command string) string {
	var b strings.Builder
	run := 0
	for i := range len(command) {
		switch command[i] {
		case '\\':
			run++
		case '*':
			b.WriteString(strings.Repeat(`\`, run+1))
			run = 0
		default:
			run = 0
		}
		b.WriteByte(command[i])
	}
	return b.String()
}

// unescapeParens reads a command the way tools do that want parentheses escaped.
func unescapeParens(s string) string {
	return strings.NewReplacer(`\(`, `(`, `\)`, `)`).Replace(s)
}

// speaksOf reports whether a deny or ask rule covers the call. In doubt it does.
func (r *Rule) speaksOf(c *call) bool {
	switch r.kind {
	case kindTool:
		return r.tool == "" || r.namesTool(c.tool)
	case kindCommand:
		return c.command != "" && (sameWords(r.exact, c.command) || r.exact2 != "" && sameWords(r.exact2, c.command))
	case kindAgent:
		return c.agent != "" && strings.EqualFold(r.agent, c.agent)
	case kindPath:
		return r.touches(c)
	default:
		return false
	}
}

// namesTool compares without regard to case: a deny rule for "bash" means Bash.
func (r *Rule) namesTool(tool string) bool {
	if r.glob {
		ok, err := path.Match(strings.ToLower(r.tool), strings.ToLower(tool))
		return ok || err != nil
	}
	return strings.EqualFold(r.tool, tool) || familyCovers(r.tool, tool)
}

// touches reports whether a path rule, as deny or ask, covers one of the call's paths. A
// rule about reading holds for whatever reads (Edit reads what it changes), one about
// writing for whatever writes.
func (r *Rule) touches(c *call) bool {
	edits := r.tool == toolEdit || r.tool == toolWrite
	own := strings.EqualFold(r.tool, c.tool) || familyCovers(r.tool, c.tool) || r.tool == toolWrite && c.tool == toolEdit
	if own && (c.unclear || len(c.paths) == 0) {
		return true
	}
	base, anchored := r.pat.base(c.at)
	for i := range c.paths {
		p := &c.paths[i]
		about := own || edits && p.write || r.tool == toolRead && (!p.write || c.tool == toolEdit)
		if about && (!anchored || r.pat.match(base, p.name, c.fold)) {
			return true
		}
	}
	return false
}

// allowsAll reports whether an allow rule covers the call whatever its paths.
func (r *Rule) allowsAll(c *call) bool {
	switch r.kind {
	case kindTool:
		return r.tool == c.tool || familyCovers(r.tool, c.tool)
	case kindCommand:
		return r.tool == c.tool && c.command != "" && r.exact == c.command
	case kindAgent:
		return c.tool == toolAgent && c.agent != "" && strings.EqualFold(r.agent, c.agent)
	default:
		return false
	}
}

// allowsPath reports whether an allow rule covers one path of the call.
func (r *Rule) allowsPath(c *call, p *callPath) bool {
	if r.kind != kindPath || r.tool != c.tool && !familyCovers(r.tool, c.tool) {
		return false
	}
	if p.write && r.tool != toolEdit && r.tool != toolWrite {
		return false // leave to read is not leave to write
	}
	base, ok := r.pat.base(c.at)
	return ok && r.pat.match(base, p.name, false)
}

// familyCovers reports whether rules for one tool hold for another as well.
func familyCovers(rule, tool string) bool {
	switch rule {
	case toolRead:
		return tool == toolGrep || tool == toolGlob
	case toolEdit:
		return tool == toolWrite
	default:
		return false
	}
}

// sameWords compares commands with runs of blanks as one, so that an extra space does not
// lead past a deny rule.
func sameWords(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	for a != "" && b != "" {
		if blank(a[0]) && blank(b[0]) {
			a, b = strings.TrimLeft(a, " \t\n"), strings.TrimLeft(b, " \t\n")
			continue
		}
		if a[0] != b[0] {
			return false
		}
		a, b = a[1:], b[1:]
	}
	return a == b
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

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
