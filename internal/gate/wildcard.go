package gate

import "strings"

// wildcard is a command as a rule writes it: literal texts with any text between them. One
// literal alone is an exact command.
type wildcard struct {
	lits []string
	// bare: the last star stands behind a blank, and the command may also end before both.
	bare bool
}

func (w *wildcard) exact() bool { return len(w.lits) == 1 }

// parseWildcard reads what stands in the parentheses of a rule about commands: "exact",
// "prefix:*" (which is "prefix *"), and stars anywhere. \* stands for a star; a backslash
// means itself unless it is part of a run that ends at a star, where two stand for one. The
// problem, if not empty, completes the sentence "the rule …".
func parseWildcard(spec string) (w wildcard, problem string) {
	prefix, isPrefix := strings.CutSuffix(spec, ":*")
	if isPrefix {
		spec = strings.TrimRight(prefix, " \t")
		if spec == "" {
			return w, "has nothing before :*"
		}
		spec += " *"
	}
	var b strings.Builder
	for i := 0; i < len(spec); {
		run := 0
		for i+run < len(spec) && spec[i+run] == '\\' {
			run++
		}
		i += run
		if i == len(spec) || spec[i] != '*' {
			b.WriteString(strings.Repeat(`\`, run))
			if i < len(spec) {
				b.WriteByte(spec[i])
				i++
			}
			continue
		}
		b.WriteString(strings.Repeat(`\`, run/2))
		i++
		if run%2 == 1 {
			b.WriteByte('*')
			continue
		}
		lit := b.String()
		b.Reset()
		if n := len(w.lits); n > 0 && lit == "" {
			continue // two stars are one
		}
		if strings.HasSuffix(lit, ":") && i < len(spec) {
			return w, "has :* before its end"
		}
		w.lits = append(w.lits, lit)
	}
	w.lits = append(w.lits, b.String())
	if n := len(w.lits); n == 2 && w.lits[1] == "" && strings.HasSuffix(w.lits[0], " ") {
		w.bare = true
	}
	return w, ""
}

// any: it matches whatever there is.
func (w *wildcard) any() bool {
	return len(w.lits) == 2 && strings.TrimSpace(w.lits[0]) == "" && strings.TrimSpace(w.lits[1]) == ""
}

// match reports whether s is what the rule says.
func (w *wildcard) match(s string) bool {
	if w.bare && s == strings.TrimRight(w.lits[0], " ") {
		return true
	}
	last := len(w.lits) - 1
	if last == 0 {
		return s == w.lits[0]
	}
	s, ok := strings.CutPrefix(s, w.lits[0])
	if !ok {
		return false
	}
	for _, lit := range w.lits[1:last] {
		_, after, found := strings.Cut(s, lit)
		if !found {
			return false
		}
		s = after
	}
	return strings.HasSuffix(s, w.lits[last])
}

// coversName: a rule that begins with a star leaves open what is run, as one word, and says
// what stands behind it.
func (w *wildcard) coversName(text, first string) bool {
	rest, ok := strings.CutPrefix(text, first)
	if !ok || len(w.lits) < 2 || !strings.HasPrefix(w.lits[1], " ") || strings.TrimSpace(w.lits[1]) == "" {
		return false
	}
	tail := wildcard{lits: w.lits[1:]}
	return tail.match(rest)
}

// mapped is the same rule with each of its texts changed.
func (w *wildcard) mapped(change func(string) string) wildcard {
	out := wildcard{lits: make([]string, len(w.lits)), bare: w.bare}
	for i, lit := range w.lits {
		out.lits[i] = change(lit)
	}
	return out
}

// commandSpec writes a command so that a rule means exactly it.
func commandSpec(command string) string {
	var b strings.Builder
	run := 0
	for i := range len(command) {
		switch command[i] {
		case '\\':
			run++
		case '*':
			b.WriteString(strings.Repeat(`\`, run+1))
			run = 0
		default:
			run = 0
		}
		b.WriteByte(command[i])
	}
	return b.String()
}

// unescapeParens reads a command the way tools do that want parentheses escaped.
func unescapeParens(s string) string {
	return strings.NewReplacer(`\(`, `(`, `\)`, `)`).Replace(s)
}

// oneBlank writes runs of blanks as one, and none at the ends.
func oneBlank(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(c rune) bool { return c == ' ' || c == '\t' || c == '\n' }), " ")
}

// squeezed is oneBlank within a rule's texts, where a blank at an end counts.
func squeezed(s string) string {
	out := oneBlank(s)
	if s == "" {
		return s
	}
	if out == "" {
		return " "
	}
	if blank(s[0]) {
		out = " " + out
	}
	if blank(s[len(s)-1]) {
		out += " "
	}
	return out
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }
