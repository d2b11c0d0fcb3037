package reader

import (
	"path"
	"slices"
	"strings"
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
}

// Judge says whether a command only reads: it changes no file and no state, reaches nobody,
// and runs no code but the programs named in it, all of which are known. Only what is known
// passes: programs, their options and the values of these are on lists.
//
// It reads the text and not the disk. A symbolic link may lead its reading elsewhere, and a
// program may be another than its name says if PATH begins with a folder that others write.
func Judge(command string, o Options) Verdict {
	w, bad := walk(command, 0, o.Folder)
	if bad != nil {
		return Verdict{Why: "cannot be read: " + bad.Problem}
	}
	j := &judge{options: o, command: &w.out, escaped: escapesIn(command)}
	if why := j.all(); why != "" {
		return Verdict{Why: why}
	}
	slices.Sort(j.reads)
	slices.Sort(j.patterns)
	return Verdict{ReadOnly: true, Reads: slices.Compact(j.reads), Patterns: slices.Compact(j.patterns), Open: j.open}
}

type judge struct {
	options Options
	command *Command

	values   map[string]values
	reads    []string
	patterns []string
	open     bool
	escaped  bool // the command holds a text that echo -e would make a control character of
}

// values are what a variable may hold by what the command assigns to it.
type values struct {
	texts   []string
	unknown bool
	plain   bool // none of those that are not known begins with a dash
	noAt    bool // nor with an @
	words   []Word
	other   bool // it is also set to what stands nowhere in the command
}

// arg is a word with the variables in it replaced where the command itself says what they
// are.
type arg struct {
	text    string // if known
	known   bool
	pattern bool
	single  bool // exactly one word
	dash    bool // it may be taken for an option
	at      bool // it may be taken for a file of options
	written string
	texts   []string // if it is one of several
	word    Word
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
		if rawControls(text, "\r") {
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

// variables learns what variables may hold, and refuses those that others look at.
func (j *judge) variables() string {
	j.values = map[string]values{}
	set := func(name string, v values) string {
		if !ownVariable(name) {
			return "sets the variable " + name
		}
		have, before := j.values[name]
		have.plain = v.plain && (have.plain || !before)
		have.noAt = v.noAt && (have.noAt || !before)
		have.words, have.other = append(have.words, v.words...), have.other || v.other
		have.texts = append(have.texts, v.texts...)
		have.unknown = have.unknown || v.unknown
		j.values[name] = have
		return ""
	}
	for i := range j.command.Parts {
		p := &j.command.Parts[i]
		for _, a := range p.Assigns {
			if len(p.Words) > 0 && !exports(p) {
				if !safePrefix(a) && !(a.Name == "IFS" && len(namesRead(p.Words)) > 0) {
					return "runs a command with the variable " + a.Name + " set"
				}
				continue
			}
			if rawControls(a.Value, "\r") {
				return controlsTerminal
			}
			one := a.Value.single() || onlyPattern(a.Value)
			v := values{
				unknown: !a.Value.Known, words: []Word{a.Value},
				plain: a.Value.Known || !a.Value.mayBegin('-') && one, noAt: a.Value.Known || !a.Value.mayBegin('@') && one,
			}
			if a.Value.Known {
				v.texts = []string{a.Value.Text}
			}
			if safePrefix(a) {
				continue
			}
			if why := set(a.Name, v); why != "" {
				return why
			}
		}
		for _, name := range namesRead(p.Words) {
			if why := set(name, values{unknown: true, other: true}); why != "" {
				return why
			}
		}
	}
	for _, name := range j.command.sets {
		if alwaysNumber(name) {
			continue
		}
		if why := set(name, values{unknown: true, other: true}); why != "" {
			return why
		}
	}
	for _, name := range j.command.uses {
		if _, own := j.values[name]; !own && !plainEnvironment(name) {
			return "tells the variable " + name + ", which may be a secret"
		}
	}
	return ""
}

// namesRead are the variables that read and mapfile set.
func namesRead(words []Word) []string {
	name, ok := commandName(words)
	if !ok || name != "read" && name != "mapfile" && name != "readarray" {
		return nil
	}
	var out []string
	for _, w := range words[1:] {
		if w.Known && isName(w.Text) {
			out = append(out, w.Text)
		}
	}
	if len(out) == 0 {
		return []string{"REPLY"}
	}
	return out
}

// ownVariable: a name that no program and no shell looks at, so that it only means
// something within the command.
func ownVariable(name string) bool {
	switch name {
	case "histchars", "auto_resume", "ignoreeof", "":
		return false
	case "FILE", "FILES", "COUNT", "TOTAL", "DIR", "NAME", "NUM", "LINE", "REPLY", "MAPFILE", "OUT", "RESULT", "BRANCH", "BASE", "SHA", "COMMIT":
		return true
	}
	if len(name) == 1 && name[0] >= 'A' && name[0] <= 'Z' {
		return true
	}
	if strings.HasSuffix(name, "_proxy") || strings.HasPrefix(name, "npm_") || strings.HasPrefix(name, "_") {
		return false
	}
	return isName(name) && strings.ToLower(name) == name
}

// safePrefix: an assignment in front of a command that only changes how it shows things.
func safePrefix(a Assign) bool {
	if !a.Value.Known {
		return false
	}
	value := a.Value.Text
	plain := !strings.ContainsFunc(value, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-@+", r))
	})
	switch a.Name {
	case "LC_ALL", "LANG", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LC_MONETARY",
		"COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "TERM":
		return plain && !strings.HasPrefix(value, ".")
	case "TZ":
		return plain && !strings.HasPrefix(value, ".")
	case "GIT_PAGER", "PAGER":
		return value == "cat" || value == ""
	case "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT":
		return value == "0"
	}
	return false
}

// plainEnvironment: variables that are no secret.
func plainEnvironment(name string) bool {
	switch name {
	case "HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "UID", "EUID", "PPID", "HOSTNAME", "HOSTTYPE", "OSTYPE", "MACHTYPE",
		"RANDOM", "SECONDS", "LINENO", "BASHPID", "BASH_VERSION", "COLUMNS", "LINES", "SHLVL", "TMPDIR", "LANG", "LC_ALL", "PATH", "TERM",
		"IFS", "REPLY", "PIPESTATUS", "EPOCHSECONDS", "GOPATH", "GOROOT", "GOOS", "GOARCH", "EDITOR", "TZ",
		"?", "#", "$", "!", "@", "*", "-", "_":
		return true
	}
	return strings.Trim(name, "0123456789") == ""
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
		case "xargs":
			j.open = true
		}
	}
	args := make([]arg, len(p.Words))
	for i, word := range p.Words {
		args[i] = j.resolve(word)
	}
	if !args[0].known {
		return "runs a command that is only known when it runs"
	}
	name := args[0].text
	if dir, base := path.Split(name); dir != "" {
		if dir != "/bin/" && dir != "/usr/bin/" {
			return "runs the file " + name
		}
		name = base
	}
	for _, word := range p.Words {
		if rawControls(word, "\r") {
			return controlsTerminal
		}
	}
	if p.cleared {
		return "takes away the environment that keeps programs from running others"
	}
	for _, a := range args[1:] {
		if why := secretPath(a, p.Moved); why != "" {
			return why
		}
	}
	// After a cd, names are of another folder.
	j.open = j.open || p.Moved
	return j.run(name, args[1:], p)
}

