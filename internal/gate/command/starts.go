package command

import (
	"path"
	"slices"
	"strings"
)

// MaxWords bounds how many of a command's words are looked at as commands of their own.
const MaxWords = 256

// StartsOthers: the program does nothing but run another one.
func StartsOthers(name string) bool { return lookup(name).starts == startsOthers }

// ChangesShell: builtins after which the same words may mean another program, so that leave
// to use them freely would be leave for anything.
func ChangesShell(name string) bool { return lookup(name).state }

// Looks: the program is used for reading, though some of its options may write or run.
func Looks(name string) bool {
	known := lookup(name)
	return known.use == looks || known.use >= reads
}

// RunsText: the program runs what stands in one of its words.
func RunsText(name string) bool {
	known := lookup(name)
	return known.shell() || known.code != nil || known.starts == startsOthers || name == "ssh" || name == "eval" ||
		name == "trap"
}

// Interprets: the program runs a file in a language of its own that it is given. What a hook names is read by a list of
// its own (hook.interprets), which says whose files are protected and not who may do what.
func Interprets(name string) bool {
	return lookup(name).shell() || slices.Contains(strings.Fields("python python2 python3 node ruby perl php lua deno "+
		"bun tsx ts-node osascript pwsh awk gawk mawk"), name)
}

// RunsPackages: the program fetches another one and runs it.
func RunsPackages(name string) bool { return slices.Contains([]string{"npx", "bunx", "uvx"}, name) }

// WithoutValue: an option before the subcommand of a program that surely has no value in the next word.
func WithoutValue(program, option string) bool {
	plain := lookup(program).plain
	if plain == "" {
		plain = "--help --version --verbose --quiet --silent --debug"
	}
	return strings.HasPrefix(option, "--no-") || slices.Contains(strings.Fields(plain), option)
}

// StartedBy are the commands that the words of another may start: what follows any of its words
// where it does nothing but run others, and what follows an option that says what to run.
func StartedBy(words []string) []string {
	words = words[:min(len(words), MaxWords)]
	known := lookup(strings.ToLower(path.Base(words[0])))
	var out []string
	add := func(text string) {
		if text = strings.Trim(text, "\"' \t\n"); text != "" {
			out = append(out, text)
		}
	}
	from := func(j int) {
		add(strings.Join(words[j:], " "))
		if strings.ContainsAny(words[j], " \t\n;&|") {
			out = append(out, Spoken(words[j])...)
		}
	}
	// A word that begins with a dash is no program: a wrapper was read in another way.
	if known.starts != startsNone || strings.HasPrefix(words[0], "-") {
		for j := 1; j < len(words); j++ {
			from(j)
			if _, value, ok := strings.Cut(words[j], "="); ok {
				add(value)
			}
		}
		return out
	}
	options := strings.Fields(known.runs)
	for j := 1; j < len(words) && len(options) > 0; j++ {
		for _, o := range options {
			rest, ok := afterOption(words[j], o)
			switch {
			case !ok:
			case rest == "" && j+1 < len(words):
				from(j + 1)
			case strings.HasPrefix(rest, "="):
				add(rest[1:])
				out = append(out, Spoken(rest[1:])...)
			case len(o) <= 2 || strings.HasSuffix(o, "=") || strings.HasSuffix(o, ":"):
				add(rest)
				out = append(out, Spoken(rest)...)
			}
		}
	}
	return out
}

// afterOption is what a word holds behind an option. Long ones may be shortened; how far depends on the others that
// there are, so each beginning of some letters counts.
func afterOption(word, option string) (rest string, ok bool) {
	const least = len("--") + 2
	name, _, _ := strings.Cut(word, "=")
	if strings.HasPrefix(option, "--") && len(name) >= least && strings.HasPrefix(option, name) {
		return word[len(name):], true
	}
	return strings.CutPrefix(word, option)
}

