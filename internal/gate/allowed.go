package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/command"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// matchCommand notes what an allow rule covers of a command.
func (c *call) matchCommand(r *rule.Rule, layer int) {
	m := &c.shell
	switch r.Kind {
	case rule.KindTool:
		if r.AllowsTool(c.facts) {
			m.toolRule.take(r, layer)
		}
		if r.Tool == rule.ToolEdit || r.Tool == rule.ToolWrite {
			c.matchWrites(r, layer)
		}
	case rule.KindPath:
		if r.Tool == rule.ToolEdit || r.Tool == rule.ToolWrite {
			c.matchWrites(r, layer)
		}
	case rule.KindCommand:
		if r.Tool != c.tool || m.exact.found {
			return
		}
		if r.Words.Exact() && r.Words.Lits[0] == m.text && !(r.Written.Bounded && writesGuarded(c)) {
			m.exact.take(r, layer)
			return
		}
		for i := range c.parsed().parts {
			if p := &m.parts[i]; !p.by.found && matchesPart(r, c, p) {
				p.by.take(r, layer)
			}
		}
	default:
	}
}

// writesGuarded reports whether a redirect of the command writes what is protected, or may.
func writesGuarded(c *call) bool {
	return strings.Contains(c.shell.text, ">") && slices.ContainsFunc(c.parsed().parts, func(p part) bool {
		return slices.ContainsFunc(p.writes, func(t target) bool {
			return len(t.guards) > 0 || t.name == "" && !t.nowhere
		})
	})
}

func (c *call) matchWrites(r *rule.Rule, layer int) {
	matchTree(c, r, layer)
	if !strings.Contains(c.shell.text, ">") {
		return
	}
	m := c.parsed()
	for i := range m.parts {
		for j := range m.parts[i].writes {
			t := &m.parts[i].writes[j]
			if t.name != "" && !t.by.found && matchesFile(r, c, t.name, t.guards) {
				t.by.take(r, layer)
			}
		}
	}
}

// matchesPart reports whether an allow rule for commands covers one part of this one.
func matchesPart(r *rule.Rule, c *call, p *part) bool {
	if len(p.Words) == 0 || p.Via != "" && !p.Words[0].Known {
		return false
	}
	w := &r.Words
	if !w.Exact() && !keepsToPaths(w, p) {
		return false
	}
	if w.Exact() {
		text := w.Lits[0]
		if text == p.Text || text == p.Whole {
			return safeAssigns(p.Assigns)
		}
		return false
	}
	text, named := p.Text, false
	switch {
	case safeAssigns(p.Assigns) && w.Match(p.Text):
	case safeAssigns(p.Assigns) && len(p.Wrappers) > 0 && w.Match(p.Whole):
		// A wrapper runs anything: the rule has to name what.
		text, named = p.Whole, true
	case len(p.Assigns) > 0 && c.single() && w.Match(strings.TrimSpace(c.shell.text)):
		// The rule begins with the variables that are set.
		text, named = strings.TrimSpace(c.shell.text), true
	default:
		return false
	}
	if at := strings.LastIndex(text, p.Text); named && (at < 0 || len(w.Lits[0]) <= at) {
		return false
	}
	return matchesWords(r, c, p)
}

// single: the command is one simple command and nothing else.
func (c *call) single() bool {
	m := c.parsed()
	return len(m.parts) == 1 && len(m.parts[0].Redirects) == 0 && len(m.unclear) == 0
}

// matchesWords holds a rule with a wildcard to what it says. It leaves open what a command is
// used on, and not what it is used for: a rule that begins with the name of a command that
// reads covers its reading, and none covers what only runs other commands.
func matchesWords(r *rule.Rule, c *call, p *part) bool {
	first := p.Words[0]
	if !first.Known || first.Text == "" {
		return false
	}
	head := strings.Fields(r.Words.Lits[0])
	if len(head) == 0 {
		return r.Words.MatchesName(p.Text, first.Text)
	}
	if strings.Contains(first.Text, "..") && !strings.HasPrefix(r.Words.Lits[0], first.Text) && climbs(first.Text) {
		return false
	}
	name := path.Base(first.Text)
	switch {
	case command.ChangesShell(name):
		return false
	case command.StartsOthers(name):
		// "sudo -u x" says as little as "sudo".
		return slices.ContainsFunc(head[1:], func(w string) bool {
			return w[0] != '-' && !strings.Contains(w,
				"=")
		}) && c.namesStarted(r, p)
	case name == "git":
		return c.matchesGit(head, p)
	case command.Looks(name) && !slices.ContainsFunc(head[1:], writingWord):
		return c.isFree(p)
	default:
		return carries(c, r, p) == ""
	}
}

