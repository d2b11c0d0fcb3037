package reader

import (
	"strings"
)

// moreWords stands for the arguments that xargs adds.
const moreWords = "…"

// wrapper says how to read the options of a command that runs another one.
type wrapper struct {
	flags    string   // short options without a value
	values   string   // short options with one
	long     []string // long options; those with a value end with "="
	operands int      // arguments before the command
	number   bool     // -10 is an option
	assigns  bool     // NAME=value before the command
}

func wrapperOf(name string) (wrapper, bool) {
	switch name {
	case "command":
		return wrapper{flags: "p"}, true
	case "builtin", "nohup":
		return wrapper{}, true
	case "exec":
		return wrapper{flags: "cl", values: "a"}, true
	case "time":
		return wrapper{flags: "p"}, true
	case "timeout":
		return wrapper{flags: "vpf", values: "ks", operands: 1, long: []string{"--foreground", "--preserve-status", "--verbose", "--kill-after=", "--signal="}}, true
	case "nice":
		return wrapper{values: "n", number: true, long: []string{"--adjustment="}}, true
	case "stdbuf":
		return wrapper{values: "ioe", long: []string{"--input=", "--output=", "--error="}}, true
	case "env":
		return wrapper{flags: "i0", values: "u", assigns: true, long: []string{"--ignore-environment", "--null", "--unset="}}, true
	}
	return wrapper{}, false
}

// carrierOf are commands whose options matter, so that they are parts themselves; what they
// run is one more.
func carrierOf(name string) (wrapper, bool) {
	switch name {
	case "xargs":
		return wrapper{
			flags: "0rtxo", values: "nPLIsdaE",
			long: []string{"--null", "--no-run-if-empty", "--verbose", "--exit", "--open-tty", "--max-args=", "--max-procs=", "--max-lines=", "--max-chars=", "--delimiter=", "--arg-file=", "--replace="},
		}, true
	case "sudo":
		return wrapper{flags: "nEHSkbAi", values: "ughpCrtTDU", assigns: true, long: []string{"--non-interactive", "--preserve-env", "--set-home", "--login", "--user=", "--group="}}, true
	case "doas":
		return wrapper{flags: "n", values: "uC"}, true
	case "setsid":
		return wrapper{flags: "cfw", long: []string{"--ctty", "--fork", "--wait"}}, true
	case "ionice":
		return wrapper{flags: "t", values: "cn"}, true
	case "chrt":
		return wrapper{flags: "abfior", operands: 1}, true
	case "busybox", "toybox":
		return wrapper{}, true
	case "flock":
		return wrapper{flags: "sxenoF", values: "wE", operands: 1}, true
	case "watch":
		return wrapper{flags: "bcdegtwx", values: "n"}, true
	case "strace":
		return wrapper{flags: "cfFqrtTvxyiCkw", values: "abeEIoOpPsSuX"}, true
	case "unshare":
		return wrapper{flags: "muinpUCTrf"}, true
	case "chroot":
		return wrapper{operands: 1}, true
	}
	return wrapper{}, false
}

// unwrap takes the wrappers off the words and sets the part's own. It returns further parts
// that the words run.
func (w *walker) unwrap(part *Part, words []Word) (inner []Part) {
	part.Words = words
	for {
		name, ok := commandName(part.Words)
		if !ok {
			return nil
		}
		if name == "xargs" && len(part.Words) > 1 && !part.Words[1].mayBeOption() {
			part.Wrappers = append(part.Wrappers, name)
			part.Words = append(part.Words[1:len(part.Words):len(part.Words)], Word{Text: moreWords, pieces: []piece{{kind: pieceOther}}})
			continue
		}
		spec, ok := wrapperOf(name)
		if !ok {
			return nil
		}
		args := part.Words[1:]
		if name == "env" {
			args = part.clear(args)
		}
		rest, assigns, problem := spec.skip(args)
		if problem != "" {
			if !harmlessQuery(name, part.Words[1:]) {
				w.unclear("`" + name + "` " + problem)
			}
			return nil
		}
		if len(rest) == 0 {
			return nil // env, exec and the like alone are commands
		}
		part.Wrappers = append(part.Wrappers, name)
		part.Assigns = append(part.Assigns, assigns...)
		part.Words = rest
	}
}

// clear notes that env takes variables away, and returns its arguments without the "-" that
// is another way to write -i.
func (p *Part) clear(args []Word) []Word {
	for i, arg := range args {
		switch {
		case arg.Known && arg.Text == "-":
			p.cleared = true
			return append(args[:i:i], args[i+1:]...)
		case arg.Known && arg.Text == "--":
			return args
		case arg.Known && strings.HasPrefix(arg.Text, "-"):
			p.cleared = true
			if arg.Text == "-u" || arg.Text == "--unset" {
				continue
			}
		case i > 0 && args[i-1].Known && (args[i-1].Text == "-u" || args[i-1].Text == "--unset"):
		default:
			return args
		}
	}
	return args
}

// harmlessQuery: command -v and --version run nothing.
func harmlessQuery(name string, args []Word) bool {
	if len(args) == 0 || !args[0].Known {
		return false
	}
	first := args[0].Text
	return name == "command" && (first == "-v" || first == "-V") || first == "--version" || first == "--help"
}

