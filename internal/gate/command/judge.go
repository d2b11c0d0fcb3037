package command

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Options are what Judge has to be told, since it looks at nothing.
type Options struct {
	// SafeGit: the repository of the folder in which the command will run was looked at, and
	// nothing that is configured there runs when git only reads, and the command will run
	// with GitEnviron. Without it no git command is read-only.
	SafeGit bool
	// Folder is the folder in which the command will run, if that is known: to change to it
	// changes nothing.
	Folder string
	// Redirected: what stands around the command has a file for one of its descriptors.
	Redirected bool
}

// Verdict says whether a command only reads.
type Verdict struct {
	ReadOnly bool
	// Why is what it may do instead, as the end of the sentence "it …".
	Why string
	// Reads are the words in it that name what it reads: files, and folders with all below them.
	Reads []Source
	// Here: it also reads what is below the folder that it is in.
	Here bool
	// Open: it also reads files whose names come from elsewhere, such as what it says itself.
	Open bool
	Says []Word
}

// Source is a word that names what is read. Name: only its attributes, or the names below it.
// Below: what is below it too.
type Source struct {
	Word
	Name, Below bool
}

// Judge says whether a command only reads: it changes no file and no state, reaches nobody,
// and runs no code but the programs named in it. Only what the table knows passes.
//
// It reads the text and not the disk. A symbolic link may lead its reading elsewhere, and a
// program may be another than its name says if PATH begins with a folder that others write.
func Judge(command string, o Options) Verdict {
	w, bad := walk(command, 0, o.Folder)
	if bad != nil {
		return Verdict{Why: "cannot be read: " + bad.Problem}
	}
	j := &judge{options: o, command: &w.out, vars: w.out.Variables("/~"), escapes: escapesIn(command)}
	j.shown = !o.Redirected && !w.out.Redirected
	if why := j.all(); why != "" {
		return Verdict{Why: why}
	}
	j.out.ReadOnly = true
	return j.out
}

type judge struct {
	options Options
	command *Command
	vars    *Variables
	escapes bool // the command holds what some programs make control characters of
	shown   bool // no descriptor is a file
	out     Verdict
}

func (j *judge) all() string {
	c := j.command
	if len(c.Unclear) > 0 {
		return "cannot be read for sure: " + c.Unclear[0]
	}
	if len(c.functions) > 0 {
		return "defines the function " + c.functions[0]
	}
	if why := j.variables(); why != "" {
		return why
	}
	for _, text := range c.strings {
		if rawControls(text) {
			return controlsTerminal
		}
	}
	for i := range c.Parts {
		if why := j.part(&c.Parts[i]); why != "" {
			return why
		}
	}
	return ""
}

// variables refuses to set variables that others look at, and to tell those that may be secret.
func (j *judge) variables() string {
	own := make(map[string]bool)
	for i := range j.command.Parts {
		p := &j.command.Parts[i]
		for _, a := range p.Assigns {
			switch {
			case rawControls(a.Value):
				return controlsTerminal
			case SafeVariable(a):
			case len(p.Words) > 0:
				return "runs a command with the variable " + a.Name + " set"
			case !OwnVariable(a.Name):
				return "sets the variable " + a.Name
			case j.secretPath(a.Value):
				return tellsProcesses
			}
			own[a.Name] = true
		}
	}
	for _, name := range j.command.sets {
		if !alwaysNumber(name) && !OwnVariable(name) {
			return "sets the variable " + name
		}
		own[name] = true
	}
	for _, name := range j.command.uses {
		if !own[name] && !plainEnvironment(name) {
			return "tells the variable " + name + ", which may be a secret"
		}
	}
	return ""
}

func (j *judge) part(p *Part) string {
	for _, r := range p.Redirects {
		if why := j.redirect(r); why != "" {
			return why
		}
	}
	if len(p.Words) == 0 {
		return ""
	}
	for _, name := range p.Wrappers {
		switch name {
		case "nohup":
			return "may write nohup.out"
		case "exec":
			return "replaces the shell"
		}
	}
	for _, w := range p.Taken {
		if slices.Contains(p.Wrappers, "xargs") && (strings.HasPrefix(w.Text, "--arg") || strings.HasPrefix(w.Text,
			"--open") || !strings.HasPrefix(w.Text, "--") && w.mayBegin('-') && strings.ContainsAny(w.Text, "aop")) {
			return "gives `xargs` the option " + w.Text + ", which is not known to only read"
		}
	}
	if p.cleared {
		return "takes away the environment that keeps programs from running others"
	}
	name := p.Words[0].Text
	if dir, base := path.Split(name); dir == "/bin/" || dir == "/usr/bin/" {
		name = base
	}
	known := lookup(name)
	switch {
	case name == "git":
		return j.git(p)
	case tellsVersion(name, p.Words[1:]), known.use == reads && tellsAboutItself(p.Words[1:]):
		return ""
	case known.use < readsMore:
		return "runs `" + name + "`, which is not known to only read"
	}
	for _, w := range p.Words[1:] {
		switch {
		case rawControls(w) || known.escapes && j.escapes:
			return controlsTerminal
		case j.secretPath(w):
			return tellsProcesses
		}
	}
	if !opensNothing(known) && (known.shows != names || known.own != nil) { // xargs adds more names
		j.out.Open = j.out.Open || slices.Contains(p.Wrappers, "xargs")
	}
	if known.own != nil {
		return known.own(j, p.Words)
	}
	return j.use(known, name, p.Words[1:])
}