// RunsInput: a shell in the command, or what hands text to one later, runs what it reads: no
// script and no text is given to it.
func (c *Command) RunsInput() bool {
	return slices.ContainsFunc(c.Parts, func(p Part) bool {
		return len(p.Words) > 0 &&
			runsInput(path.Base(p.Words[0].Text), p.Words[1:])
	})
}

func runsInput(name string, args []Word) bool {
	has := func(options ...string) bool {
		return slices.ContainsFunc(args, func(w Word) bool { return slices.Contains(options, w.Text) })
	}
	switch {
	case name == "at" || name == "batch":
		return !has("-l", "-c", "-r", "-d", "-f", "-V")
	case name == "crontab" || name == "parallel":
		return name == "parallel" || has("-", "/dev/stdin")
	case name == "source" || name == ".":
		return len(args) > 0 && strings.HasPrefix(args[0].Text, "/dev/")
	case name == "make" || name == "gmake":
		return makesFromInput(args)
	case !lookup(name).shell():
		return false
	}
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		switch {
		case text == "-" || text == "--" || text == "/dev/stdin" || strings.HasPrefix(text, "/dev/fd/") ||
			strings.HasPrefix(text, "/proc/") || strings.HasPrefix(text, "<("):
			return true
		case text == "--version" || text == "--help":
			return false
		case text == "--rcfile" || text == "--init-file" || text == "-o" || text == "-O" || text == "+o" ||
			text == "+O":
			i++
		case strings.HasPrefix(text, "--"):
		case strings.HasPrefix(text, "-") && strings.Contains(text, "s"):
			return true
		case strings.HasPrefix(text, "-") && strings.Contains(text, "c"):
			return false
		case strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+"):
		default:
			return false // a script
		}
	}
	return true
}

// makesFromInput: the makefile is what is fed to make.
func makesFromInput(args []Word) bool {
	for i, w := range args {
		file := ""
		if at := strings.IndexByte(w.Text, 'f'); at > 0 && w.Text[0] == '-' && w.Text[1] != '-' {
			file = w.Text[at+1:]
		} else if name, value, glued := strings.Cut(w.Text, "="); len(name) > len("--") &&
			(strings.HasPrefix("--file", name) || strings.HasPrefix("--makefile", name)) {
			if file = value; glued && file == "" {
				continue
			}
		} else {
			continue
		}
		if file == "" && i+1 < len(args) {
			file = args[i+1].Text
		}
		if file == "-" || strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, "/proc/") ||
			strings.HasPrefix(file, "<(") {
			return true
		}
	}
	return false
}

// Spoken are the commands in a text of which nobody knows what of it is run: what follows any
// of its words.
func Spoken(text string) []string {
	var out []string
	for _, line := range strings.FieldsFunc(text,
		func(r rune) bool { return strings.ContainsRune("\n\r;&|<>()'\"`!={}", r) }) {
		words := strings.Fields(strings.NewReplacer(`\n`, " ", `\t`, " ").Replace(line))
		for j := range words[:min(len(words), MaxWords)] {
			out = append(out, strings.Join(words[j:], " "))
		}
		if len(out) > MaxWords*4 {
			break
		}
	}
	return out
}

// Readings are the words of a part with what the command itself says about its variables: where
// one may be several texts, a reading for each.
func (v *Variables) Readings(p *Part) [][]Word {
	const most = 16
	said := make([][]Word, len(p.Words))
	many := 1
	for i, w := range p.Words {
		if !w.Known && strings.Contains(w.Text, "$") {
			for _, t := range v.Expand(w) {
				switch {
				case len(said[i]) >= most:
				case t.Cut || t.Glob || !t.Own:
					said[i] = append(said[i], w)
				default:
					said[i] = append(said[i], Word{Text: t.Text, Known: true})
				}
			}
		}
		if len(said[i]) == 0 {
			said[i] = []Word{w}
		}
		many = max(many, len(said[i]))
	}
	out := make([][]Word, many)
	for k := range out {
		for i := range said {
			out[k] = append(out[k], said[i][min(k, len(said[i])-1)])
		}
	}
	return out
}

