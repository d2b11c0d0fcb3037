package command

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call takes a simple command: what it assigns, what it is, and whatever its words run.
func (w *walker) call(c *syntax.CallExpr, s scope) {
	index := len(w.out.Parts)
	w.add(Part{Redirects: s.redirects}) // here its place is; it is filled in below
	part := w.out.Parts[index]
	part.Assigns = w.assigns(c.Assigns)
	var words []Word
	for _, arg := range c.Args {
		words = append(words, w.words(arg)...)
	}
	if s.timed && len(words) > 0 && words[0].Known && words[0].Text == "--" {
		words = words[1:]
	}
	if s.timed {
		part.Wrappers = append(part.Wrappers, "time")
	}
	part.Whole = w.source(c)
	if len(words) == 0 {
		part.Text = part.Whole
		w.out.Parts[index] = part
		return
	}
	part.Whole = textOf(words)
	if s.timed {
		part.Whole = "time " + part.Whole
	}
	starter{w}.unwrap(&part, words)
	part.Text = withoutMore(textOf(part.Words))
	w.out.Parts[index] = part
	starter{w}.effects(part)
}

func textOf(words []Word) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = word.written()
	}
	return strings.Join(texts, " ")
}

// written is a word as it was written; Text is that, or the same without quotes.
func (w Word) written() string {
	if w.source != "" {
		return w.source
	}
	return w.Text
}

func (w *walker) assigns(list []*syntax.Assign) []Assign {
	var out []Assign
	for _, a := range list {
		if a.Index != nil {
			arithmetic{w}.arithm(a.Index)
		}
		if a.Name == nil {
			continue
		}
		value := w.value(a.Value)
		if a.Array != nil {
			value = Word{Text: w.source(a.Array), pieces: []piece{{kind: pieceOther}}}
			for _, e := range a.Array.Elems {
				if e.Index != nil {
					arithmetic{w}.arithm(e.Index)
				}
				if e.Value != nil {
					w.words(e.Value)
				}
			}
		}
		if a.Index != nil {
			value = Word{Text: value.Text, pieces: []piece{{kind: pieceOther}}}
		}
		out = append(out, Assign{Name: a.Name.Value, Value: value, Append: a.Append})
	}
	return out
}

// declare takes declare, export, local and their like, whose arguments the parser reads as assignments.
func (w *walker) declare(c *syntax.DeclClause, s scope) {
	index := len(w.out.Parts)
	w.add(Part{Redirects: s.redirects})
	part := w.out.Parts[index]
	part.Words = []Word{knownWord(c.Variant.Value)}
	for _, a := range c.Args {
		switch {
		case a.Name == nil:
			words := w.words(a.Value)
			part.Words = append(part.Words, words...)
			for _, word := range words {
				starter{w}.declaration(c.Variant.Value, word)
			}
		case a.Naked && a.Index == nil:
			part.Words = append(part.Words, knownWord(a.Name.Value))
		default:
			set := w.assigns([]*syntax.Assign{a})
			part.Assigns = append(part.Assigns, set...)
			word := Word{
				Text: w.source(a), pieces: []piece{{text: a.Name.Value + "="}, {kind: pieceOther, quoted: true}},
			}
			if a.Index == nil && a.Array == nil && !a.Append && set[0].Value.Known {
				word = knownWord(a.Name.Value + "=" + set[0].Value.Text)
				word.source = w.source(a)
			}
			part.Words = append(part.Words, word)
		}
	}
	part.Text = textOf(part.Words)
	part.Whole = part.Text
	if s.timed {
		part.Wrappers = []string{"time"}
		part.Whole = "time " + part.Text
	}
	w.out.Parts[index] = part
}

// declaration checks a word of declare that is no plain assignment: an option, or a text
// that is evaluated as one.
func (s starter) declaration(name string, word Word) {
	switch {
	case !word.Known:
		s.walk.unclear("what `" + name + "` sets is only known when it runs")
	case strings.HasPrefix(word.Text, "-") || strings.HasPrefix(word.Text, "+"):
		if strings.ContainsAny(word.Text, "inIN") && !strings.HasPrefix(word.Text, "--") {
			s.walk.unclear("`" + name + " " + word.Text + "` makes later assignments evaluate what they are given")
		}
	default:
		target, _, _ := strings.Cut(word.Text, "=")
		if !isName(strings.TrimSuffix(target, "+")) {
			s.walk.unclear("the name of a variable in it is evaluated, and may run something")
		}
	}
}