// redirect: data only goes to where it is dropped or shown.
func (j *judge) redirect(r Redirect) string {
	to := j.resolve(r.Path)
	if why := secretPath(to, false); why != "" {
		return why
	}
	if to.known && plainDevice(to.text) {
		return ""
	}
	if r.Write {
		return "writes to " + to.shown()
	}
	if process := fullPieces(r.Path); !to.known && len(process) == 1 && process[0].kind == pieceFile {
		return ""
	}
	// A name that is only known when it runs must at least not be one of bash's own, which
	// are connections: they begin with /dev.
	names, ok := j.names(r.Path, 0)
	if lead := r.Path.lead(); !ok && (lead == "" || lead[0] == '/' || strings.HasPrefix(lead, "~") && !strings.HasPrefix(lead, "~/")) && !firstPlace(r.Path) {
		return "reads what " + to.shown() + " names, which may be a connection"
	}
	for _, n := range names {
		if strings.HasPrefix(path.Clean(n.text), "/dev") {
			return "reads the device " + n.text
		}
	}
	j.mayRead(to)
	return ""
}

func plainDevice(name string) bool {
	switch name {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/zero", "/dev/fd/0", "/dev/fd/1", "/dev/fd/2":
		return true
	}
	return false
}

func (a arg) shown() string {
	if a.known {
		return a.text
	}
	return a.written
}

// resolve replaces what the command itself says about a word's variables.
func (j *judge) resolve(word Word) arg {
	if word.Known {
		a := plainArg(word.Text)
		a.written, a.word = word.written(), word
		return a
	}
	a := arg{written: word.Text, pattern: word.Pattern, single: word.single(), word: word}
	begins := func(c byte) bool {
		if firstPlace(word) || j.beginsWithout(word, c) {
			return false
		}
		// What it is split into may begin anyhow.
		return word.mayBegin(c) || !a.single && !onlyPattern(word)
	}
	a.dash, a.at = begins('-'), begins('@')
	texts, ok := j.texts(word)
	if !ok {
		return a
	}
	if len(texts) == 1 {
		a = plainArg(texts[0])
		a.written, a.word = word.Text, word
		return a
	}
	a.texts, a.single = texts, true
	a.dash = slices.ContainsFunc(texts, func(t string) bool { return strings.HasPrefix(t, "-") })
	a.at = slices.ContainsFunc(texts, func(t string) bool { return strings.HasPrefix(t, "@") })
	return a
}