// HandedOn are texts in a part that others run: what a new name means, values of variables that
// programs run, programs that start others.
func (v *Variables) HandedOn(p *Part) []string {
	var out []string
	for _, a := range p.Assigns {
		if runnable(a.Name) {
			out = append(out, strings.Trim(a.Value.Text, `"`))
		}
	}
	if len(p.Words) == 0 {
		return out
	}
	name := path.Base(p.Words[0].Text)
	settings := slices.ContainsFunc(p.Words, func(w Word) bool { return w.Text == "config" })
	for _, w := range p.Words[1:] {
		_, value, sets := strings.Cut(w.Text, "=")
		switch {
		case name == "alias" && sets:
			out = append(out, strings.Trim(value, `"'`))
		case name == "git" && settings && strings.HasPrefix(w.Text, "!"), name == "compgen":
			out = append(out, w.Text)
		case name == "hash":
			out = append(out, path.Base(w.Text))
		}
	}
	for _, words := range v.Readings(p) {
		out = append(out, code(words))
	}
	return out
}

// Hides says what in a part gives a name another meaning, or runs a text that a program reads in
// its own way: then the names in it do not tell what it runs. It is "" if nothing does.
func (v *Variables) Hides(p *Part) string {
	for _, a := range p.Assigns {
		if redefines(a.Name) {
			return "the variable " + a.Name + " has a shell or git run something"
		}
	}
	if len(p.Words) == 0 {
		return ""
	}
	if strings.HasSuffix(p.Words[0].Text, "find") && slices.ContainsFunc(p.Words, v.splits) {
		return "what `find` runs is only known when it runs"
	}
	for _, words := range v.Readings(p) {
		if why := hides(words); why != "" {
			return why
		}
	}
	return ""
}

// Swaps: it sets a variable in another way than by an assignment that is not its own: programs may be others then
// than their names say. surely: one that decides which they are.
func (c *Command) Swaps(surely bool) bool {
	return slices.ContainsFunc(c.sets, func(name string) bool {
		lead, _, _ := strings.Cut(name, "_")
		decides := slices.Contains([]string{"PATH", "ENV", "IFS", "BASH", "LD", "DYLD", "GIT"}, lead) || runnable(name)
		return !alwaysNumber(name) && !OwnVariable(name) && (decides || !surely)
	})
}

func hides(words []Word) string {
	name, args := path.Base(words[0].Text), words[1:]
	letter := func(c string) bool {
		return slices.ContainsFunc(args, func(w Word) bool {
			return strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, c) ||
				!w.Known && !strings.HasPrefix(w.Text, "-")
		})
	}
	sub := 0
	if name == "git" {
		sub = gitSubcommand(args)
	}
	known := lookup(name)
	switch {
	case name == "alias" && slices.ContainsFunc(args, func(w Word) bool {
		return !w.Known || strings.Contains(w.Text,
			"=")
	}):
		return "`alias` gives a name another meaning"
	case name == "hash" && letter("p"):
		return "`hash -p` gives a name another meaning"
	case name == "enable" && letter("f"):
		return "`enable -f` loads a command from a file"
	case name == "compgen" && letter("C"):
		return "`compgen -C` runs a text"
	case known.subs:
		if sub < len(args) && !args[sub].Known && !args[sub].Pattern && !strings.HasPrefix(args[sub].Text, "-") {
			return "which command of `" + name + "` it runs is only known when it runs"
		}
		if name == "git" {
			return hidesInGit(args)
		}
	case name == "env" || name == "sudo" || name == "doas":
		for _, w := range args {
			if v, _, ok := strings.Cut(w.Text, "="); ok && redefines(v) {
				return "the variable " + v + " has a shell or git run something"
			}
		}
	}
	if code(words) != "" {
		return "the program that `" + name + "` is given may run commands"
	}
	return ""
}

