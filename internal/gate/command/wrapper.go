package command

import "strings"

// starter walks what a command's own words start.
type starter struct{ walk *walker }

// wrapper says how to read the options of a command that runs another one.
type wrapper struct {
	flags    string // short options without a value
	values   string // short options with one
	long     string // long options; those with a value end with "="
	operands int    // arguments before the command
	number   bool   // -10 is an option
	assigns  bool   // NAME=value before the command
	visible  bool   // its options matter, so that it is a part itself and what it runs another
}

// moreWords stands for the arguments that xargs adds.
func moreWords() Word { return Word{Text: "…", pieces: []piece{{kind: pieceOther}}} }

func withoutMore(text string) string { return strings.TrimSuffix(text, " …") }

const unknownCommand = "runs what is only known when it runs"

// unwrap takes the wrappers off the words and sets the part's own.
func (s starter) unwrap(part *Part, words []Word) {
	part.Words = words
	for {
		name, ok := commandName(part.Words)
		if !ok {
			return
		}
		known := lookup(name).wraps
		if known == nil || known.visible {
			return
		}
		args := part.Words[1:]
		if name == "env" {
			args = part.clear(args)
		}
		rest, assigns, problem := known.skip(args)
		if problem != "" {
			if !onlyAsks(name, args) {
				s.walk.unclear("`" + name + "` " + problem)
			}
			return
		}
		if len(rest) == 0 {
			return // env, exec and the like alone are commands
		}
		taken := args[:len(args)-len(rest)]
		if name == "xargs" {
			rest = append(replaced(taken, rest), moreWords())
		}
		part.Wrappers, part.Taken = append(part.Wrappers, name), append(part.Taken, taken...)
		part.Assigns = append(part.Assigns, assigns...)
		part.Words = rest
	}
}

// replaced are the words behind xargs; those in which it puts what it reads are not known.
func replaced(taken, words []Word) []Word {
	words = append([]Word(nil), words...)
	for i, t := range taken {
		flag, what, glued := lastFlag(t.Text, "nPLIsdEa")
		if flag == 'I' && !glued && i+1 < len(taken) {
			what = taken[i+1].Text
		}
		for k, w := range words {
			if flag == 'I' && strings.Contains(w.Text, what) {
				words[k].Known, words[k].pieces = false, braced(w.Text, what, pieceOther)
			}
		}
	}
	return words
}

// clear notes that env takes variables away, and returns its arguments without the "-" that
// is another way to write -i.
func (p *Part) clear(args []Word) []Word {
	for i, arg := range args {
		switch {
		case !arg.Known || arg.Text == "--" || !strings.HasPrefix(arg.Text, "-"):
			value := i > 0 && (args[i-1].Text == "-u" || args[i-1].Text == "--unset")
			if !value {
				return args
			}
		case arg.Text == "-":
			p.cleared = true
			return append(args[:i:i], args[i+1:]...)
		default:
			p.cleared = true
		}
	}
	return args
}

// onlyAsks: command -v and --version run nothing.
func onlyAsks(name string, args []Word) bool {
	if len(args) == 0 || !args[0].Known {
		return false
	}
	first := args[0].Text
	return name == "command" && (first == "-v" || first == "-V") || first == "--version" || first == "--help"
}

// skip passes the wrapper's options and operands. The problem completes "`timeout` …".
func (s *wrapper) skip(args []Word) (rest []Word, assigns []Assign, problem string) {
	for len(args) > 0 {
		arg := args[0]
		if !arg.Known && arg.mayBegin('-') {
			return nil, nil, unknownCommand
		}
		text := arg.Text
		if !arg.Known || text == "" || text[0] != '-' || text == "-" {
			break
		}
		args = args[1:]
		if text == "--" {
			break
		}
		takes, ok := s.option(text)
		if !ok {
			return nil, nil, "has the option `" + text + "`, which is not known"
		}
		if takes {
			if len(args) == 0 || !args[0].single() {
				return nil, nil, unknownCommand
			}
			args = args[1:]
		}
	}
	for s.assigns && len(args) > 0 {
		name, value, found := strings.Cut(args[0].Text, "=")
		if !found || !args[0].Known && !isName(name) {
			break
		}
		word := Word{Text: value, pieces: []piece{{kind: pieceOther, quoted: true}}}
		if args[0].Known {
			word = knownWord(value)
		}
		assigns = append(assigns, Assign{Name: name, Value: word})
		args = args[1:]
	}
	for range s.operands {
		if len(args) == 0 {
			return nil, assigns, ""
		}
		if !args[0].single() {
			return nil, nil, unknownCommand
		}
		args = args[1:]
	}
	return args, assigns, ""
}

// option says whether an option is known, and whether its value is the next word.
func (s *wrapper) option(text string) (takes, ok bool) {
	if strings.HasPrefix(text, "--") {
		name, _, glued := strings.Cut(text, "=")
		for l := range strings.FieldsSeq(s.long) {
			if l == name && !glued || l == name+"=" {
				return l != name && !glued, true
			}
		}
		return false, false
	}
	if s.number && strings.Trim(text[1:], "0123456789-+") == "" {
		return false, true
	}
	for i := 1; i < len(text); i++ {
		if strings.IndexByte(s.values, text[i]) >= 0 {
			return i+1 == len(text), true
		}
		if strings.IndexByte(s.flags, text[i]) < 0 {
			return false, false
		}
	}
	return false, true
}