// opensNothing: whatever it is given, it shows nothing of what is in a file.
func opensNothing(known program) bool { return known.shows == names && known.texts == all }

// redirect: data only goes to where it is dropped or shown.
func (j *judge) redirect(r Redirect) string {
	switch {
	case j.secretPath(r.Path):
		return tellsProcesses
	case r.Path.Known && (PlainDevice(r.Path.Text, j.shown) || !r.Write && (r.Path.Text == "/dev/stdin" ||
		r.Path.Text == "/dev/fd/0")):
		return ""
	case r.Write:
		return "writes to " + r.Path.Text
	case connects(r.Path):
		return "reads what " + r.Path.Text + " names, which may be a connection"
	}
	j.out.Reads = append(j.out.Reads, Source{Word: r.Path})
	return ""
}

// PlainDevice: nothing is kept of what is written there. Descriptors are whatever file they were
// redirected to; shown: none was.
func PlainDevice(name string, shown bool) bool {
	switch name {
	case "/dev/null", "/dev/zero", "/dev/full":
		return true
	case "/dev/stdout", "/dev/stderr":
		return shown
	}
	return false
}

// connects: bash connects to somebody where a file is named so, or may be.
func connects(w Word) bool {
	if w.Known {
		return strings.HasPrefix(path.Clean(w.Text), "/dev/")
	}
	lead := w.lead()
	if len(w.pieces) == 1 && w.pieces[0].kind == pieceFile || strings.HasPrefix(lead, "~/") {
		return false
	}
	return lead == "" || lead[0] == '/' || lead[0] == '~'
}

const tellsProcesses = "may tell the environment of processes"

// secretPath: it may lead into /proc, which tells the environment of processes, their memory,
// and the files that they hold open.
func (j *judge) secretPath(w Word) bool {
	return slices.ContainsFunc(j.vars.Expand(w), func(t Text) bool {
		return slices.ContainsFunc(strings.FieldsFunc(t.Text, func(r rune) bool {
			return strings.ContainsRune("=:@",
				r)
		}), func(name string) bool {
			up, root := strings.Count(name, "..") > 2, strings.HasPrefix(name, "/")
			first, _, _ := strings.Cut(strings.TrimLeft(name, "/"), "/")
			return slices.ContainsFunc(strings.Split(name, "/"), func(s string) bool {
				return s == "proc" ||
					s == "environ"
			}) ||
				strings.Trim(name, "/.") == "" && (root || up) || t.Glob && (up || root && strings.ContainsAny(first,
				"*?["))
		})
	}) || slices.ContainsFunc(w.pieces, func(p piece) bool { return strings.HasSuffix(p.text, "/environ") })
}

// tellsVersion: programs that tell their version, and look at nothing in the folder first: not
// those that are started by something that reads a version to start from a file there.
func tellsVersion(name string, args []Word) bool {
	return len(args) == 1 && args[0].Known && args[0].Text == "--version" && slices.Contains([]string{
		"make", "gmake", "cmake", "ninja", "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "as", "node", "python",
		"python3", "perl", "bash", "zsh", "sqlite3", "curl",
		"wget", "ssh", "docker", "podman", "vim", "nvim", "awk", "gawk", "sed", "less", "jq", "gdb", "rsync",
		"busybox", "psql", "ruby",
	}, name)
}

// tellsAboutItself: this is all that it is given; what xargs adds is a word too.
func tellsAboutItself(args []Word) bool {
	return len(args) == 1 && args[0].Known && (args[0].Text == "--version" || args[0].Text == "--help")
}

// A terminal obeys control characters: they may clear it, set its title, or have it type.
const controlsTerminal = "sends control characters to the terminal"

// rawControls: the word holds control characters other than those of plain text.
func rawControls(w Word) bool {
	if w.Known {
		return isControl(w.Text)
	}
	return slices.ContainsFunc(w.pieces, func(p piece) bool { return isControl(p.text) })
}

// escapesIn: some program could make a control character out of a text in the command.
func escapesIn(command string) bool {
	for i := 0; i+2 < len(command); i++ {
		if command[i] != '\\' {
			continue
		}
		next, after := command[i+1], command[i+2]
		switch {
		case strings.IndexByte("eEuUabfrvc", next) >= 0, next == 'x' && digit(after) < 16, digit(next) < 4 &&
			digit(after) < 8, next == '0' && strings.Contains(command, "$"), (next == 'o' || next == 'd') &&
			digit(after) < 10,
			(next == 't' || next == 'n') && after == '-':
			return true
		case next == '\\' && after == '\\':
			i++
		}
	}
	return false
}

// invocation is a command whose options were read.
type invocation struct {
	name     string
	options  []option
	operands []Word
	texts    int  // how many of the first operands are no files
	below    bool // it reads what is below its operands too
}

type option struct {
	name  string // "l", "color"
	value Word
	given bool // a value
}

func (u *invocation) has(names ...string) bool {
	return slices.ContainsFunc(u.options, func(o option) bool { return slices.Contains(names, o.name) })
}

func (u *invocation) valuesOf(names ...string) []Word {
	var out []Word
	for _, o := range u.options {
		if o.given && slices.Contains(names, o.name) {
			out = append(out, o.value)
		}
	}
	return out
}

// use reads a command by what is known of its program and says what it may do besides reading.
func (j *judge) use(known program, name string, words []Word) string {
	u := &invocation{name: name, texts: known.texts}
	if i := slices.IndexFunc(words, j.vars.splits); i >= 0 && known.use != readsAlways {
		return "gives `" + name + "` " + words[i].Text + ", which may become several words, and options"
	} else if i >= 0 && (known.shows != names || name == "du") {
		j.out.Open = true
	}
	if why := known.parse(u, words); why != "" {
		return why
	}
	if known.most != 0 && (len(u.operands) > max(known.most, 0) || slices.ContainsFunc(u.operands,
		func(w Word) bool { return !w.single() })) {
		return "gives `" + name + "` more names than it only reads"
	}
	if known.check != nil {
		if why := known.check(j, u); why != "" {
			return why
		}
	}
	for _, w := range u.operands[min(u.texts, len(u.operands)):] {
		if !w.Known && len(w.pieces) == 1 && w.pieces[0].kind == pieceFile {
			continue // a pipe, or what find comes to below its folders
		}
		j.out.Reads = append(j.out.Reads, Source{w, known.shows == names, known.shows >= below || u.below})
	}
	for _, o := range u.options {
		if o.given && (slices.Contains(strings.Fields(known.files), o.name) || known.use == readsAlways &&
			known.long == "" && len(o.name) > 1) {
			j.out.Reads = append(j.out.Reads, Source{Word: o.value, Name: known.shows == names})
		}
	}
	j.out.Here = j.out.Here || known.shows == here && len(u.operands) <= u.texts
	return ""
}

// parse reads options. Those that are not known are refused, unless none could do anything but
// read; abbreviated ones too, which a program would accept.
func (p program) parse(u *invocation, words []Word) string {
	refuse := func(text string) string {
		return "gives `" + u.name + "` the option " + text + ", which is not p to only read"
	}
	ended := false
	for i := 0; i < len(words); i++ {
		w := words[i]
		text := w.Text
		if !w.Known {
			if text = w.lead(); w.mayBegin('-') && p.use != readsAlways && !(w.single() && strings.Contains(text,
				"=")) {
				return "gives `" + u.name + "` " + w.Text + ", which may become an option"
			}
		}
		o, takes := option{}, false // whether the next word is its value
		switch {
		case ended, p.ordered && len(u.operands) > 0, len(text) < 2 || text[0] != '-':
			u.operands = append(u.operands, w)
			continue
		case text == "--":
			ended = true
			continue
		case text[1] == '-':
			name, value, glued := strings.Cut(text[2:], "=")
			how, ok := p.takes(name)
			if p.use != readsAlways && (!ok || glued && how == 0 || how == 0 && !w.Known) {
				return refuse("--" + name)
			}
			o = option{name: name, given: glued, value: w}
			if w.Known {
				o.value = knownWord(value)
			}
			takes = how == '=' && !glued
		default:
			var why string
			if o, takes, why = p.cluster(u, text); why != "" {
				return refuse(why)
			}
		}
		if takes && i+1 < len(words) {
			i++
			o.value, o.given = words[i], true
			if p.use != readsAlways && (!o.value.single() || o.value.mayBegin('-') && strings.Trim(o.value.Text,
				"-0123456789") != "") {
				return "gives `" + u.name + " " + text + "` a value that may be something else"
			}
		}
		u.options = append(u.options, o)
	}
	return ""
}

// cluster reads -abc; the last of it is returned, and whether it wants the next word.
func (p program) cluster(u *invocation, text string) (last option, takes bool, unknown string) {
	for i := 1; i < len(text); i++ {
		last = option{name: text[i : i+1]}
		optional := strings.Contains(p.optional, last.name)
		if optional || strings.Contains(p.values, last.name) {
			last.given, last.value = i+1 < len(text), knownWord(text[i+1:])
			return last, !last.given && !optional, ""
		}
		if p.use != readsAlways && !strings.Contains(p.flags, last.name) {
			return last, false, "-" + last.name
		}
		if i+1 < len(text) {
			u.options = append(u.options, last)
		}
	}
	return last, false, ""
}

// takes says how a long option takes a value: not (0), as the next word too ('='), or glued ('[').
func (p program) takes(name string) (how byte, ok bool) {
	for word := range strings.FieldsSeq(p.long) {
		switch word {
		case name:
			return 0, name != ""
		case name + "=":
			return '=', true
		case name + "[=":
			return '[', true
		}
	}
	return 0, false
}

func isControl(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0
	})
}