// skip passes the wrapper's options and operands. The problem completes "`timeout` …".
func (s wrapper) skip(args []Word) (rest []Word, assigns []Assign, problem string) {
	unknown := "runs what is only known when it runs"
	for len(args) > 0 {
		arg := args[0]
		if !arg.Known && arg.mayBeOption() {
			return nil, nil, unknown
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
			if len(args) == 0 {
				return nil, nil, unknown
			}
			if !args[0].single() {
				return nil, nil, unknown
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
			word = known(value)
		}
		assigns = append(assigns, Assign{Name: name, Value: word})
		args = args[1:]
	}
	for range s.operands {
		if len(args) == 0 {
			return nil, assigns, ""
		}
		if !args[0].single() {
			return nil, nil, unknown
		}
		args = args[1:]
	}
	return args, assigns, ""
}

// option says whether an option is known, and whether its value is the next word.
func (s wrapper) option(text string) (takes, ok bool) {
	if strings.HasPrefix(text, "--") {
		name, _, hasValue := strings.Cut(text, "=")
		for _, l := range s.long {
			switch {
			case l == name && !hasValue:
				return false, true
			case l == name+"=":
				return !hasValue, true
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
func (w *walker) carried(name string, args []Word, part Part) {
	spec, ok := carrierOf(name)
	if !ok {
		return
	}
	rest, assigns, problem := spec.skip(args)
	if problem != "" {
		w.unclear("`" + name + "` " + problem)
		return
	}
	if len(rest) == 0 {
		return
	}
	if name == "xargs" {
		rest = append(rest[:len(rest):len(rest)], Word{Text: moreWords, pieces: []piece{{kind: pieceOther}}})
	}
	w.via(name, rest, assigns, part)
}

// via adds the part that another one runs by its arguments.
func (w *walker) via(name string, words []Word, assigns []Assign, part Part) {
	if !w.enter() {
		return
	}
	defer w.leave()
	p := Part{Via: name, Assigns: append(part.Assigns[:len(part.Assigns):len(part.Assigns)], assigns...), Redirects: part.Redirects, Moved: part.Moved}
	p.Whole = strings.TrimSuffix(textOf(words), " "+moreWords)
	w.unwrap(&p, words)
	p.Text = strings.TrimSuffix(textOf(p.Words), " "+moreWords)
	w.out.Parts = append(w.out.Parts, p)
	moved := w.moved
	w.effects(p)
	w.moved = moved
}

// find adds what -exec and its like run.
func (w *walker) find(args []Word, part Part) {
	for i := 0; i < len(args); i++ {
		if !args[i].Known {
			continue
		}
		switch args[i].Text {
		case "-exec", "-execdir", "-ok", "-okdir":
		default:
			continue
		}
		var words []Word
		first := i + 1
		for i++; i < len(args) && !(args[i].Known && (args[i].Text == ";" || args[i].Text == "+" && len(words) > 0 && words[len(words)-1].Text == "{}")); i++ {
			word := args[i]
			if word.Known && strings.Contains(word.Text, "{}") {
				word.Known, word.pieces = false, braced(word.Text, true)
			}
			words = append(words, word)
		}
		if i < len(args) && args[i].Text == "+" { // {} becomes many names
			for k := range words {
				if args[first+k].Known && args[first+k].Text == "{}" {
					words[k].pieces = braced("{}", false)
				}
			}
		}
		if len(words) > 0 {
			p := part
			p.Moved = p.Moved || strings.HasSuffix(args[min(i, len(args)-1)].Text, "dir")
			w.via("find", words, nil, p)
		}
	}
}

// braced are the pieces of an argument of find -exec; what {} becomes begins with one of the
// folders that find was given.
func braced(text string, one bool) []piece {
	var out []piece
	for i, t := range strings.Split(text, "{}") {
		if i > 0 {
			out = append(out, piece{kind: pieceFile, quoted: one})
		}
		if t != "" {
			out = append(out, piece{text: t, quoted: true})
		}
	}
	return out
}

// shell reads the code given to bash -c.
func (w *walker) shell(name string, args []Word, part Part) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if !arg.Known {
			w.unclear("`" + name + "` runs what is only known when it runs")
			return
		}
		if len(arg.Text) < 2 || (arg.Text[0] != '-' && arg.Text[0] != '+') {
			return // a script
		}
		if strings.HasPrefix(arg.Text, "--") {
			if arg.Text == "--rcfile" || arg.Text == "--init-file" {
				i++
			}
			continue
		}
		if strings.ContainsAny(arg.Text, "oO") && !strings.Contains(arg.Text, "c") {
			i++
			continue
		}
		if arg.Text[0] == '-' && strings.Contains(arg.Text, "c") {
			for i++; i < len(args) && args[i].Known && strings.HasPrefix(args[i].Text, "-"); i++ {
			}
			if i >= len(args) || !args[i].Known {
				w.unclear("`" + name + "` runs what is only known when it runs")
				return
			}
			w.text(name, args[i].Text, part)
			return
		}
	}
}

// single: it is exactly one word when it runs.
func (word Word) single() bool {
	if word.Known {
		return true
	}
	if word.Pattern {
		return false
	}
	for _, p := range word.pieces {
		switch {
		case p.kind == pieceText || p.kind == pieceNumber:
		case p.kind == pieceVar && p.quoted && p.text != "@":
		case (p.kind == pieceOutput || p.kind == pieceFile) && p.quoted:
		default:
			return false
		}
	}
	return true
}

// lead is the text that it is known to begin with.
func (word Word) lead() string {
	var text strings.Builder
	for i, p := range word.pieces {
		if p.kind == pieceFile && i == 0 {
			return "/"
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

// mayBeOption: it may begin with a dash, and then is something else to the command.
func (word Word) mayBeOption() bool {
	return word.mayBegin('-')
}

func (word Word) mayBegin(sign byte) bool {
	if word.Known {
		return word.Text != "" && word.Text[0] == sign
	}
	lead := word.lead()
	return lead == "" || lead[0] == sign
}
