package command

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// What options alone do not say of a program. Each returns what the command may do besides
// reading, or nothing.

// searchesBelow: a pattern may be given by an option, and a search goes through folders.
func searchesBelow(j *judge, u *invocation) string {
	if u.has("e", "f", "files") || u.mayMean("regexp") || u.mayMean("file") {
		u.texts = 0
	}
	u.below = u.has("r", "R", "d") || u.mayMean("recursive") || u.mayMean("dereference-recursive") ||
		u.mayMean("directories")
	j.out.Here = j.out.Here || u.below && len(u.operands) <= u.texts
	return ""
}

// mayMean: a long option is given, or a beginning of it, which many programs take for the whole.
func (u *invocation) mayMean(long string) bool {
	return slices.ContainsFunc(u.options, func(o option) bool {
		return len(o.name) > 1 &&
			strings.HasPrefix(long, o.name)
	})
}

// comparesFolders: with --no-index git compares folders as diff does, with all below them.
func comparesFolders(_ *judge, u *invocation) string {
	u.below = u.mayMean("no-index")
	return ""
}

// readsNames: options may name a file that holds names, which are told as what is not there, and diff what it
// compares. Where a pattern becomes names, a file may be called like such an option.
func readsNames(j *judge, u *invocation) string {
	j.out.Here = j.out.Here || (u.name == "du" || u.name == "wc") && u.begins('-')
	if slices.ContainsFunc([]string{"files0-from", "exclude-from", "from-file", "to-file"}, u.mayMean) || u.has("X") {
		return "reads what a file that an option names holds, or names"
	}
	return ""
}

// begins: an operand begins with a sign, or may.
func (u *invocation) begins(sign byte) bool {
	return slices.ContainsFunc(u.operands, func(w Word) bool { return w.mayBegin(sign) })
}

func onlyShowsPages(_ *judge, u *invocation) string {
	if u.begins('+') {
		return "gives `less` what may be a command"
	}
	return ""
}

// noOptionFiles: the program takes options from a file named by @, wherever that stands, among
// them one that loads code.
func noOptionFiles(_ *judge, u *invocation) string {
	made := func(w Word) bool { return !w.Known && (len(w.pieces) == 0 || w.pieces[0].kind != pieceText) }
	if u.begins('@') || slices.ContainsFunc(u.operands, made) || slices.ContainsFunc(u.options,
		func(o option) bool { return o.given && o.value.mayBegin('@') }) {
		return "may take options from a file"
	}
	return ""
}

// translates: the second set of tr is what it writes.
func translates(_ *judge, u *invocation) string {
	if len(u.operands) > 1 && (!u.operands[1].Known || escapesIn(u.operands[1].Text+"  ")) {
		return controlsTerminal
	}
	return ""
}

func onlyToDevices(j *judge, u *invocation) string {
	if slices.ContainsFunc(u.operands, func(w Word) bool { return !w.Known || !PlainDevice(w.Text, j.shown) }) {
		return "writes to the files that it is given"
	}
	return ""
}

// onlyShows judges echo and printf.
func onlyShows(j *judge, u *invocation) string {
	j.out.Says = append(j.out.Says, u.operands...)
	if u.name == "printf" && (u.has("v") || len(u.operands) > 0 && (!u.operands[0].Known ||
		setsCount(u.operands[0].Text))) {
		return "gives `printf` a format that is only known when it runs, or sets a variable"
	}
	return ""
}

// setsCount: %n stores how much was printed in the variable that the argument names.
func setsCount(format string) bool {
	return regexp.MustCompile(`%[-+ #0-9'*.$hlLqjzt]*n`).MatchString(strings.ReplaceAll(format, "%%", ""))
}

// onlyCharacterSets: a name with a slash may load code from a folder.
func onlyCharacterSets(_ *judge, u *invocation) string {
	plain := strings.NewReplacer("//TRANSLIT", "", "//IGNORE", "")
	if slices.ContainsFunc(u.valuesOf("f", "t", "from-code", "to-code"), func(w Word) bool {
		return !w.Known || strings.Contains(plain.Replace(w.Text), "/")
	}) {
		return "gives `iconv` a character set that may load code"
	}
	return ""
}

func onlyFormats(_ *judge, u *invocation) string {
	if slices.ContainsFunc(u.operands, func(w Word) bool {
		return !strings.HasPrefix(w.lead(), "+") && !strings.HasPrefix(w.Text, "+") || !w.single()
	}) {
		return "may set the clock"
	}
	return ""
}

