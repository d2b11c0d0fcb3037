package reader

import (
	"slices"
	"strings"
)

// awk judges a call of awk: few options, and a program that neither writes, nor runs
// anything, nor tells the environment.
func awk(j *judge, name string, args []arg) string {
	if len(args) == 1 && args[0].known && args[0].text == "--version" {
		return ""
	}
	i := 0
	for ; i < len(args); i++ {
		a := args[i]
		if !a.known {
			return "runs an awk program that is only known when it runs"
		}
		if a.text == "--" {
			i++
			break
		}
		if len(a.text) < 2 || a.text[0] != '-' {
			break
		}
		switch {
		case a.text == "-F" || a.text == "-v":
			i++
			if i < len(args) && j.awkControls(args[i]) {
				return controlsTerminal
			}
			if i >= len(args) || !args[i].single {
				return "gives `" + name + " " + a.text + "` a value that is only known when it runs"
			}
		case strings.HasPrefix(a.text, "-F") || strings.HasPrefix(a.text, "-v"):
			if j.awkControls(a) {
				return controlsTerminal
			}
		default:
			return "gives `" + name + "` the option " + a.text + ", which is not known to only read"
		}
	}
	operands := args[min(i, len(args)):]
	if len(operands) == 0 || !operands[0].known {
		return "runs an awk program that is only known when it runs"
	}
	if problem := checkAwk(operands[0].text); problem != "" {
		return "runs an awk program that " + problem
	}
	for _, a := range operands[1:] {
		if !a.known && a.dash || strings.Contains(a.shown(), "/inet") {
			return "gives `" + name + "` " + a.shown() + ", which may be more than the name of a file"
		}
		if j.awkControls(a) {
			return controlsTerminal
		}
		j.mayRead(a)
	}
	return ""
}

// awkControls: a text that awk assigns to a variable has escapes. In that of a separator, \|
// and its like are none.
func (j *judge) awkControls(a arg) bool {
	return slices.ContainsFunc(j.partsOf(a), controlsButNull) || !a.known && a.texts == nil && j.escaped
}

const awkUnclear = "cannot be read for sure"

// checkAwk refuses each word and sign by which an awk program reaches out of its input.
func checkAwk(program string) string {
	for _, word := range []string{"system", "getline", "ENVIRON", "PROCINFO", "SYMTAB", "FUNCTAB", "ARGV", "BEGINFILE", "ENDFILE", "nextfile", "/inet", "@"} {
		if strings.Contains(program, word) {
			return "may reach out of its input (" + word + ")"
		}
	}
	a := &awkScanner{text: program, formats: strings.Contains(program, "printf")}
	for a.at < len(a.text) {
		if problem := a.token(); problem != "" {
			return problem
		}
	}
	return ""
}

// awkScanner goes through a program token by token, only to know what is a string or a
// regular expression, in which signs mean nothing.
type awkScanner struct {
	text     string
	at       int
	last     awkToken
	printing bool
	depth    int  // of parentheses since print
	writes   bool // what it writes does not matter, only what it runs
	runs     bool // it does
	formats  bool // there is a printf or sprintf, whose %c makes characters of numbers
}

type awkToken int

const (
	awkStart    awkToken = iota // of an expression: a slash begins a regular expression
	awkValue                    // a slash divides
	awkClosed                   // after ): a slash most often divides
	awkCounting                 // after ++ and --: who knows
)

