package gate

import (
	"path"
	"strings"
)

// form is one way to write a command that a rule may mean.
type form struct {
	text string
	// pattern is the base name of what is run, if that is only known as a pattern of names;
	// text is then what follows it.
	pattern string
}

// forbidden are the readings of a rule that denies or asks about commands: as it is written,
// with its parentheses unescaped, without variables it sets, and with the name of the command
// alone, in lower case.
func forbidden(w wildcard) []wildcard {
	out := []wildcard{w.mapped(squeezed)}
	add := func(w wildcard) {
		w = w.mapped(squeezed)
		for _, has := range out {
			if strings.Join(has.lits, "*") == strings.Join(w.lits, "*") {
				return
			}
		}
		out = append(out, w)
	}
	for _, lit := range w.lits {
		if strings.Contains(lit, `\`) {
			add(w.mapped(unescapeParens))
		}
	}
	for _, v := range out {
		head := strings.TrimLeft(v.lits[0], " ")
		for {
			name, rest, found := strings.Cut(head, " ")
			if v, _, ok := strings.Cut(name, "="); !found || !ok || strings.ContainsAny(v, "-/") {
				break
			}
			head = rest
		}
		plain := wildcard{lits: append([]string{plainName(head)}, v.lits[1:]...), bare: v.bare}
		if strings.TrimSpace(head) != "" {
			add(plain)
		}
	}
	if w.exact() {
		for i := range out {
			out[i].lits[0] = strings.TrimSpace(out[i].lits[0])
		}
	}
	return out
}

// plainName writes a command with the base name of what it runs, in lower case.
func plainName(command string) string {
	name, rest, found := strings.Cut(command, " ")
	if i := strings.LastIndexByte(name, '/'); i >= 0 && i+1 < len(name) {
		name = name[i+1:]
	}
	name = strings.ToLower(name)
	if found {
		return name + " " + rest
	}
	return name
}

// forms are all commands in the call, and each in all the ways that a rule may write it:
// with and without wrappers and quotes, by path and by name.
func (c *call) forms() []form {
	m := c.take()
	if m.calls != nil {
		return m.calls
	}
	seen := make(map[string]bool, 2*len(m.parts)+1)
	add := func(f form) {
		if key := f.pattern + "\x00" + f.text; !seen[key] {
			seen[key] = true
			m.calls = append(m.calls, f)
		}
	}
	addText := func(s string) {
		add(form{text: s})
		if plain := plainName(s); plain != s {
			add(form{text: plain})
		}
	}
	addText(oneBlank(m.text))
	for i := range m.parts {
		p := &m.parts[i]
		if len(p.Words) == 0 {
			continue
		}
		texts := make([]string, len(p.Words))
		for j, w := range p.Words {
			texts[j] = w.Text
		}
		addText(oneBlank(p.Text))
		addText(oneBlank(p.Whole))
		addText(oneBlank(strings.Join(texts, " ")))
		if p.Words[0].Pattern {
			add(form{text: oneBlank(strings.Join(texts[1:], " ")), pattern: path.Base(p.Words[0].Text)})
		}
		for _, from := range startedBy(texts) {
			addText(oneBlank(from))
		}
	}
	if m.runsInput() {
		for _, s := range spoken(m.text) {
			addText(s)
		}
	}
	return m.calls
}

// forbids reports whether a rule that denies or asks covers a command in the call.
func (r *Rule) forbids(c *call) bool {
	forms := c.forms()
	for i := range r.forms {
		w := &r.forms[i]
		for _, f := range forms {
			if f.pattern == "" && w.match(f.text) || f.pattern != "" && w.meansPattern(f) {
				return true
			}
		}
	}
	return false
}

// meansPattern: what is run is a pattern of names, and the name in the rule is one of them.
func (w *wildcard) meansPattern(f form) bool {
	name, _, _ := strings.Cut(w.lits[0], " ")
	if name == "" {
		return true
	}
	ok, err := path.Match(strings.ToLower(f.pattern), path.Base(name))
	return (ok || err != nil) && w.match(strings.TrimRight(name+" "+f.text, " "))
}
