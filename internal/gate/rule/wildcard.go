package rule

import "strings"

// Wildcard is a command as a rule writes it: literal texts with any text between them. One
// literal alone is an exact command.
type Wildcard struct {
	Lits []string
	// Bare: the last star stands behind a blank, and the command may also end before both.
	Bare bool
}

func (w *Wildcard) Exact() bool { return len(w.Lits) == 1 }

// ParseWildcard reads what stands in the parentheses of a rule about commands: "exact",
// "prefix:*" (which is "prefix *"), and stars anywhere. \* stands for a star; a backslash
// means itself unless it is part of a run that ends at a star, where two stand for one. The
// problem, if not empty, completes the sentence "the rule …".
func ParseWildcard(spec string) (w Wildcard, problem string) {
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
		if n := len(w.Lits); n > 0 && lit == "" {
			continue // two stars are one
		}
		if strings.HasSuffix(lit, ":") && i < len(spec) {
			return w, "has :* before its end"
		}
		w.Lits = append(w.Lits, lit)
	}
	w.Lits = append(w.Lits, b.String())
	if n := len(w.Lits); n == 2 && w.Lits[1] == "" && strings.HasSuffix(w.Lits[0], " ") {
		w.Bare = true
	}
	return w, ""
}

// any: it matches whatever there is.
func (w *Wildcard) any() bool {
	return len(w.Lits) == 2 && strings.TrimSpace(w.Lits[0]) == "" && strings.TrimSpace(w.Lits[1]) == ""
}

// Match reports whether s is what the rule says.
func (w *Wildcard) Match(s string) bool {
	if w.Bare && s == strings.TrimRight(w.Lits[0], " ") {
		return true
	}
	last := len(w.Lits) - 1
	if last == 0 {
		return s == w.Lits[0]
	}
	s, ok := strings.CutPrefix(s, w.Lits[0])
	if !ok {
		return false
	}
	for _, lit := range w.Lits[1:last] {
		_, after, found := strings.Cut(s, lit)
		if !found {
			return false
		}
		s = after
	}
	return strings.HasSuffix(s, w.Lits[last])
}

// MatchesName: a rule that begins with a star leaves open what is run, as one word, and says
// what stands behind it.
func (w *Wildcard) MatchesName(text, first string) bool {
	rest, ok := strings.CutPrefix(text, first)
	if !ok || len(w.Lits) < 2 || !strings.HasPrefix(w.Lits[1], " ") || strings.TrimSpace(w.Lits[1]) == "" {
		return false
	}
	tail := Wildcard{Lits: w.Lits[1:]}
	return tail.Match(rest)
}

// mapped is the same rule with each of its texts changed.
func (w *Wildcard) mapped(change func(string) string) Wildcard {
	out := Wildcard{Lits: make([]string, len(w.Lits)), Bare: w.Bare}
	for i, lit := range w.Lits {
		out.Lits[i] = change(lit)
	}
	return out
}

// CommandSpec writes a command so that a rule means exactly it.
func CommandSpec(command string) string {
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

// OneBlank writes runs of blanks as one, and none at the ends.
func OneBlank(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(c rune) bool { return c == ' ' || c == '\t' || c == '\n' }), " ")
}

// squeezed is OneBlank within a rule's texts, where a blank at an end counts.
func squeezed(s string) string {
	out := OneBlank(s)
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

// Begun is the beginning of a word behind which the first star stands, without quotes; of words
// in quotes that are not closed, all.
func (w *Wildcard) Begun() string {
	lit := w.Lits[0]
	var quote byte
	from := 0
	for i := 0; i < len(lit); i++ {
		switch c := lit[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case blank(c):
			from = i + 1
		}
	}
	return strings.NewReplacer(`"`, "", `'`, "").Replace(lit[from:])
}
