package rule

import (
	"strings"
)

// forbidden are the readings of a rule that denies or asks about commands: as it is written,
// with its parentheses unescaped, without variables it sets, and with the name of the command
// alone, in lower case.
func forbidden(w Wildcard) []Wildcard {
	out := []Wildcard{w.mapped(squeezed)}
	add := func(w Wildcard) {
		w = w.mapped(squeezed)
		for _, has := range out {
			if strings.Join(has.Lits, "*") == strings.Join(w.Lits, "*") {
				return
			}
		}
		out = append(out, w)
	}
	for _, lit := range w.Lits {
		if strings.Contains(lit, `\`) {
			add(w.mapped(unescapeParens))
		}
	}
	for _, v := range out {
		head := strings.TrimLeft(v.Lits[0], " ")
		for {
			name, rest, found := strings.Cut(head, " ")
			if v, _, ok := strings.Cut(name, "="); !found || !ok || strings.ContainsAny(v, "-/") {
				break
			}
			head = rest
		}
		plain := Wildcard{Lits: append([]string{PlainName(head)}, v.Lits[1:]...), Bare: v.Bare}
		if strings.TrimSpace(head) != "" {
			add(plain)
		}
	}
	if w.Exact() {
		for i := range out {
			out[i].Lits[0] = strings.TrimSpace(out[i].Lits[0])
		}
	}
	return out
}

// PlainName writes a command with the base name of what it runs, in lower case.
func PlainName(command string) string {
	name, rest, found := strings.Cut(command, " ")
	if i := strings.LastIndexByte(name, '/'); i >= 0 && i+1 < len(name) {
		name = name[i+1:]
	}
	name = strings.ToLower(name)
	if found {
		return name + " " + rest
	}
	return name
}
