package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/command"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// file is a file that a word of a command may name.
type file struct {
	name  string // absolute and clean
	write bool   // a redirect writes it; else it may be read
	// unanchored: name begins in a folder that is not known.
	unanchored bool
}

// named are the files that the words of the command may name, in all readings: as a path, as
// the value of an option, as what follows a revision. Of a command that only reads, it is known
// which of its words are files.
func (c *call) named() []file {
	m := c.parsed()
	if m.files != nil {
		return m.files
	}
	n := namer{c: c, in: c.where(), seen: make(map[file]bool), moved: m.moves()}
	said := c.verdictOf()
	elsewhere := said.Open
	for _, s := range said.Reads {
		n.word(s.Word, false)
		elsewhere = elsewhere || slices.ContainsFunc(c.vars().Expand(s.Word),
			func(t command.Text) bool { return t.Cut })
	}
	for _, w := range said.Says {
		if elsewhere {
			n.word(w, false)
		}
	}
	for i := range m.parts {
		p := &m.parts[i]
		for _, r := range p.Redirects {
			n.word(r.Path, r.Write)
		}
		if said.ReadOnly {
			continue
		}
		for _, w := range append(slices.Clip(p.Taken), p.Words...) {
			n.word(w, false)
		}
		for _, a := range p.Assigns {
			n.word(a.Value, false)
		}
	}
	if len(m.parts) == 0 {
		for _, w := range fields(m.text) {
			n.text(w, false)
		}
	}
	m.files = n.out
	return m.files
}

// fields are the words of a text that nobody can read as commands.
func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|<>()'\"`", r) })
}

// namer collects the files that words may name.
type namer struct {
	c     *call
	in    *folders
	moved bool // some words may be meant from another folder
	seen  map[file]bool
	out   []file
}

func (n *namer) word(w command.Word, write bool) {
	for _, t := range n.c.vars().Expand(w) {
		if t.Cut || t.Glob || t.Text == "" {
			continue // patterns are looked at where nothing but reading says what they do
		}
		n.text(t.Text, write)
		if !w.Known && strings.ContainsAny(t.Text, " \t\n") {
			for _, one := range strings.Fields(t.Text) { // where it is not quoted, it becomes several
				n.text(one, write)
			}
		}
	}
}

// text notes what one text may name.
func (n *namer) text(text string, write bool) {
	n.add(file{name: text, write: write})
	for _, sep := range []string{"=", ":", "@"} {
		if i := strings.LastIndex(text, sep); i >= 0 && i+1 < len(text) {
			n.add(file{name: text[i+1:], write: write})
		}
	}
	if magic, rest, ok := strings.Cut(text, ")"); ok && strings.HasPrefix(magic, ":(") { // of git
		n.add(file{name: rest, write: write})
	}
	n.add(file{name: strings.TrimPrefix(text, ":/"), write: write})
	if len(text) > 2 && text[0] == '-' && text[1] != '-' {
		n.add(file{name: text[2:], write: write})
	}
}

func (n *namer) add(f file) {
	if path.IsAbs(f.name) {
		n.put(f)
		return
	}
	name := f.name
	for i, folder := range n.in.known {
		if i > 0 && !n.moved {
			break
		}
		f.name = path.Join(folder, name)
		n.put(f)
	}
	if n.moved && n.in.anywhere {
		f.name, f.unanchored = name, true
		n.put(f)
	}
}

func (n *namer) put(f file) {
	f.name = path.Clean(f.name)
	if n.seen[f] {
		return
	}
	n.seen[f] = true
	n.out = append(n.out, f)
	if n.c.resolve == nil || f.unanchored {
		return
	}
	if real := n.c.resolve(f.name); real != "" && real != f.name {
		f.name = path.Clean(real)
		n.out = append(n.out, f)
	}
}

// matchesNamed reports whether a deny or ask rule about paths covers a file that the command
// names: rules about reading whatever it names, rules about writing what it redirects to.
func matchesNamed(r *rule.Rule, c *call) bool {
	edits := r.Edits()
	if r.Tool != rule.ToolRead && !edits || edits && !strings.Contains(c.shell.text, ">") {
		return false
	}
	if !edits && r.Covers(c.at, c.at.Project) && readsHere(c) {
		return true
	}
	return slices.ContainsFunc(c.named(), func(f file) bool {
		return (f.write || !edits) && (f.unanchored && r.EndsIn(f.name) || !f.unanchored && r.Matches(c.at, f.name,
			true, true))
	})
}

// readsHere reports whether the command may read files that it does not name: it runs what nobody knows to
// read only what it names, it looks around, or a name is only known when it runs.
func readsHere(c *call) bool {
	said := c.verdictOf()
	return !said.ReadOnly || said.Here || said.Open || slices.ContainsFunc(said.Reads, func(s command.Source) bool {
		return !s.Name && slices.ContainsFunc(c.vars().Expand(s.Word),
			func(t command.Text) bool { return t.Cut || t.Glob })
	})
}
