package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/command"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// form is one way to write a command that a rule may mean.
type form struct {
	text string
	// pattern is the base name of what is run, if that is only known as a pattern of names;
	// text is then what follows it.
	pattern string
	// words are those of the text, to be looked at without options that stand in front; nil if
	// another form has them.
	words []string
}

// forms are all commands in the call, and each in all the ways that a rule may write it:
// with and without wrappers and quotes, by path and by name.
func (c *call) forms() []form {
	m := c.parsed()
	if m.calls != nil {
		return m.calls
	}
	seen := make(map[string]int, 2*len(m.parts)+1)
	add := func(f form) {
		key := f.pattern + "\x00" + f.text
		if at, known := seen[key]; known {
			if m.calls[at].words == nil {
				m.calls[at].words = f.words
			}
			return
		}
		seen[key] = len(m.calls)
		m.calls = append(m.calls, f)
	}
	addText := func(s string, words []string) {
		add(form{text: s, words: words})
		if plain := rule.PlainName(s); plain != s {
			add(form{text: plain})
		}
	}
	// Of a list of commands, words that stand in different ones are not each other's.
	addText(rule.OneBlank(m.text), m.onlyWords())
	for i := range m.parts {
		p := &m.parts[i]
		for _, text := range c.vars().HandedOn(&p.Part) {
			for _, said := range command.Spoken(text) {
				addText(rule.OneBlank(said), strings.Fields(said))
			}
		}
		if len(p.Words) == 0 {
			continue
		}
		texts := make([]string, len(p.Words))
		for j, w := range p.Words {
			texts[j] = w.Text
		}
		addText(rule.OneBlank(strings.Join(texts, " ")), texts)
		addText(rule.OneBlank(p.Text), nil)
		addText(rule.OneBlank(p.Whole), nil)
		if p.Words[0].Pattern {
			add(form{text: rule.OneBlank(strings.Join(texts[1:], " ")), pattern: path.Base(p.Words[0].Text),
				words: texts})
		}
		for _, said := range c.expanded(p) {
			addText(said, strings.Fields(said))
		}
		for _, from := range command.StartedBy(texts) {
			addText(rule.OneBlank(from), strings.Fields(from))
		}
	}
	if m.read.RunsInput() {
		for _, s := range command.Spoken(m.text) {
			addText(s, strings.Fields(s))
		}
	}
	return m.calls
}

// expanded is a part with what the command itself says about its variables: "x=push; git $x".
func (c *call) expanded(p *part) []string {
	const most = 16
	if !slices.ContainsFunc(p.Words, func(w command.Word) bool { return !w.Known && strings.Contains(w.Text, "$") }) {
		return nil
	}
	out := []string{""}
	for _, w := range p.Words {
		said := []string{w.Text}
		if !w.Known {
			for _, t := range c.vars().Expand(w) {
				if !t.Cut && !t.Glob && t.Own {
					said = append(said, t.Text)
				}
			}
		}
		if len(said) > 1 {
			said = said[1:]
		}
		var next []string
		for _, head := range out {
			for _, text := range said[:min(len(said), most/len(out))] {
				next = append(next, strings.TrimSpace(head+" "+text))
			}
		}
		out = next
	}
	for i := range out {
		out[i] = rule.OneBlank(out[i])
	}
	return out
}

// onlyWords are the words of a command that could not be taken apart.
func (m *shell) onlyWords() []string {
	if len(m.parts) > 0 {
		return nil
	}
	return strings.Fields(m.text)
}

// matchesCommand reports whether a rule that denies or asks covers a command in the call.
func matchesCommand(r *rule.Rule, c *call) bool {
	forms := c.forms()
	for i := range r.Denials {
		w := &r.Denials[i]
		for _, f := range forms {
			if f.pattern == "" && (w.Match(f.text) || matchBehindOptions(w, f.words)) || f.pattern != "" &&
				meansPattern(w, f) {
				return true
			}
		}
	}
	return false
}

// meansPattern: what is run is a pattern of names, and the name in the rule is one of them.
func meansPattern(w *rule.Wildcard, f form) bool {
	name, _, _ := strings.Cut(w.Lits[0], " ")
	if name == "" {
		return true
	}
	ok, err := path.Match(strings.ToLower(f.pattern), path.Base(name))
	if !ok && err == nil {
		return false
	}
	return w.Match(strings.TrimRight(name+" "+f.text, " ")) || matchBehindOptions(w, append([]string{name},
		f.words[1:]...))
}