// carries says what in a part has its program do something else than it is used for, beyond what the rule
// spells out; "" if nothing does.
func carries(c *call, r *rule.Rule, p *part) string {
	said := strings.Fields(r.Words.Lits[0])
	if at := slices.Index(said, p.Words[0].Text); at > 0 {
		said = said[at:] // what stands before it are variables and wrappers
	}
	for _, lit := range r.Words.Lits[1:] {
		for word := range strings.FieldsSeq(lit) {
			if strings.HasPrefix(word, "-") {
				said = append(said, word)
			}
		}
	}
	for _, words := range c.vars().Readings(&p.Part) {
		if why := command.Carries(words, said); why != "" {
			c.shell.carries = why
			return why
		}
	}
	return ""
}

// namesStarted: the last word that the rule spells out is not an option's value, but there is
// no telling for every program; so it has to be one that the command holds as a whole word
// before any that begins with a dash.
func (c *call) namesStarted(r *rule.Rule, p *part) bool {
	head := strings.Fields(r.Words.Lits[0])
	for i, w := range p.Words {
		if i == 0 {
			continue
		}
		if !w.Known {
			return false
		}
		if strings.HasPrefix(w.Text, "-") || strings.Contains(w.Text, "=") {
			if i >= len(head) {
				return false
			}
			continue
		}
		return i < len(head)
	}
	return false
}

// climbs: a path with a .. that is not at its beginning leads away from what it begins with.
func climbs(name string) bool {
	segs := strings.Split(name, "/")
	return slices.Contains(segs, "..")
}

// matchesGit: git's own options, before its subcommand, can have it run anything, and so can a
// few behind it; and a folder that the command only comes to may hold a repository whose
// settings do.
func (c *call) matchesGit(head []string, p *part) bool {
	if p.Moved {
		return c.isFree(p)
	}
	own := make([]command.Word, 0, len(head))
	for _, w := range head[1:] {
		own = append(own, command.Word{Text: w, Known: true})
	}
	if command.GitRuns(withoutMessages(p.Words[1:])) && !command.GitRuns(own) {
		return false // it runs a program of the caller's choice, or writes a file, which the rule does not say
	}
	sub := ""
	for i, w := range p.Words[1:] {
		if i+1 < len(head) && w.Known && head[i+1] == w.Text {
			if sub == "" && !strings.HasPrefix(w.Text, "-") {
				sub = w.Text
			}
			continue // the rule says so
		}
		if !w.Known && (sub == "" || !strings.HasPrefix(w.Text, "\"")) && sub == "" {
			return false
		}
		if sub == "" {
			if strings.HasPrefix(w.Text, "-") && w.Text != "--no-pager" && w.Text != "--no-optional-locks" {
				return false
			}
			if !strings.HasPrefix(w.Text, "-") {
				sub = w.Text
			}
		}
	}
	if len(head) > 1 && command.GitReads(sub) && !slices.ContainsFunc(head[2:],
		func(w string) bool { return strings.HasPrefix(w, "-") }) {
		return c.isFree(p)
	}
	return true
}

// withoutMessages leaves out what is only known when it runs and is the value of -m, where that has one:
// git takes the next word for it, whatever it is.
func withoutMessages(args []command.Word) []command.Word {
	if len(args) == 0 || !slices.Contains([]string{"commit", "tag", "merge", "stash", "notes"}, args[0].Text) {
		return args
	}
	var out []command.Word
	for i, w := range args {
		if i > 0 && !w.Known && strings.HasPrefix(w.Text, `"`) && args[i-1].Known && takesMessage(args[i-1].Text) {
			continue
		}
		out = append(out, w)
	}
	return out
}

// takesMessage: -m, alone or as the last of several letters, or --message.
func takesMessage(option string) bool {
	if option == "--message" {
		return true
	}
	letters, ok := strings.CutPrefix(option, "-")
	return ok && strings.HasSuffix(letters, "m") && strings.Trim(letters,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// writingWord: a rule that spells such a word out means the writing use of a command.
func writingWord(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	switch name {
	case "-i", "--in-place", "-o", "--output", "-delete", "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--pre":
		return true
	}
	return false
}

func safeAssigns(assigns []command.Assign) bool {
	return !slices.ContainsFunc(assigns, func(a command.Assign) bool { return !command.SafeVariable(a) })
}