func (a *awkScanner) token() string {
	c := a.text[a.at]
	switch {
	case c == ' ' || c == '\t':
		a.at++
	case c == '\\' && a.at+1 < len(a.text) && a.text[a.at+1] == '\n':
		a.at += 2
	case c == '\n': // it does not end print after a comma
		a.at++
		a.last = awkStart
	case c == ';' || c == '{' || c == '}':
		a.at++
		a.last, a.printing = awkStart, false
	case c == '#':
		for a.at < len(a.text) && a.text[a.at] != '\n' {
			a.at++
		}
	case c == '"':
		return a.quoted('"')
	case c == '/':
		return a.slash()
	case c == '|':
		if !strings.HasPrefix(a.text[a.at:], "||") || strings.HasPrefix(a.text[a.at:], "|||") || strings.HasPrefix(a.text[a.at:], "||&") {
			a.runs = true
			return "runs commands (|)"
		}
		a.at += 2
		a.last = awkStart
	case c == '>':
		// In parentheses it compares.
		if !a.writes && (a.printing && a.depth <= 0 || strings.HasPrefix(a.text[a.at:], ">>")) {
			return "writes files (>)"
		}
		a.at++
		a.last = awkStart
	case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		a.word()
	case c >= '0' && c <= '9' || c == '.':
		for a.at < len(a.text) && (isDigitOrDot(a.text[a.at])) {
			a.at++
		}
		a.last = awkValue
	case c == ']' || c == '$':
		a.at++
		a.last = awkValue
		if c == '$' {
			a.last = awkStart
		}
	case c == ')':
		a.at++
		a.depth--
		a.last = awkClosed
	case strings.HasPrefix(a.text[a.at:], "++") || strings.HasPrefix(a.text[a.at:], "--"):
		a.at += 2
		a.last = awkCounting
	case strings.IndexByte("(,!~&=<+-*%^?:[", c) >= 0:
		if c == '(' {
			a.depth++
		}
		a.at++
		a.last = awkStart
	default:
		return awkUnclear
	}
	return ""
}

func isDigitOrDot(c byte) bool { return c >= '0' && c <= '9' || c == '.' }

func (a *awkScanner) word() {
	start := a.at
	for a.at < len(a.text) && (isName(a.text[a.at:a.at+1]) || a.text[a.at] >= '0' && a.text[a.at] <= '9') {
		a.at++
	}
	a.last = awkValue
	word := a.text[start:a.at]
	switch word {
	case "system":
		a.runs = true
	case "print", "printf":
		a.printing, a.depth = true, 0
	}
	if slices.Contains([]string{"print", "printf", "return", "in", "case", "do", "else", "exit"}, word) {
		a.last = awkStart
	}
}

func (a *awkScanner) slash() string {
	switch a.last {
	case awkCounting:
		return awkUnclear
	case awkClosed:
		// Division, if nothing could end a regular expression.
		if strings.Contains(a.text[a.at+1:], "/") {
			return awkUnclear
		}
	case awkStart:
		return a.quoted('/')
	case awkValue:
	}
	a.at++
	a.last = awkStart
	return ""
}

// quoted passes a string or a regular expression. In brackets, versions differ on whether a
// slash ends it.
func (a *awkScanner) quoted(end byte) string {
	bracket, start := false, a.at+1
	for a.at++; a.at < len(a.text); a.at++ {
		switch c := a.text[a.at]; {
		case c == '\\':
			a.at++
		case c == '\n':
			return awkUnclear
		case end == '/' && c == '[' && bracket:
			n := strings.Index(a.text[a.at:], ":]")
			if !strings.HasPrefix(a.text[a.at:], "[:") || n < 0 || n > len("[:xdigit") {
				return awkUnclear
			}
			a.at += n + 1
		case end == '/' && c == '[':
			if rest := strings.TrimPrefix(a.text[a.at+1:], "^"); strings.HasPrefix(rest, "]") {
				return awkUnclear
			}
			bracket = true
		case end == '/' && c == ']':
			bracket = false
		case c == end:
			if bracket {
				return awkUnclear
			}
			text := a.text[start:a.at]
			a.at++
			a.last = awkValue
			if end == '"' && (controlsButNull(text) || a.formats && madeOfNumbers(text)) {
				return controlsTerminal
			}
			return ""
		}
	}
	return awkUnclear
}

// madeOfNumbers: a format has %c, or ends within a conversion that another text may end.
func madeOfNumbers(format string) bool {
	rest := strings.ReplaceAll(format, "%%", "")
	return converts(rest, 'c') || strings.HasSuffix(strings.TrimRight(rest, "-+ #0123456789.*$"), "%")
}