// onlyProcesses: without a dash, e means that the environment is shown too.
func onlyProcesses(_ *judge, u *invocation) string {
	if slices.ContainsFunc(u.operands, func(w Word) bool {
		return !w.Known || strings.Trim(w.Text,
			"auxfwljvs0123456789,") != ""
	}) ||
		slices.ContainsFunc(u.valuesOf("o"), func(w Word) bool { return !w.Known || strings.Contains(w.Text, "env") }) {
		return tellsProcesses
	}
	return ""
}

func onlyPlainVariables(_ *judge, u *invocation) string {
	if len(u.operands) == 0 || slices.ContainsFunc(u.operands, func(w Word) bool {
		return !w.Known ||
			!isName(w.Text) || !plainEnvironment(w.Text)
	}) {
		return "tells variables, which may be secret"
	}
	return ""
}

// onlyIf: without one of these options it does something else.
func onlyIf(otherwise string, options ...string) func(*judge, *invocation) string {
	return func(_ *judge, u *invocation) string {
		if u.has(options...) {
			return ""
		}
		return otherwise
	}
}

// script judges a program in a language of its own, which is given as text.
func script(reads func(text string) bool) func(*judge, *invocation) string {
	return func(_ *judge, u *invocation) string {
		texts := u.valuesOf("e", "expression")
		if len(texts) > 0 {
			u.texts = 0
		} else if len(u.operands) == 0 {
			return "runs a program that is only known when it runs"
		} else {
			texts = u.operands[:1]
		}
		var lines []string
		for _, w := range texts {
			if !w.Known {
				return "runs a program that is only known when it runs"
			}
			lines = append(lines, w.Text)
		}
		if !reads(strings.Join(lines, "\n")) {
			return "runs a program of `" + u.name + "` that may do more than read"
		}
		if slices.ContainsFunc(u.operands, func(w Word) bool { return strings.Contains(w.Text, "/inet") }) {
			return "may reach another machine"
		}
		return ""
	}
}

// sedOnlyReads: plain commands, with plain addresses, that change lines on their way, and make no
// control characters.
func sedOnlyReads(text string) bool {
	pattern := func(end string) string {
		return `([^` + end + `\\\[\n]|\\[^\n]|\[[^\]` + end + `\\\n]+\])*` + regexp.QuoteMeta(end)
	}
	// A newline ends labels and texts, and parts an address from nothing: it is no blank but between commands.
	address := `[ \t\n]*(([0-9]+(~[0-9]+)?|\$|/` + pattern("/") + `)(,([0-9]+|\$|/` + pattern("/") +
		`))?)?[ \t]*!?[ \t]*`
	one := `[pdqQnNDPGHhgx=]|:\w+|[bt][ \t]*\w*|[aic][ \t][^\\\n]*`
	for _, end := range []string{"/", "|", "#", ",", ":", "@"} {
		one += `|y` + regexp.QuoteMeta(end) + `[^` + end + `\\\n]*` + regexp.QuoteMeta(end) + `[^` + end + `\\\n]*` +
			regexp.QuoteMeta(end) + `|s` + regexp.QuoteMeta(end) + pattern(end) + `([^` + end +
			`\\\n]|\\[0-9ntULlE&/|#,.*+()\[\]{}$^\\-])*` + regexp.QuoteMeta(end) + `[gpIi0-9]*`
	}
	// One bracket may hold the delimiter if nothing is put in place: who takes that for the end sees a mistake.
	one += `|s/` + `([^/\\\[\n]|\\[^\n])*\[[^\]/\\\n]*/[^\]/\\\n]*\]([^/\\\[\n]|\\[^\n])*//[gpIi0-9]*`
	one = `(` + address + `\{)*` + address + `(` + one + `)([ \t\n]*;?[ \t\n]*\})*[ \t]*`
	return regexp.MustCompile(`^` + one + `([;\n]` + one + `)*;?[ \t\n]*$`).MatchString(text)
}

