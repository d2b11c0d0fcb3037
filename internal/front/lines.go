package front

import "strings"

// cutKey takes a line apart that begins with a key.
func cutKey(line string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(line, ":")
	if !ok || key == "" || value != "" && value[0] != ' ' && value[0] != '\t' {
		return "", "", false
	}
	for i, r := range key {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !(r >= '0' && r <= '9' || r == '_' || r == '-')) {
			return "", "", false
		}
	}
	return key, strings.TrimSpace(value), true
}

// readLines reads what is not YAML: a line that begins with a known key begins a field, and each other line
// goes on with the one before. Loose are lines that would begin one if they stood otherwise.
func readLines(front string, line int, known func(string) bool) (fields, loose []Field) {
	var rest []string // further lines of the last field
	done := func() {
		if len(fields) > 0 {
			f := &fields[len(fields)-1]
			f.Value = ofLines(f.Value.Text, rest)
		}
		rest = nil
	}
	n := line - 1
	for text := range strings.Lines(front) {
		n++
		text = strings.TrimRight(text, " \t\n")
		if key, value, ok := cutKey(text); ok && known(key) {
			done()
			fields = append(fields, Field{Key: key, Line: n, Value: Value{Text: withoutComment(value)}})
			continue
		}
		for _, key := range looseKeys(text) {
			if known(key) {
				loose = append(loose, Field{Key: key, Line: n})
			}
		}
		if strings.TrimSpace(text) != "" && !strings.HasPrefix(text, "#") {
			rest = append(rest, text)
		}
	}
	done()
	return fields, loose
}

// looseKeys are the words of a line that may be keys, whatever stands around them: blanks, dashes, quotes and braces
// before one, no blank behind its colon, or an equals sign.
func looseKeys(line string) (keys []string) {
	parts := []string{line}
	if strings.Contains(line, "{") {
		parts = strings.FieldsFunc(line, func(r rune) bool { return r == '{' || r == ',' })
	}
	for _, part := range parts {
		part = strings.TrimLeft(part, " \t-*+?\"'")
		n := strings.IndexFunc(part, func(r rune) bool {
			letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
			return !letter && r != '_' && r != '-'
		})
		if n <= 0 {
			continue
		}
		if rest := strings.TrimLeft(part[n:], "\"' \t"); strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=") {
			keys = append(keys, part[:n])
		}
	}
	return keys
}

// opening are the keys that may stand at the top of a file without front matter: what begins with other marks than
// three dashes may have been meant as such.
func opening(text string, known func(string) bool) (loose []Field) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		blank := strings.TrimSpace(line) == ""
		if n > maxOpening || blank && n > 1 {
			break
		}
		for _, key := range looseKeys(line) {
			if known(key) {
				loose = append(loose, Field{Key: key, Line: n})
			}
		}
	}
	return loose
}

// maxOpening is how many lines of a file without front matter are looked at.
const maxOpening = 40

// ofLines is the value that the lines of one field have. A block of its own that is YAML is read as such: what
// follows "hooks:" or "tools:" is not at fault for a colon in the description.
func ofLines(first string, rest []string) Value {
	if len(rest) == 0 {
		switch {
		case first == "" || first == "null" || first == "~":
			return Value{Kind: Nothing}
		case strings.HasPrefix(first, "[") && strings.HasSuffix(first, "]"):
			v := Value{Kind: List, List: []string{}}
			for item := range strings.SplitSeq(first[1:len(first)-1], ",") {
				if item = unquote(strings.TrimSpace(item)); item != "" {
					v.List = append(v.List, item)
				}
			}
			return v
		}
		return Value{Kind: Text, Text: unquote(first)}
	}
	if first == "" || strings.HasPrefix(first, "#") {
		if fields, err := readYAML("k:\n"+strings.Join(rest, "\n")+"\n", 1); err == nil && len(fields) == 1 {
			return fields[0].Value
		}
		if strings.HasPrefix(strings.TrimSpace(rest[0]), "- ") {
			return items(rest)
		}
	}
	if strings.HasPrefix(first, "|") || strings.HasPrefix(first, ">") {
		first = ""
	}
	for i := range rest {
		rest[i] = strings.TrimSpace(rest[i])
	}
	return Value{Kind: Text, Text: unquote(strings.TrimSpace(first + "\n" + strings.Join(rest, "\n")))}
}

// items reads a list whose lines are not YAML together.
func items(lines []string) Value {
	v := Value{Kind: List, List: []string{}}
	for _, line := range lines {
		item, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if !ok {
			return Value{}
		}
		v.List = append(v.List, unquote(strings.TrimSpace(item)))
	}
	return v
}

// withoutComment takes the comment from behind a value, as YAML does.
func withoutComment(value string) string {
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		if end := strings.IndexByte(value[1:], value[0]); end >= 0 {
			if rest := strings.TrimSpace(value[end+2:]); strings.HasPrefix(rest, "#") {
				return value[:end+2]
			}
		}
		return value
	}
	for i := 1; i < len(value); i++ {
		if value[i] == '#' && (value[i-1] == ' ' || value[i-1] == '\t') {
			return strings.TrimRight(value[:i], " \t")
		}
	}
	return value
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
