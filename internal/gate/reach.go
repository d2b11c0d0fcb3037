package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/reader"
)

// kept is something that a command must not read without somebody's leave.
type kept struct {
	segs []segment // from the root of the file system; what is below it is meant too
	show string
}

// top are the folders that it begins with, as far as they are known.
func (k *kept) top() []string {
	var out []string
	for _, s := range k.segs {
		if s.kind != segLiteral {
			break
		}
		out = append(out, s.text)
	}
	return out
}

// misses: whatever it is, it is a file whose name none of those can be that are read.
func (k *kept) misses(may func(name string) bool) bool {
	if may == nil || len(k.segs) == 0 {
		return false
	}
	last := k.segs[len(k.segs)-1]
	return last.kind == segLiteral && isFile(last.text) && !may(last.text)
}

// isFile: a name that hardly any folder has.
func isFile(name string) bool {
	ext := path.Ext(name)
	return strings.HasPrefix(name, ".env") || ext != "" && ext != name && ext != ".d"
}

// mayReadHidden reports whether a command that only reads may read a file that a rule keeps
// from being read, or that is hidden without one, and does not name it so that the rule
// itself could say so.
func (v *view) mayReadHidden(said *reader.Verdict) bool {
	var all []kept
	if len(v.levels) == 0 && v.exist != nil {
		for _, name := range v.exist() {
			all = append(all, kept{segs: literals(name), show: visible(name) + ", which is kept from agents"})
		}
	}
	for _, h := range v.command.hides {
		if !h.holds(v.layer) {
			continue
		}
		for i := range h.rule.pats {
			p := &h.rule.pats[i]
			base, anchored := p.base(v.at)
			segs := p.segs
			if anchored {
				segs = append(literals(base), segs...)
			} else {
				segs = append([]segment{{kind: segAny}}, segs...)
			}
			all = append(all, kept{segs: segs, show: "what the rule " + h.rule.rule.Text + " is about"})
		}
	}
	if len(all) == 0 {
		return false
	}
	names := v.mayName(said)
	var walks []walk
	if said.Open {
		walks = v.walks()
	}
	for i := range all {
		k := &all[i]
		if slices.ContainsFunc(names, k.meets) || slices.ContainsFunc(walks, k.reached) {
			v.command.mayRead = k.show
			return true
		}
	}
	return false
}

func split(p string) []string {
	if p = strings.Trim(p, "/"); p == "" {
		return nil
	}
	return strings.Split(p, "/")
}

// meets: a pattern of names may mean it.
func (k *kept) meets(glob string) bool {
	if name, ok := strings.CutPrefix(glob, adrift); ok {
		// From which folder is not known: its last name decides.
		last := k.segs[max(len(k.segs)-1, 0):]
		return len(last) == 0 || last[0].kind == segAny || nameMeets(last[0], name)
	}
	return segmentsMeet(k.segs, split(glob))
}

// adrift begins a pattern of one name that is meant from a folder that is not known.
const adrift = "?:"

// mayName are the patterns of what the command may name without saying it, from the root.
func (c *call) mayName(said *reader.Verdict) []string {
	s, at := c.speller(), c.where()
	moves := c.command.moves()
	begin := &whereabouts{plain: s.folders[:min(len(s.folders), 1)]}
	if moves {
		begin = at
	}
	var out []string
	for _, text := range said.Patterns {
		for _, w := range s.spell(reader.Word{Text: text}) {
			if w.cut {
				out = append(out, stem(begin, w)...)
				continue
			}
			out = append(out, begin.paths(w)...)
			if moves && w.glob && !path.IsAbs(w.text) {
				out = append(out, adrift+path.Base(w.text))
			}
		}
	}
	if !moves {
		return out // what is read by its name is known
	}
	for _, text := range said.Reads {
		if !path.IsAbs(text) {
			out = append(out, at.paths(spelling{text: text})...)
		}
	}
	return out
}

// stem is all that begins like a word whose end is not known; nothing for one of which nothing
// is known: what it is comes from another part of the command.
func stem(at *whereabouts, w spelling) []string {
	if w.text == "" {
		return nil
	}
	w.text += "*"
	if !w.glob {
		w.text = escapeGlob(strings.TrimSuffix(w.text, "*")) + "*"
	}
	w.glob = true
	dir, last := path.Split(w.text)
	if last == "*" {
		w.text = dir + "**"
		return at.paths(w)
	}
	deeper := w
	deeper.text += "/**"
	return append(at.paths(w), at.paths(deeper)...)
}