// sedRuns: the program may hold e, or s with e. What cannot be told counts.
func sedRuns(text string) bool {
	for at := regexp.MustCompile(`(^|[;{}\n,!])\s*\\.`); ; {
		found := at.FindStringIndex(text)
		if found == nil {
			break
		}
		_, rest, closed := strings.Cut(text[found[1]:], text[found[1]-1:found[1]])
		if !closed {
			return true
		}
		text = text[:found[1]-2] + "/a/" + rest // an address with other signs at its ends
	}
	if text == unknownProgram ||
		regexp.MustCompile(`(^|[;{}\n]|[0-9$,!])\s*e|[/IM]\s*e(\s|[;}"'$]|$)`).MatchString(text) {
		return true
	}
	for i := 0; i+1 < len(text); i++ {
		before := strings.TrimRight(text[:i], " \t")
		if text[i] != 's' || before != "" && strings.IndexByte(";{}\n0123456789$/,!IM", before[len(before)-1]) < 0 {
			continue
		}
		parts := strings.SplitN(strings.ReplaceAll(text[i+2:], `\`+text[i+1:i+2], ""), text[i+1:i+2], 3)
		if len(parts) == 3 {
			flags, _, _ := strings.Cut(parts[2], "w")
			flags = flags[:len(flags)-len(strings.TrimLeft(flags, "gpiImMe0123456789"))]
			if strings.Contains(flags, "e") {
				return true
			}
		}
	}
	return false
}

// awkOnlyReads: nothing goes to files, other programs or out of the environment. In a pattern, and
// in parentheses, > compares.
func awkOnlyReads(text string) bool {
	actions, plain := awkActions(text)
	for before := ""; plain && before != actions; {
		before = actions
		actions = regexp.MustCompile(`\([^()]*\)`).ReplaceAllStringFunc(actions, func(group string) string {
			if strings.Contains(group, "print") {
				return group
			}
			return ""
		})
	}
	return !awkRuns(text) && !strings.Contains(actions, ">") &&
		!regexp.MustCompile(`getline|ENVIRON|PROCINFO|ARGV|SYMTAB|FUNCTAB|%[-+ #0-9.*$'hlLjqtz]*["c]`).MatchString(text)
}

// awkActions is what may be actions: all behind the first brace. plain: it was without regular
// expressions, and its strings could be told apart for certain, so that they were taken out.
func awkActions(text string) (actions string, plain bool) {
	head, actions, _ := strings.Cut(text, "{")
	// A string ends on its line. If it does not, or the brace stands in one, a quote is left over.
	str := regexp.MustCompile(`"(\\[^\n]|[^"\\\n])*"`)
	lead, bare := str.ReplaceAllString(head, ""), str.ReplaceAllString(actions, "")
	// A quote in an expression or a comment begins no text.
	if strings.ContainsAny(actions, "/#") || strings.Contains(head, `"`) && strings.ContainsAny(head, "/#") ||
		strings.Contains(lead+bare, `"`) {
		return actions, false
	}
	return bare, true
}

// awkRuns: the program calls system, or has a pipe. Where that cannot be told, signs for it count.
func awkRuns(text string) bool {
	actions, _ := awkActions(text)
	piped := func(s string) bool { return strings.Contains(strings.ReplaceAll(s, "||", ""), "|") }
	return text == unknownProgram || strings.Contains(text, "system") || strings.Contains(text, "@") ||
		piped(actions) || strings.Contains(text, "getline") && piped(text)
}

// query judges jq, whose --arg takes two words: a name and a text.
func (j *judge) query(words []Word) string {
	var rest []Word
	for i := 1; i < len(words); i++ {
		if words[i].Text == "--" { // all that follows is what it seems
			rest = append(rest, words[i:]...)
			break
		}
		if w := words[i]; !w.Known || w.Text != "--arg" && w.Text != "--argjson" {
			rest = append(rest, w)
			continue
		}
		if i+2 >= len(words) || !words[i+1].single() || !words[i+2].single() {
			return "gives `jq " + words[i].Text + "` what is only known when it runs"
		}
		i += 2
	}
	return j.use(lookup("jq"), "jq", rest)
}

// jqOnlyReads: it does not reach out of its input. What follows a dot is a field.
func jqOnlyReads(text string) bool {
	text = regexp.MustCompile(`\.[A-Za-z_]\w*`).ReplaceAllString(text, ".")
	return !regexp.MustCompile(`(?i)env|\$__|import|include|input_filename|debug|stderr|search_list|` +
		`modulemeta|halt|implode|base64d|base32d|@uri|fromjson|format|ascii([^_]|$)|#`).MatchString(text)
}

// unknownProgram stands for a program of which nothing is known: neither sed nor awk can make sense of it.
const unknownProgram = "$"

// condition judges test and [: with a known shape, no word can become an operator that
// evaluates its operand.
func (j *judge) condition(words []Word) string {
	name, args := path.Base(words[0].Text), words[1:]
	if name == "[" {
		if len(args) == 0 || args[len(args)-1].Text != "]" {
			return "has a test that does not end"
		}
		args = args[:len(args)-1]
	}
	known := true
	for _, w := range args {
		if w.Known && (w.Text == "-v" || w.Text == "-R") {
			return "has a test that evaluates a name"
		}
		known = known && w.Known
		if !w.single() && !w.numeric(j.command.numbers) {
			return "has a test of what is only known when it runs"
		}
	}
	if len(args) > 0 && args[0].Known && args[0].Text == "!" {
		args = args[1:]
	}
	unary := func(w Word) bool {
		return w.Known && len(w.Text) == 2 && w.Text[0] == '-' && strings.Contains("abcdefghkprstuwxzGLNOSno",
			w.Text[1:])
	}
	binary := func(w Word) bool {
		return w.Known && slices.Contains([]string{"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge",
			"-nt", "-ot", "-ef"}, w.Text)
	}
	if known || len(args) <= 1 || len(args) == 2 && unary(args[0]) || len(args) == 3 && binary(args[1]) {
		return ""
	}
	return "has a test whose meaning is only known when it runs"
}

// numeric: without quotes too, the word is a number or nothing: it holds numbers that the
// shell works out, variables that never hold anything else, and what wc counts.
func (w Word) numeric(numbers map[string]bool) bool {
	some := false
	for _, p := range w.pieces {
		empty := p.kind == pieceText && p.text == ""
		some = some || !empty
		if !empty && p.kind != pieceNumber && !(p.kind == pieceText && strings.Trim(p.text, "0123456789") == "") &&
			!(p.kind == pieceVar && numbers[p.text]) && !(p.kind == pieceOutput && p.count) {
			return false
		}
	}
	return some
}

// changeFolder judges cd; what comes after it is marked as moved.
func (j *judge) changeFolder(words []Word) string {
	args := words[1:]
	if len(args) > 1 || len(args) == 1 && (args[0].mayBegin('-') || args[0].Pattern && args[0].Text[0] == '/' ||
		strings.HasPrefix(args[0].Text, "/dev")) {
		return "changes to a folder that is only known when it runs"
	}
	return ""
}

// find: all its words are options of a kind of their own, so each has to be known; -exec is
// judged by what it runs.
func (j *judge) find(words []Word) string {
	args := words[1:]
	i := 0
	for i < len(args) && slices.Contains([]string{"-L", "-H", "-P"}, args[i].Text) {
		i++
	}
	execs := slices.ContainsFunc(args, func(w Word) bool { return w.Text == "-exec" })
	first := i
	for ; i < len(args) && !(args[i].Known && (strings.HasPrefix(args[i].Text, "-") || args[i].Text == "!" ||
		args[i].Text == "(")); i++ {
		if w := args[i]; !w.Known && (w.mayBegin('-') || w.mayBegin('!') || w.mayBegin('(') || j.vars.splits(w)) {
			return "gives `find` " + w.Text + ", which may become an expression"
		}
		j.out.Reads = append(j.out.Reads, Source{args[i], !execs, execs})
	}
	j.out.Here = j.out.Here || execs && i == first
	for ; i < len(args); i++ {
		switch text := args[i].Text; {
		case !args[i].Known:
			return "gives `find` " + text + ", which may become an expression"
		case slices.Contains([]string{"-print", "-print0", "-ls", "-prune", "-depth", "-xdev", "-mount", "-daystart",
			"-follow", "-noleaf", "-nouser", "-nogroup", "-empty", "-true", "-false",
			"-not", "-and", "-a", "-or", "-o", "!", "(", ")", ",", "-quit", "-executable", "-readable", "-writable"},
			text):
		case slices.Contains([]string{"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex",
			"-regextype", "-type", "-size", "-mtime", "-atime", "-ctime", "-mmin",
			"-maxdepth", "-mindepth", "-perm", "-user", "-group", "-newer", "-printf", "-newermt", "-anewer", "-cnewer",
			"-amin", "-cmin", "-inum", "-links", "-samefile", "-uid", "-gid", "-lname", "-ilname", "-fstype", "-xtype",
			"-used"}, text):
			if i++; i >= len(args) || !args[i].single() {
				return "gives `find " + text + "` a value that is only known when it runs"
			}
		case text == "-exec":
			for i++; i < len(args) && !(args[i].Known && (args[i].Text == ";" || args[i].Text == "+")); i++ {
			}
		default:
			return "gives `find` " + text + ", which is not known to only read"
		}
	}
	return ""
}

// goTells judges the go command: it builds, writes caches and fetches modules, unless it is
// only asked about itself.
func (j *judge) goTells(words []Word) string {
	args := words[1:]
	if slices.ContainsFunc(args, func(w Word) bool { return !w.Known }) || len(args) == 0 {
		return "runs `go`, which may build and run code"
	}
	tells := args[0].Text == "version" && len(args) == 1 || args[0].Text == "help" || args[0].Text == "env"
	// The module itself is told without fetching any.
	tells = tells || args[0].Text == "list" && len(args) > 1 && args[1].Text == "-m" &&
		(len(args) == 2 || len(args) == 3 && args[2].Text == "-json")
	if !tells || args[0].Text == "env" && slices.ContainsFunc(args[1:], func(w Word) bool {
		return w.Text != "-json" && w.Text != "-changed" && !strings.HasPrefix(w.Text, "GO") &&
			!strings.HasPrefix(w.Text, "CGO_")
	}) {
		return "runs `go " + args[0].Text + "`, which may fetch, build and run code"
	}
	return ""
}