func knownWord(text string) Word {
	return Word{Text: text, Known: true, pieces: []piece{{text: text, quoted: true}}}
}

// effects are what a part does to the rest of the walk: it may change the folder, or
// evaluate its arguments.
func (s starter) effects(part Part) {
	name, ok := commandName(part.Words)
	if !ok {
		s.walk.unclear("its first word is only known when it runs")
		s.walk.moves()
		return
	}
	args := part.Words[1:]
	switch name {
	case "cd", "pushd", "popd":
		if !(name != "popd" && !s.walk.moved && len(args) == 1 && s.walk.isHere(args[0])) {
			s.walk.moves()
		}
	case "eval":
		s.walk.moves()
		s.code(name, args, part)
	case ".", "source":
		s.walk.moves()
		if len(args) == 0 || !args[0].Known {
			s.walk.unclear("it runs a file whose name is only known when it runs")
		}
	case "trap":
		s.trap(args, part)
	case "test", "[":
		s.testBuiltin(args)
	case "declare", "typeset", "local", "export", "readonly":
		for _, arg := range args {
			s.declaration(name, arg)
		}
	case "let":
		s.walk.unclear("`let` evaluates its arguments")
	case "printf", "read", "unset", "mapfile", "readarray", "getopts", "wait":
		s.variables(name, args)
	case "compgen", "complete", "bind", "fc", "jobs":
		for _, arg := range args {
			if !arg.Known || strings.ContainsAny(arg.Text, "$`") {
				s.walk.unclear("`" + name + "` evaluates its arguments")
			}
		}
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "rbash":
		s.shell(name, args, part)
	case "find":
		s.find(args, part)
	default:
		if how := lookup(name).wraps; how != nil && how.visible {
			s.carried(name, how, args, part)
		}
	}
}

// isHere: it names the folder in which the command runs.
func (w *walker) isHere(word Word) bool {
	switch {
	case !word.Known:
		return false
	case word.Text == "." || word.Text == "./":
		return true
	}
	return path.IsAbs(w.folder) && path.Clean(word.Text) == path.Clean(w.folder)
}

func (w *walker) moves() { w.moved, w.everMoved = true, true }

// commandName is the name of the program or builtin, without the folders that programs are
// usually in.
func commandName(words []Word) (string, bool) {
	if len(words) == 0 || !words[0].Known {
		return "", false
	}
	return baseName(words[0].Text), true
}

func baseName(name string) string {
	switch dir, base := path.Split(name); dir {
	case "/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/":
		return base
	}
	return name
}

// code walks a text that a command evaluates.
func (s starter) code(name string, args []Word, part Part) {
	texts := make([]string, len(args))
	for i, arg := range args {
		if !arg.Known {
			s.walk.unclear("`" + name + "` runs a text that is only known when it runs")
			return
		}
		texts[i] = arg.Text
	}
	s.text(name, strings.Join(texts, " "), part)
}

// text reads the code in a text as parts of its own.
func (s starter) text(name, text string, part Part) {
	if s.walk.texts >= maxTexts {
		s.walk.unclear("it has code within texts within texts")
		return
	}
	inner, bad := walk(text, s.walk.texts+1, s.walk.folder)
	if bad != nil {
		s.walk.unclear("the text that `" + name + "` runs cannot be read")
		return
	}
	for _, p := range inner.out.Parts {
		if p.Via == "" {
			p.Via = name
		}
		p.Redirects = append(p.Redirects, part.Redirects...)
		p.Moved = p.Moved || s.walk.moved || part.Moved
		s.walk.out.Parts = append(s.walk.out.Parts, p)
	}
	for _, why := range inner.out.Unclear {
		s.walk.unclear(why)
	}
	s.walk.out.functions = append(s.walk.out.functions, inner.out.functions...)
	s.walk.out.uses = append(s.walk.out.uses, inner.out.uses...)
	s.walk.out.sets = append(s.walk.out.sets, inner.out.sets...)
	s.walk.out.strings = append(s.walk.out.strings, inner.out.strings...)
	s.walk.counted = s.walk.counted || inner.counted
	s.walk.out.Redirected = s.walk.out.Redirected || inner.out.Redirected
}