// gitSubcommand is the place of git's subcommand among its arguments.
func gitSubcommand(args []Word) int {
	for i := 0; i < len(args); i++ {
		switch text := args[i].Text; {
		case text == "-C" || text == "-c":
			i++
		case !strings.HasPrefix(text, "-"):
			return i
		}
	}
	return len(args)
}

// hidesInGit: git is given a setting that makes a new command of it or names a program.
func hidesInGit(args []Word) string {
	reads := slices.ContainsFunc(args, func(w Word) bool {
		return slices.Contains([]string{"get", "list", "unset", "--get", "--get-all", "--get-regexp", "--list", "-l",
			"--unset", "--unset-all"}, w.Text)
	})
	for i, w := range args {
		key, value, ok := strings.Cut(w.Text, "=")
		if !ok && i+1 < len(args) {
			value = args[i+1].Text
		}
		before := ""
		if i > 0 {
			before = args[i-1].Text
		}
		switch lower := strings.ToLower(key); {
		case strings.HasPrefix(lower, "--config-env"):
			return "`git --config-env` takes settings from variables"
		case i == 0 && w.Text == "config" && len(args) > 1 && !args[1].Known,
			(before == "-c" || before == "--config") && !w.Known && strings.HasPrefix(strings.Trim(key, `"`), "$"):
			return "git is given a setting that is only known when it runs"
		case strings.HasPrefix(lower, "alias.") && value != "" && !reads, before == "-c" && strings.HasPrefix(value,
			"!"):
			return "a setting of git makes a new command of it, or names one (" + key + ")"
		}
	}
	return ""
}

// code is the text of its own that a command runs, or may run, by its arguments: the program
// of a sed or awk that starts others; "" if it starts none. That it writes files does not matter here.
func code(words []Word) string {
	if !words[0].Known {
		return ""
	}
	known := lookup(path.Base(words[0].Text))
	if known.code == nil {
		return ""
	}
	values := "efl" // of sed
	if strings.Contains(known.values, "F") {
		values = "eFvfilE"
	}
	if text := strings.Join(programsIn(words[1:], values), "\n"); known.code(text) {
		return text
	}
	return ""
}

// programsIn are the programs among the arguments of sed or awk; those in files are left out.
// values are the letters that take one.
func programsIn(args []Word, values string) []string {
	var out []string
	given := false // by an option
	for i := 0; i < len(args); i++ {
		text := filled(args[i])
		next := ""
		if i+1 < len(args) {
			next = filled(args[i+1])
		}
		switch name, value, glued := strings.Cut(text, "="); {
		case text == "--" && !given && next != "":
			return append(out, next)
		case text == "--":
			return out
		case len(text) < 2 || text[0] != '-':
			if text != "" && !given { // -i '' of other systems
				return append(out, text)
			}
		case text[1] == '-':
			program := strings.HasPrefix("--expression", name) || strings.HasPrefix("--source", name)
			file := strings.HasPrefix("--file", name)
			if !glued && (program || file) {
				value = next
				i++
			}
			given = given || program || file
			if program {
				out = append(out, value)
			}
		default:
			k := strings.IndexAny(text[1:], values)
			if inPlace := strings.IndexByte(text[1:], 'i'); k < 0 || inPlace >= 0 && inPlace < k {
				continue // behind -i is the end of a name
			}
			if value = text[k+2:]; value == "" {
				value = next
				i++
			}
			given = given || strings.IndexByte("efE", text[k+1]) >= 0
			if text[k+1] == 'e' {
				out = append(out, value)
			}
		}
	}
	return out
}

// filled is a word with a number for what is only known when it runs.
func filled(word Word) string {
	if word.Known || word.Pattern {
		return map[bool]string{true: word.Text, false: unknownProgram}[word.Known]
	}
	var b strings.Builder
	some := false
	for _, p := range word.pieces {
		if p.kind == pieceText {
			b.WriteString(p.text)
			some = some || p.text != ""
		} else {
			b.WriteByte('1')
		}
	}
	if !some {
		return unknownProgram
	}
	return b.String()
}
