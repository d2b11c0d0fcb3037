package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/reader"
)

// spelling is one text that a word may become when it runs.
type spelling struct {
	text string // with \ before what is no pattern, if it is one
	glob bool   // a pattern of names
	cut  bool   // what follows is only known when it runs
	own  bool   // it holds nothing but texts of the command
}

const (
	maxSpellings = 64
	maxNested    = 6 // variables that are set by others
)

// speller writes words out with what the command itself, and the session, say about their
// variables.
type speller struct {
	home    string
	folders []string // that the command may be in
	values  map[string][]reader.Word
}

// speller learns what the variables of a command may hold.
func (c *call) speller() *speller {
	m := c.take()
	if m.speller == nil {
		m.speller = &speller{home: c.at.home, values: make(map[string][]reader.Word)}
		if path.IsAbs(c.at.project) {
			m.speller.folders = []string{path.Clean(c.at.project)}
		}
		for i := range m.parts {
			for _, a := range m.parts[i].Assigns {
				m.speller.values[a.Name] = append(m.speller.values[a.Name], a.Value)
			}
		}
	}
	return m.speller
}

// spell lists what a word may become. One that is cut may be anything that begins like it.
func (s *speller) spell(w reader.Word) []spelling {
	if w.Known {
		return []spelling{{text: w.Text, own: true}}
	}
	out := s.spellText(w.Text, 0)
	for i := range out {
		if !out[i].glob {
			out[i].text = unescape(out[i].text)
		}
	}
	return out
}

// spellText reads a word as it is written. The texts it returns have all that is special in
// patterns escaped where it is text.
func (s *speller) spellText(text string, depth int) []spelling {
	var done []spelling
	open := []spelling{{own: true}}
	literal := func(t string) {
		for i := range open {
			open[i].text += escapeGlob(t)
		}
	}
	cut := func() []spelling {
		for i := range open {
			open[i].cut = true
		}
		return append(done, open...)
	}
	// choose goes on with each of several texts.
	choose := func(choices []spelling) {
		var next []spelling
		for _, o := range open {
			for _, ch := range choices {
				ch.text, ch.glob, ch.own = o.text+ch.text, o.glob || ch.glob, o.own && ch.own
				if ch.cut {
					done = append(done, ch)
				} else {
					next = append(next, ch)
				}
			}
		}
		open = next
	}
	quoted := false
	for i := 0; i < len(text); i++ {
		if len(open) == 0 || len(open)+len(done) > maxSpellings {
			return cut()
		}
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			literal(text[i : i+1])
		case c == '"':
			quoted = !quoted
		case c == '\'' && !quoted:
			end := strings.IndexByte(text[i+1:], '\'')
			if end < 0 {
				return cut()
			}
			literal(text[i+1 : i+1+end])
			i += end + 1
		case c == '~' && !quoted && (i == 0 || text[i-1] == '=' || text[i-1] == ':'):
			name, _, _ := strings.Cut(text[i+1:], "/")
			if strings.ContainsAny(name, "'\"$`*?[\\{") {
				return cut()
			}
			choose(s.tilde(name))
			i += len(name)
		case c == '`', (c == '<' || c == '>') && !quoted:
			return cut()
		case c == '$':
			choices, width := s.variable(text[i:], depth)
			if width == 0 {
				return cut()
			}
			choose(choices)
			i += width - 1
		case strings.IndexByte("*?[", c) >= 0 && !quoted:
			for k := range open {
				open[k].text += text[i : i+1]
				open[k].glob = true
			}
		case c == ']' || c == '!' || c == '^' || c == '-':
			for k := range open {
				open[k].text += text[i : i+1]
			}
		default:
			literal(text[i : i+1])
		}
	}
	return append(done, open...)
}

// tilde are the folders that ~name may stand for: another user may be this one.
func (s *speller) tilde(name string) []spelling {
	var dirs []string
	switch name {
	case "":
		dirs = []string{s.home}
	case "+":
		dirs = s.folders
	case "-":
		return []spelling{{cut: true}}
	default:
		dirs = []string{s.home, path.Join("/home", name)}
		if name == "root" {
			dirs = []string{s.home, "/root"}
		}
		if s.home != "" {
			dirs = append(dirs, path.Join(path.Dir(s.home), name))
		}
	}
	var out []spelling
	for _, d := range dirs {
		out = append(out, spelling{text: escapeGlob(d)})
	}
	if len(out) == 0 {
		return []spelling{{cut: true}}
	}
	return out
}