func (s starter) trap(args []Word, part Part) {
	for len(args) > 0 && args[0].Known && (args[0].Text == "--" || args[0].Text == "-p" || args[0].Text == "-l") {
		args = args[1:]
	}
	if len(args) == 0 || args[0].Known && (args[0].Text == "-" || args[0].Text == "") {
		return
	}
	s.walk.moves()
	s.code("trap", args[:1], part)
}

// testBuiltin looks at the arguments of test and [: the one after -v is evaluated.
func (s starter) testBuiltin(args []Word) {
	if n := len(args); n > 0 && args[n-1].Known && args[n-1].Text == "]" {
		args = args[:n-1]
	}
	unknown, code := false, false
	for i, arg := range args {
		unknown = unknown || !arg.Known
		code = code || arg.Known && strings.Contains(arg.Text, "[") && strings.ContainsAny(arg.Text, "$`")
		if arg.Known && (arg.Text == "-v" || arg.Text == "-R") && i+1 < len(args) && (!args[i+1].Known ||
			!isName(args[i+1].Text)) {
			s.walk.unclear("the name of a variable in it is evaluated, and may run something")
		}
	}
	if unknown && (code || len(args) == 2 && !args[0].Known) {
		s.walk.unclear("a test in it may evaluate a name, and run something")
	}
}

// variables checks builtins that put something into variables: their names are evaluated,
// if they have subscripts.
func (s starter) variables(name string, args []Word) {
	if name == "printf" && len(args) > 1 && args[0].Known && setsCount(args[0].Text) {
		s.walk.unclear("%n of `printf` sets a variable")
	}
	takes := map[string]string{"read": "dinNptu", "mapfile": "dnOsucC", "readarray": "dnOsucC"}[name]
	names := name == "read" || name == "unset" || name == "mapfile" || name == "readarray"
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case name == "printf" && i > 0 || name == "getopts" && i == 0:
			if name == "printf" {
				return
			}
		case !arg.Known:
			if names || name == "getopts" && i == 1 || strings.HasPrefix(arg.lead(), "-v") {
				s.walk.unclear("the name of a variable in it is only known when it runs")
			}
		case strings.HasPrefix(arg.Text, "-") && arg.Text != "-" && name != "getopts":
			flag, value, glued := lastFlag(arg.Text, takes+"vap")
			if strings.ContainsAny(arg.Text, "C") && takes != "" && name != "read" {
				s.walk.unclear("`" + name + " -C` evaluates its argument")
			}
			if flag == 0 || strings.IndexByte(takes, flag) < 0 && !(flag == 'a' && name == "read" || flag == 'v' &&
				name == "printf" || flag == 'p' && name == "wait") {
				continue
			}
			if !glued {
				i++
				if i >= len(args) {
					return
				}
				value = args[i].Text
			}
			s.walk.sets(value)
			if (flag == 'a' || flag == 'v' || flag == 'p' && name == "wait") && (!glued && !args[i].Known ||
				!isName(value)) {
				s.walk.unclear("the name of a variable in it is evaluated, and may run something")
			}
		case names || name == "getopts" && i == 1:
			s.walk.sets(arg.Text)
			if !isName(arg.Text) {
				s.walk.unclear("the name of a variable in it is evaluated, and may run something")
			}
		}
	}
}

// lastFlag is the flag in a cluster that takes a value, and the value if it is glued on.
func lastFlag(cluster, takes string) (flag byte, value string, glued bool) {
	for i := 1; i < len(cluster); i++ {
		if strings.IndexByte(takes, cluster[i]) >= 0 {
			return cluster[i], cluster[i+1:], i+1 < len(cluster)
		}
	}
	return 0, "", false
}