// carried adds the part that a command with options of its own runs.
func (s starter) carried(name string, how *wrapper, args []Word, part Part) {
	rest, assigns, problem := how.skip(args)
	if problem != "" {
		s.walk.unclear("`" + name + "` " + problem)
	} else if len(rest) > 0 {
		s.via(name, rest, assigns, part)
	}
}

// via adds the part that another one runs by its arguments.
func (s starter) via(name string, words []Word, assigns []Assign, part Part) {
	if !s.walk.enter() {
		return
	}
	defer s.walk.leave()
	p := Part{
		Via: name, Assigns: append(part.Assigns[:len(part.Assigns):len(part.Assigns)], assigns...),
		Redirects: part.Redirects, Moved: part.Moved,
	}
	p.Whole = textOf(words)
	s.unwrap(&p, words)
	p.Text = withoutMore(textOf(p.Words))
	s.walk.out.Parts = append(s.walk.out.Parts, p)
	moved := s.walk.moved
	s.effects(p)
	s.walk.moved = moved
}

// find adds what -exec and its like run.
func (s starter) find(args []Word, part Part) {
	for i := 0; i < len(args); i++ {
		option := args[i].Text
		if !args[i].Known || option != "-exec" && option != "-execdir" && option != "-ok" && option != "-okdir" {
			continue
		}
		var words []Word
		for i++; i < len(args) && !(args[i].Known && (args[i].Text == ";" || args[i].Text == "+" && len(words) > 0 &&
			strings.HasPrefix(words[len(words)-1].Text, "{}"))); i++ {
			word := args[i]
			if word.Known && strings.Contains(word.Text, "{}") {
				word.Known, word.pieces = false, braced(word.Text, "{}", pieceFile)
			}
			words = append(words, word)
		}
		// which becomes many names
		if last := len(words) - 1; i < len(args) && args[i].Text == "+" && words[last].Text == "{}" {
			words[last].pieces = []piece{{kind: pieceFile}}
		}
		if len(words) > 0 {
			p := part
			p.Moved = p.Moved || strings.HasSuffix(option, "dir")
			s.via("find", words, nil, p)
		}
	}
}

// braced are the pieces of an argument of find -exec; what {} becomes begins with one of the
// folders that find was given.
func braced(text, braces string, kind pieceKind) []piece {
	var out []piece
	for i, t := range strings.Split(text, braces) {
		if i > 0 {
			out = append(out, piece{kind: kind, quoted: true})
		}
		if t != "" {
			out = append(out, piece{text: t, quoted: true})
		}
	}
	return out
}

// shell reads the code given to bash -c.
func (s starter) shell(name string, args []Word, part Part) {
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		switch {
		case !args[i].Known:
			s.walk.unclear("`" + name + "` " + unknownCommand)
			return
		case len(text) < 2 || text[0] != '-' && text[0] != '+':
			return // a script
		case text == "--rcfile" || text == "--init-file" || !strings.HasPrefix(text, "--") && strings.ContainsAny(text,
			"oO") && !strings.Contains(text, "c"):
			i++
		case strings.HasPrefix(text, "--") || text[0] == '+' || !strings.Contains(text, "c"):
		default:
			for i++; i < len(args) && args[i].Known && strings.HasPrefix(args[i].Text, "-"); i++ {
			}
			if i >= len(args) || !args[i].Known {
				s.walk.unclear("`" + name + "` " + unknownCommand)
				return
			}
			s.text(name, args[i].Text, part)
			return
		}
	}
}

// single: it is exactly one word when it runs.
func (w Word) single() bool {
	if w.Known {
		return true
	}
	if w.Pattern {
		return false
	}
	for _, p := range w.pieces {
		switch {
		case p.kind == pieceText || p.kind == pieceNumber || p.kind == pieceTilde:
		case p.kind == pieceVar && p.quoted && p.text != "@":
		case (p.kind == pieceOutput || p.kind == pieceFile) && p.quoted:
		default:
			return false
		}
	}
	return true
}

// lead is the text that it is known to begin with.
func (w Word) lead() string {
	var text strings.Builder
	for i, p := range w.pieces {
		if p.kind == pieceFile && i == 0 {
			return "/"
		}
		if p.kind == pieceVar && text.Len() == 0 && (p.text == "HOME" || p.text == "PWD" && p.quoted) {
			return "~/"
		}
		if p.kind != pieceText {
			break
		}
		if !p.quoted {
			if k := strings.IndexAny(p.text, "*?["); k >= 0 {
				text.WriteString(p.text[:k])
				break
			}
		}
		text.WriteString(p.text)
	}
	return text.String()
}

// mayBegin: it may begin with a sign, such as a dash, and then is something else to a program.
func (w Word) mayBegin(sign byte) bool {
	if w.Known {
		return w.Text != "" && w.Text[0] == sign
	}
	lead := w.lead()
	return lead == "" || lead[0] == sign
}
