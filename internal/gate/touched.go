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
}

// hidesFiles: a rule that keeps files from being read, so that commands must not read them
// either.
func (r *Rule) hidesFiles() bool {
	return r.kind == kindPath && r.tool == toolRead && r.rule.Effect != troupe.Allow
}

// named are the files that the words of the command may name, in all readings: as a path, as
// the value of an option, as what follows a revision.
func (c *call) named() []file {
	m := c.take()
	if m.files != nil {
		return m.files
	}
	n := namer{c: c, seen: make(map[file]bool)}
	if path.IsAbs(c.at.project) {
		n.folders = append(n.folders, path.Clean(c.at.project))
	}
	for i := range m.parts {
		if p := &m.parts[i]; len(p.Words) > 1 && (p.Words[0].Text == "cd" || p.Words[0].Text == "pushd") {
			n.move(n.expand(p.Words[len(p.Words)-1]))
		}
	}
	for i := range m.parts {
		p := &m.parts[i]
		for _, w := range p.Words {
			n.word(w, false, false)
		}
		for _, a := range p.Assigns {
			n.word(a.Value, false, false)
		}
		for _, r := range p.Redirects {
			n.word(r.Path, r.Write, true)
		}
	}
	if len(m.parts) == 0 {
		for _, w := range strings.FieldsFunc(m.text, func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|<>()'\"`", r) }) {
			n.word(reader.Word{Text: w, Known: true}, false, false)
		}
	}
	m.files = n.out
	return m.files
}

// namer collects the files that words may name.
type namer struct {
	c       *call
	folders []string // that it may be in
	seen    map[file]bool
	out     []file
}

// expand writes a word with what its commonest variables stand for; "" if something else in
// it is only known when it runs.
func (n *namer) expand(w reader.Word) string {
	if w.Known {
		return w.Text
	}
	text := strings.NewReplacer(`"`, "", `'`, "", `\`, "", "${HOME}", n.c.at.home, "$HOME", n.c.at.home,
		"${PWD}", n.c.at.project, "$PWD", n.c.at.project).Replace(w.Text)
	if text == "~" || strings.HasPrefix(text, "~/") {
		text = n.c.at.home + text[1:]
	}
	if strings.HasPrefix(text, "~+") {
		text = n.c.at.project + text[2:]
	}
	if strings.ContainsAny(text, "$`") {
		return ""
	}
	return text
}