// variable reads the variable that text begins with, and how long its name is written; 0 if
// what it becomes is only known when it runs.
func (s *speller) variable(text string, depth int) ([]spelling, int) {
	if len(text) < 2 {
		return []spelling{{text: "$", own: true}}, 1
	}
	switch c := text[1]; {
	case c == '{':
		end := strings.IndexByte(text, '}')
		if end < 0 || strings.ContainsAny(text[2:end], "{`") {
			return nil, 0
		}
		name, or := text[2:end], ""
		if k := strings.IndexAny(name, ":-=+"); k > 0 {
			op := strings.TrimPrefix(name[k:], ":")
			if op == "" || strings.IndexByte("-=+", op[0]) < 0 {
				return nil, 0
			}
			name, or = name[:k], op[1:]
			return append(s.valueOf(name, depth), s.spellText(or, depth+1)...), end + 1
		}
		if !isVariable(name) && strings.Trim(name, "0123456789@*") != "" {
			return nil, 0
		}
		return s.valueOf(name, depth), end + 1
	case strings.IndexByte("@*123456789", c) >= 0:
		return s.valueOf(text[1:2], depth), 2
	case c == '"':
		return []spelling{{own: true}}, 1
	case c == '\'':
		end := strings.IndexByte(text[2:], '\'')
		if end < 0 || strings.Contains(text[2:2+end], `\`) {
			return nil, 0
		}
		return []spelling{{text: escapeGlob(text[2 : 2+end]), own: true}}, end + 3
	}
	n := 1
	for n < len(text) && isVariable(text[1:n+1]) {
		n++
	}
	if n == 1 {
		return nil, 0
	}
	return s.valueOf(text[1:n], depth), n
}

func (s *speller) valueOf(name string, depth int) []spelling {
	var out []spelling
	words := s.values[name]
	for _, w := range words {
		switch {
		case depth >= maxNested || len(out) > maxSpellings:
			out = append(out, spelling{cut: true})
		case !w.Known && len(out) > 0:
			// It may be added to what the variable held.
			more := append(s.spellText(w.Text, depth+1), spelling{cut: true})
			for _, before := range slices.Clone(out) {
				for _, m := range more {
					if !before.cut {
						out = append(out, spelling{text: before.text + m.text, glob: before.glob || m.glob, cut: m.cut, own: before.own && m.own})
					}
				}
			}
			out = append(out, more...)
		case w.Known:
			// Where it is not quoted, what is special in it means something again.
			out = append(out, spelling{text: strings.ReplaceAll(w.Text, `\`, `\\`), glob: strings.ContainsAny(w.Text, "*?["), own: true})
		default:
			out = append(out, s.spellText(w.Text, depth+1)...)
		}
	}
	switch {
	case name == "HOME":
		out = append(out, spelling{text: escapeGlob(s.home)})
	case name == "PWD":
		for _, d := range s.folders {
			out = append(out, spelling{text: escapeGlob(d)})
		}
	case strings.Trim(name, "0123456789@*") == "":
		out = append(out, spelling{own: true}, spelling{cut: true})
	case len(words) == 0:
		out = append(out, spelling{cut: true})
	}
	if len(out) > maxSpellings {
		out = append(out[:maxSpellings], spelling{cut: true})
	}
	if len(out) == 0 {
		out = []spelling{{cut: true}}
	}
	return out
}

func isVariable(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) && (name[0] < '0' || name[0] > '9')
}

func escapeGlob(s string) string {
	if !strings.ContainsAny(s, `*?[\`) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(`*?[\`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// whereabouts are the folders that a command may be in.
type whereabouts struct {
	plain    []string // absolute and clean
	wild     []string // patterns of folders, absolute
	anywhere bool
}

// where follows what changes the folder.
func (c *call) where() *whereabouts {
	m := c.take()
	if m.at != nil {
		return m.at
	}
	s := c.speller()
	if folder := c.begins(m.text); folder != "" {
		s.folders = []string{folder}
		m.at = &whereabouts{plain: []string{folder}}
		return m.at
	}
	m.at = &whereabouts{plain: slices.Clone(s.folders)}
	for i := range m.parts {
		for _, to := range c.moveOf(&m.parts[i]) {
			m.at.move(to, m)
			s.folders = m.at.plain
		}
	}
	for name := range s.values {
		switch name {
		case "CDPATH", "HOME", "PWD", "OLDPWD":
			m.at.anywhere = m.at.anywhere || m.moves()
		}
	}
	return m.at
}

// begins is the folder that all of a command runs in, if its first word is a plain cd into the project
// and nothing comes after it unless that went well; "" if it is not so simple.
func (c *call) begins(text string) string {
	text, ok := strings.CutPrefix(strings.TrimSpace(text), "cd ")
	to, rest, and := strings.Cut(text, "&&")
	to = strings.TrimSpace(to)
	rest = strings.ReplaceAll(rest, "&&", "")
	if !ok || !and || to == "" || to[0] == '-' || to[0] == '/' || strings.Trim(to, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-") != "" ||
		strings.ContainsAny(rest, ";&\n`$") || strings.Contains(rest, "||") || strings.Contains(rest, "cd") ||
		strings.Contains(rest, "pushd") || strings.Contains(rest, " -C") || strings.Contains(rest, "dir") || slices.Contains(strings.Split(to, "/"), "..") || !path.IsAbs(c.at.project) {
		return ""
	}
	folder := path.Join(c.at.project, to)
	if c.resolve != nil && c.resolve(folder) != folder {
		return "" // a link leads elsewhere
	}
	return folder
}

// moves: something in the command runs in another folder than it begins in.
func (m *command) moves() bool {
	return slices.ContainsFunc(m.parts, func(p part) bool { return p.Moved })
}

// moveOf are the folders that a part goes to, or has what it runs go to.
func (c *call) moveOf(p *part) []spelling {
	if len(p.Words) == 0 {
		return nil
	}
	s := c.speller()
	nowhere := []spelling{{cut: true}}
	switch path.Base(p.Words[0].Text) {
	case "cd", "chdir":
		args := p.Words[1:]
		for len(args) > 0 && len(args[0].Text) > 1 && args[0].Text[0] == '-' {
			end := args[0].Text == "--"
			args = args[1:]
			if end {
				break
			}
		}
		switch {
		case len(args) == 0 || args[0].Text == "":
			return s.tilde("")
		case args[0].Text == "-":
			return nowhere
		}
		var out []spelling
		for _, a := range args {
			out = append(out, s.spell(a)...)
		}
		return out
	case "pushd", "popd":
		out := nowhere
		for _, a := range p.Words[1:] {
			out = append(out, s.spell(a)...)
		}
		return out
	case "find", "gfind":
		if slices.ContainsFunc(p.Words, func(w reader.Word) bool { return w.Text == "-execdir" || w.Text == "-okdir" }) {
			return nowhere
		}
		return nil
	}
	return s.folderOptions(p.Words[1:])
}

// folderOptions are the values of options that have a program work in another folder.
func (s *speller) folderOptions(args []reader.Word) []spelling {
	var out []spelling
	for i, a := range args {
		name, value, glued := strings.Cut(a.Text, "=")
		switch {
		case name != "-C" && name != "--directory" && name != "--chdir" && name != "--cwd" && name != "--prefix":
			if len(a.Text) > 2 && strings.HasPrefix(a.Text, "-C") && strings.Contains(a.Text, "/") {
				out = append(out, s.spell(reader.Word{Text: a.Text[2:], Known: a.Known})...)
			}
		case glued:
			out = append(out, s.spell(reader.Word{Text: value, Known: a.Known})...)
		case i+1 < len(args):
			out = append(out, s.spell(args[i+1])...)
		}
	}
	return out
}

// move notes that the command goes to another folder, from any that it may be in.
func (at *whereabouts) move(to spelling, m *command) {
	const most = 1024
	switch {
	case to.cut && path.IsAbs(to.text):
		at.wild = append(at.wild, path.Join(path.Dir(to.text), "**"))
		return
	case to.cut:
		at.anywhere = true
		return
	case to.text == "":
		return
	}
	add := func(to string, wild bool) {
		list := &at.plain
		if wild {
			list = &at.wild
		}
		if to = path.Clean(to); !slices.Contains(*list, to) {
			*list = append(*list, to)
		}
	}
	if path.IsAbs(to.text) {
		add(to.text, to.glob)
	} else {
		name := to.text
		for _, from := range slices.Clone(at.plain) {
			if to.glob {
				from = escapeGlob(from)
			}
			add(path.Join(from, name), to.glob)
		}
		for _, from := range slices.Clone(at.wild) {
			if !to.glob {
				name = escapeGlob(to.text)
			}
			add(path.Join(from, name), true)
		}
	}
	if len(at.plain)+len(at.wild) > most {
		at.plain, at.wild = at.plain[:min(most, len(at.plain))], at.wild[:min(most, len(at.wild))]
		m.lost, at.anywhere = true, true
	}
}

// paths are a text as paths from the root, read from any of the folders: as patterns, in which
// ** is any number of folders.
func (at *whereabouts) paths(s spelling) []string {
	text := s.text
	if !s.glob {
		text = escapeGlob(text)
	}
	if path.IsAbs(text) {
		return []string{path.Clean(text)}
	}
	var out []string
	for _, dir := range at.plain {
		out = append(out, path.Join(escapeGlob(dir), text))
	}
	for _, dir := range at.wild {
		out = append(out, path.Join(dir, text))
	}
	if at.anywhere || len(out) == 0 {
		rest := path.Clean(text)
		for strings.HasPrefix(rest, "../") {
			rest = rest[3:]
		}
		if rest == "." || rest == ".." {
			rest = ""
		}
		out = append(out, "/**/"+rest)
	}
	return out
}