// walk is what a command reads below a folder.
type walk struct {
	root string                 // a pattern, from the root
	may  func(name string) bool // the names it takes; nil: all
}

// reached: the walk comes to it, or begins in it.
func (k *kept) reached(w walk) bool {
	root, top := split(w.root), k.top()
	for i := range root {
		switch {
		case root[i] == "**":
			return !k.misses(w.may)
		case i == len(top):
			// The folder it begins in is below, or is one that the rest may mean.
			return segmentsMeet(k.segs, root) || len(top) < len(k.segs) && !k.misses(w.may)
		case !nameMeets(segment{kind: segLiteral, text: top[i]}, root[i]):
			return false
		}
	}
	return !k.misses(w.may)
}

// lastFeed is the number of the parts that may say to others what those read: those before the
// last xargs, or all where a name is made of what a command says; -1 if there is nothing that reads so.
func (m *command) lastFeed() int {
	last := -1
	for i := range m.parts {
		p := &m.parts[i]
		if len(p.Words) == 0 {
			continue
		}
		name := path.Base(p.Words[0].Text)
		// What opens no file may be given any names; and xargs alone only says them.
		if (p.Via == "xargs" || slices.Contains(p.Wrappers, "xargs")) && !opensNothing(name) {
			last = i
		}
		switch name {
		case "parallel":
			last = max(last, i)
		case "read", "mapfile", "readarray":
			return len(m.parts)
		}
		for _, w := range p.Words {
			if !opensNothing(name) && !w.Known && strings.ContainsAny(w.Text, "$`") && (m.speller == nil || slices.ContainsFunc(m.speller.spell(w), func(s spelling) bool { return s.cut })) {
				return len(m.parts)
			}
		}
	}
	return last
}

// walks are what the command may read beyond what it names. Parts of which nothing is known
// may read all in the folders that the command is in.
func (c *call) walks() []walk {
	m := c.take()
	c.speller()
	w := walker{call: c, at: c.where()}
	fed := m.lastFeed()
	for i := range m.parts {
		w.part(&m.parts[i], i < fed)
	}
	if fed >= 0 && strings.Contains(m.text, "<<") {
		for _, f := range fields(m.text) {
			w.names(reader.Word{Text: f})
		}
	}
	return w.out
}

type walker struct {
	*call
	at  *whereabouts
	out []walk
}

// opensNothing: commands that show the contents of no file, whatever they are given.
func opensNothing(name string) bool {
	switch name {
	case "echo", "printf", "basename", "dirname", "true", "false", ":", "test", "[", "pwd", "seq", "sleep", "date", "uname", "whoami", "id", "groups", "nproc", "arch",
		"hostname", "uptime", "free", "df", "ps", "pgrep", "pidof", "who", "tty", "type", "which", "whereis", "getconf", "locale", "cal", "yes":
		return true
	}
	return tellsNames(name)
}

// tellsNames: commands that say which files there are, and no more.
func tellsNames(name string) bool {
	switch name {
	case "ls", "dir", "vdir", "tree", "du", "stat", "readlink", "realpath":
		return true
	}
	return false
}

// here: all in the folders that the command may be in.
func (w *walker) here() { w.from(nil, spelling{text: "."}) }

func (w *walker) from(may func(string) bool, s spelling) {
	roots := w.at.paths(s)
	if s.cut {
		roots = stem(w.at, s)
	}
	for _, root := range roots {
		w.out = append(w.out, walk{root, may})
	}
}

func (w *walker) names(words ...reader.Word) {
	for _, word := range words {
		for _, s := range w.speller().spell(word) {
			if s.text != "" {
				w.from(nil, s)
			}
		}
	}
}