// onlyPattern: nothing in the word is split, it only becomes names that begin as it does.
func onlyPattern(word Word) bool {
	return word.Pattern && !slices.ContainsFunc(word.pieces, func(p piece) bool {
		return !p.quoted && p.kind != pieceText && p.kind != pieceNumber
	})
}

// firstPlace: it begins with a variable that holds a folder, and is not split.
func firstPlace(word Word) bool {
	if len(word.pieces) == 0 {
		return false
	}
	first := word.pieces[0]
	if first.kind == pieceText && first.text == "" && len(word.pieces) > 1 {
		first = word.pieces[1]
	}
	if first.kind != pieceVar || first.text != "HOME" && first.text != "PWD" {
		return false
	}
	for i, p := range word.pieces {
		if p.kind != pieceText && !p.quoted && !(i == 0 && first.text == "HOME") {
			return false
		}
	}
	return true
}

// beginsWithout: it is one word that begins with a variable whose values do not begin with a
// sign that would make them options; and should the variable have no value, what follows does
// not either.
func (j *judge) beginsWithout(word Word, sign byte) bool {
	pieces := fullPieces(word)
	if !word.single() || len(pieces) == 0 || pieces[0].kind != pieceVar {
		return false
	}
	if len(pieces) > 1 && (pieces[1].kind != pieceText || pieces[1].text[0] == sign) {
		return false
	}
	v, ok := j.values[pieces[0].text]
	plain := v.plain
	if sign == '@' {
		plain = v.noAt
	}
	return ok && (plain || !v.unknown) && !slices.ContainsFunc(v.texts, func(t string) bool { return t == "" || t[0] == sign })
}

// fullPieces are the pieces without the empty ones that quotes leave.
func fullPieces(word Word) []piece {
	return slices.DeleteFunc(slices.Clone(word.pieces), func(p piece) bool { return p.kind == pieceText && p.text == "" })
}

// texts are all that a word can be, if its variables are all known.
func (j *judge) texts(word Word) ([]string, bool) {
	if word.Pattern || hasAnyTilde(word) {
		return nil, false
	}
	out := []string{""}
	more := len(fullPieces(word)) > 1
	for _, p := range word.pieces {
		var choices []string
		switch p.kind {
		case pieceText:
			choices = []string{p.text}
		case pieceVar:
			v, ok := j.values[p.text]
			if !ok || v.unknown {
				return nil, false
			}
			for _, t := range v.texts {
				if !p.quoted && strings.ContainsAny(t, " \t\n*?[\\") || t == "" && !p.quoted {
					return nil, false
				}
			}
			choices = v.texts
			if more {
				// Where the assignment did not happen the rest of the word is the word.
				choices = append(slices.Clip(choices), "")
			}
		default:
			return nil, false
		}
		if len(out)*len(choices) > maxBraces {
			return nil, false
		}
		var next []string
		for _, head := range out {
			for _, c := range choices {
				next = append(next, head+c)
			}
		}
		out = next
	}
	slices.Sort(out)
	return slices.Compact(out), true
}

func hasAnyTilde(word Word) bool {
	for i, p := range word.pieces {
		if p.kind == pieceText && !p.quoted && hasTilde(word.pieces, i) {
			return true
		}
	}
	return false
}

// secretPath refuses /proc but for what tells about the machine: the rest tells the
// environment of processes, their memory, and the files they hold open.
func secretPath(a arg, moved bool) string {
	texts := append([]string{a.written}, a.texts...)
	if a.known {
		texts = []string{a.text}
	}
	for _, t := range texts {
		for _, part := range strings.FieldsFunc(t, func(r rune) bool { return strings.ContainsRune("=:\"' @", r) }) {
			if secret(part, a.pattern, moved) {
				return "may tell the environment of processes (" + t + ")"
			}
		}
	}
	return ""
}

func secret(name string, pattern, moved bool) bool {
	clean := path.Clean(name)
	segments := strings.Split(strings.Trim(clean, "/"), "/")
	if slices.Contains(segments, "environ") && (len(segments) > 1 || moved) {
		return true
	}
	at := slices.Index(segments, "proc")
	switch {
	case strings.HasPrefix(clean, "/") && at == 0:
		switch strings.Join(segments[1:], "/") {
		case "cpuinfo", "meminfo", "version", "loadavg", "uptime", "mounts", "filesystems", "stat", "partitions":
			return false
		}
		return true
	case at > 0 && segments[at-1] == "..":
		return true
	case pattern && strings.HasPrefix(clean, "/"):
		match, err := path.Match(segments[0], "proc")
		return match || err != nil
	}
	return false
}
