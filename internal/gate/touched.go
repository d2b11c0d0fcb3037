package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/reader"
)

// file is a file that a word of a command may name.
type file struct {
	name  string // absolute and clean
	write bool   // a redirect writes it; else it may be read
	// word is what names it, if that is only a word: it may be something else, such as what
	// is searched for.
	word string
	// adrift: name begins in a folder that is not known.
	adrift bool
}

// hidesFiles: a rule that keeps files from being read, so that commands must not read them
// either.
func (r *Rule) hidesFiles() bool {
	return (r.kind == kindPath || len(r.pats) > 0) && r.tool == toolRead && r.rule.Effect != troupe.Allow
}

// named are the files that the words of the command may name, in all readings: as a path, as
// the value of an option, as what follows a revision.
func (c *call) named() []file {
	m := c.take()
	if m.files != nil {
		return m.files
	}
	n := namer{c: c, at: c.where(), speller: c.speller(), seen: make(map[file]bool)}
	fed := m.lastFeed()
	for i := range m.parts {
		p := &m.parts[i]
		n.moved = p.Moved
		n.said = i < fed && len(p.Words) > 0 && (p.Words[0].Text == "echo" || p.Words[0].Text == "printf")
		for _, w := range p.Words {
			n.word(w, false, false)
		}
		n.said = false
		for _, a := range p.Assigns {
			n.word(a.Value, false, false)
		}
		for _, r := range p.Redirects {
			n.word(r.Path, r.Write, true)
		}
	}
	n.moved = m.moves()
	if said := c.verdictOf(); said.ReadOnly {
		n.said = true
		for _, name := range said.Reads {
			n.word(reader.Word{Text: name, Known: true}, false, false)
		}
		n.said = false
	}
	if len(m.parts) == 0 {
		for _, w := range fields(m.text) {
			n.word(reader.Word{Text: w, Known: true}, false, false)
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
	c       *call
	at      *whereabouts
	speller *speller
	moved   bool // the word may be meant from another folder
	said    bool // it is known to name files
	seen    map[file]bool
	out     []file
}

func (n *namer) word(w reader.Word, write, redirected bool) {
	for _, s := range n.speller.spell(w) {
		if s.cut || s.text == "" {
			continue
		}
		if s.glob {
			continue // patterns are looked at where nothing but reading says what they do
		}
		n.text(s.text, w.Known || s.own, write, redirected)
		if !w.Known && strings.ContainsAny(s.text, " \t\n") {
			for _, one := range strings.Fields(s.text) { // where it is not quoted, it becomes several
				n.text(one, s.own, write, redirected)
			}
		}
	}
}

// text notes what one text may name. own: it stands in the command as it is.
func (n *namer) text(text string, own, write, redirected bool) {
	add := func(name string) {
		if !own && strings.HasPrefix(name, "~/") {
			name = n.c.at.home + name[1:]
		}
		f := file{name: name, write: write}
		if own && !redirected && !n.said {
			f.word = name
		}
		n.add(f)
	}
	add(text)
	for _, sep := range []string{"=", ":", "@"} {
		if i := strings.LastIndex(text, sep); i >= 0 && i+1 < len(text) {
			add(text[i+1:])
		}
	}
	if len(text) > 2 && text[0] == '-' && text[1] != '-' {
		add(text[2:])
	}
}

func (n *namer) add(f file) {
	if path.IsAbs(f.name) {
		n.put(f)
		return
	}
	name := f.name
	for i, folder := range n.at.plain {
		if i > 0 && !n.moved {
			break
		}
		f.name = path.Join(folder, name)
		n.put(f)
	}
	if n.moved && n.at.anywhere {
		f.name, f.adrift = name, true
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
	if n.c.resolve == nil || f.adrift {
		return
	}
	if real := n.c.resolve(f.name); real != "" && real != f.name {
		f.name = path.Clean(real)
		n.out = append(n.out, f)
	}
}

// means reports whether the command means the file, and not something else by its name. What
// words are for is known of commands that only read.
func (c *call) means(f file) bool {
	if f.word == "" {
		return true
	}
	said := c.verdictOf()
	return !said.ReadOnly || slices.ContainsFunc(said.Reads, func(read string) bool { return strings.HasSuffix(read, f.word) })
}

// touchesNamed reports whether a deny or ask rule about paths covers a file that the command
// names: rules about reading whatever it names, rules about writing what it redirects to.
func (r *Rule) touchesNamed(c *call) bool {
	edits := r.edits()
	if r.tool != toolRead && !edits || edits && !strings.Contains(c.command.text, ">") {
		return false
	}
	files := c.named()
	if c.command.lost && !edits {
		return true
	}
	for _, f := range files {
		if edits && !f.write {
			continue
		}
		if (f.adrift && r.endsIn(f.name) || !f.adrift && r.matches(c.at, f.name, true, true)) && c.means(f) {
			return true
		}
	}
	return false
}

// endsIn: the rule is about files of this name, wherever they are.
func (r *Rule) endsIn(name string) bool {
	return slices.ContainsFunc(r.pats, func(p pattern) bool {
		n := len(p.segs)
		return n > 0 && p.segs[n-1].kind != segAny && strings.Trim(p.segs[n-1].text, "*") != "" && p.segs[n-1].matchName(path.Base(name), true)
	})
}

func literals(dir string) []segment {
	var out []segment
	for name := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if name != "" {
			out = append(out, segment{segLiteral, name})
		}
	}
	return out
}

// segmentsMeet reports whether a pattern of a rule, which covers what lies below it too, and
// one of the shell, in which ** is any number of folders, may mean the same file. In doubt they
// may.
func segmentsMeet(rule []segment, glob []string) bool {
	// can[j]: what is left of the rule meets what is left of the pattern behind its first j.
	can := make([]bool, len(glob)+1)
	for i := len(rule); i >= 0; i-- {
		next := make([]bool, len(glob)+1)
		for j := len(glob); j >= 0; j-- {
			switch {
			case i == len(rule):
				next[j] = true
			case j == len(glob):
				next[j] = rule[i].kind == segAny && i == len(rule)-1
			case glob[j] == "**":
				next[j] = next[j+1] || can[j]
			case rule[i].kind == segAny:
				next[j] = can[j] || next[j+1]
			default:
				next[j] = nameMeets(rule[i], glob[j]) && can[j+1]
			}
		}
		can = next
	}
	return can[0]
}

func nameMeets(s segment, glob string) bool {
	wild := strings.ContainsAny(glob, `*?[`)
	switch {
	case !wild:
		return s.matchName(unescape(glob), true)
	case s.kind == segLiteral:
		if strings.HasPrefix(s.text, ".") && strings.ContainsAny(glob[:1], "*?[") {
			return false // the shell leaves out what is hidden
		}
		ok, err := path.Match(strings.ToLower(strings.ReplaceAll(glob, "[!", "[^")), strings.ToLower(s.text))
		return ok || err != nil
	default:
		return true
	}
}