func (n *namer) word(w reader.Word, write, redirected bool) {
	text := n.expand(w)
	if text == "" || w.Pattern {
		return // patterns are looked at where nothing but reading says what they do
	}
	add := func(name string) {
		if !w.Known && strings.HasPrefix(name, "~/") {
			name = n.c.at.home + name[1:]
		}
		f := file{name: name, write: write}
		if w.Known && !redirected {
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
	for _, folder := range n.folders {
		f.name = path.Join(folder, name)
		n.put(f)
	}
}

// move notes that the command goes to another folder, from any that it may be in.
func (n *namer) move(to string) {
	const most = 1024
	switch {
	case to == "":
	case path.IsAbs(to):
		n.folders = append(n.folders, path.Clean(to))
	default:
		for _, from := range slices.Clone(n.folders) {
			if next := path.Join(from, to); !slices.Contains(n.folders, next) {
				n.folders = append(n.folders, next)
			}
		}
	}
	if len(n.folders) > most {
		n.folders, n.c.command.lost = n.folders[:most], true
	}
}

func (n *namer) put(f file) {
	f.name = path.Clean(f.name)
	if n.seen[f] {
		return
	}
	n.seen[f] = true
	n.out = append(n.out, f)
	if n.c.resolve == nil {
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
	base, anchored := r.pat.base(c.at)
	files := c.named()
	if c.command.lost && !edits {
		return true
	}
	for _, f := range files {
		if edits && !f.write {
			continue
		}
		if (!anchored || r.pat.match(base, f.name, c.fold)) && c.means(f) {
			return true
		}
	}
	return false
}

// mayReadHidden reports whether a command that only reads may read a file that a rule keeps
// from being read, or that is hidden without one, and does not name it so that the rule
// itself could say so.
func (v *view) mayReadHidden(said *reader.Verdict) bool {
	if v.globsHidden(said.Patterns) {
		return true
	}
	if len(v.command.hides) == 0 || !v.command.hides[0].holds(v.layer) {
		return false
	}
	for _, h := range v.command.hides {
		if !h.holds(v.layer) {
			continue
		}
		base, anchored := h.rule.pat.base(v.at)
		if !anchored || said.Open && v.reachedFrom(h.rule, base) {
			return true
		}
		for _, glob := range said.Patterns {
			if v.globMayMean(glob, h.rule, base) {
				return true
			}
		}
	}
	return false
}

// globsHidden: a pattern of file names in the command means a file that is hidden and there.
func (c *call) globsHidden(globs []string) bool {
	if len(globs) == 0 || len(c.levels) > 0 || c.exist == nil {
		return false
	}
	n := namer{c: c}
	for _, file := range c.exist() {
		for _, glob := range globs {
			glob = n.expand(reader.Word{Text: glob})
			switch {
			case glob == "":
				return true
			case path.IsAbs(glob):
			case c.moves():
				// It may be meant from any folder: its last part decides.
				glob = path.Join(path.Dir(file), path.Base(glob))
			default:
				glob = path.Join(c.at.project, glob)
			}
			if segmentsMeet(literals(file), strings.Split(strings.Trim(path.Clean(glob), "/"), "/")) {
				return true
			}
		}
	}
	return false
}

// reachedFrom: the rule's files may lie below the folder the command begins in, or below one
// that it names.
func (c *call) reachedFrom(r *Rule, base string) bool {
	top := base
	for _, s := range r.pat.segs {
		if s.kind != segLiteral {
			break
		}
		top = path.Join(top, s.text)
	}
	within := func(folder string) bool {
		_, inner := below(folder, top, c.fold)
		_, outer := below(top, folder, c.fold)
		return inner || outer
	}
	if !path.IsAbs(c.at.project) || within(path.Clean(c.at.project)) {
		return true
	}
	return slices.ContainsFunc(c.named(), func(f file) bool { return f.name != c.at.project && within(f.name) })
}

// globMayMean: a pattern of file names in the command may mean one of the rule's files.
func (c *call) globMayMean(glob string, r *Rule, base string) bool {
	n := namer{c: c}
	glob = n.expand(reader.Word{Text: glob})
	if glob == "" || len(c.command.hides) > 0 && c.moves() {
		return true
	}
	if !path.IsAbs(glob) {
		if !path.IsAbs(c.at.project) {
			return true
		}
		glob = path.Join(c.at.project, glob)
	}
	segs := append(literals(base), r.pat.segs...)
	return segmentsMeet(segs, strings.Split(strings.Trim(path.Clean(glob), "/"), "/"))
}

func (c *call) moves() bool {
	return slices.ContainsFunc(c.take().parts, func(p part) bool { return p.Moved })
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
// one of the shell may mean the same file. In doubt they may.
func segmentsMeet(rule []segment, glob []string) bool {
	switch {
	case len(rule) == 0:
		return true
	case len(glob) == 0:
		return len(rule) == 1 && rule[0].kind == segAny
	case rule[0].kind == segAny:
		return segmentsMeet(rule[1:], glob) || segmentsMeet(rule, glob[1:])
	case !nameMeets(rule[0], glob[0]):
		return false
	default:
		return segmentsMeet(rule[1:], glob[1:])
	}
}

func nameMeets(s segment, glob string) bool {
	if glob == "**" {
		return true
	}
	wild := strings.ContainsAny(glob, `*?[\`)
	switch {
	case s.kind == segLiteral && !wild:
		return s.text == glob
	case s.kind == segLiteral:
		if strings.HasPrefix(s.text, ".") && strings.ContainsAny(glob[:1], "*?[") {
			return false // the shell leaves out what is hidden
		}
		ok, err := path.Match(strings.ReplaceAll(glob, "[!", "[^"), s.text)
		return ok || err != nil
	case !wild:
		return s.matchName(glob, false)
	default:
		return true
	}
}