// part notes what one part reads. feeds: what it says may be names that others read.
func (w *walker) part(p *part, feeds bool) {
	if feeds {
		for _, r := range p.Redirects {
			if !r.Write && !plainSource(r.Path) {
				w.here() // what is in that file
			}
		}
	}
	if len(p.Words) == 0 {
		return
	}
	args := p.Words[1:]
	fed := p.Via == "xargs" || p.Via == "find" || slices.Contains(p.Wrappers, "xargs")
	name := path.Base(p.Words[0].Text)
	if opensNothing(name) && name != "echo" && name != "printf" {
		switch {
		case feeds && tellsNames(name):
			w.here()
		case feeds:
			w.said(args)
		}
		return
	}
	switch name {
	case "cd", "break", "continue", "read", "mapfile", "readarray", "wait", "exit":
	case "xargs":
		w.names(args...)
	case "find", "gfind":
		if feeds || slices.ContainsFunc(args, func(a reader.Word) bool { return a.Text == "-exec" || a.Text == "-execdir" }) {
			w.found(args)
		}
	case "grep", "egrep", "fgrep", "rg", "fd", "fdfind":
		w.searched(name, args, feeds, fed)
	case "echo", "printf":
		if feeds {
			w.told(name, args)
		}
	case "sed", "gsed", "awk", "gawk", "mawk", "nawk", "tr", "rev", "base64", "base32", "basenc", "xxd", "iconv", "paste", "join", "cut", "jq", "od", "fold", "tac":
		w.names(args...)
		if feeds && !fed {
			w.out = append(w.out, walk{root: "/**"}) // names that it makes up
		}
	case "diff", "cat", "head", "tail", "wc", "sort", "uniq", "nl", "less", "more", "cmp", "comm", "file", "strings", "hexdump", "md5sum", "sha1sum", "sha256sum", "sha512sum", "column", "expand", "zcat", "tee":
		w.names(args...)
		if feeds && !fed && slices.ContainsFunc(args, func(a reader.Word) bool { return !strings.HasPrefix(a.Text, "-") }) {
			w.here()
		}
	case "gofmt", "goimports":
		for _, a := range args {
			for _, s := range w.speller().spell(a) {
				w.from(func(name string) bool { return strings.HasSuffix(name, ".go") }, s) // of a folder
			}
		}
	case "git":
		w.git(args, feeds)
	default:
		w.names(args...)
		w.here()
	}
}

func plainSource(to reader.Word) bool { return to.Known && strings.HasPrefix(to.Text, "/dev/") }

// told are the names that echo and printf may say.
func (w *walker) told(name string, args []reader.Word) {
	made := name == "printf" && (len(args) == 0 || args[0].Text != `%s\n` && args[0].Text != `%s\0`)
	for _, a := range args {
		made = made || strings.Contains(a.Text, `\`) && a.Text != `%s\n` && a.Text != `%s\0` || strings.HasPrefix(a.Text, "-")
		for _, f := range strings.Fields(a.Text) {
			w.names(reader.Word{Text: f})
		}
	}
	w.names(args...)
	if made {
		w.out = append(w.out, walk{root: "/**"})
	}
}

// said are the names that a command like basename or date may make of its words.
func (w *walker) said(args []reader.Word) {
	for _, a := range args {
		for _, s := range w.speller().spell(a) {
			text := strings.TrimLeft(s.text, "+")
			if k := strings.IndexByte(text, '='); k >= 0 {
				text = text[k+1:]
			}
			text = path.Base(strings.TrimPrefix(text, "-f"))
			w.names(reader.Word{Text: text, Known: true})
			for _, end := range args {
				if short, ok := strings.CutSuffix(text, end.Text); ok && short != "" {
					w.names(reader.Word{Text: short, Known: true})
				}
			}
		}
	}
}

// found notes what find comes to.
func (w *walker) found(args []reader.Word) {
	i := 0
	for i < len(args) && slices.Contains([]string{"-L", "-H", "-P", "-E", "-X", "-x", "-s"}, args[i].Text) {
		i++
	}
	first := i
	for i < len(args) && !strings.HasPrefix(args[i].Text, "-") && args[i].Text != "!" && args[i].Text != "(" {
		i++
	}
	roots := args[first:i]
	var globs []string
	sure := true
	for ; i < len(args); i++ {
		switch args[i].Text {
		case "-name", "-iname":
			if i+1 < len(args) && args[i+1].Known {
				globs = append(globs, args[i+1].Text)
			}
			i++
		case "-exec", "-execdir":
			for i < len(args) && args[i].Text != ";" && args[i].Text != "+" {
				i++
			}
		case "-o", "-or", "!", "-not", ",":
			sure = false
		}
	}
	var may func(string) bool
	if sure && len(globs) > 0 {
		may = func(name string) bool {
			return !slices.ContainsFunc(globs, func(g string) bool { return !globTakes(g, name) })
		}
	}
	for _, r := range roots {
		for _, s := range w.speller().spell(r) {
			w.from(may, s)
		}
	}
	if len(roots) == 0 {
		w.from(may, spelling{text: "."})
	}
}

func globTakes(glob, name string) bool {
	ok, err := path.Match(strings.ToLower(strings.ReplaceAll(glob, "[!", "[^")), strings.ToLower(name))
	return ok || err != nil
}
