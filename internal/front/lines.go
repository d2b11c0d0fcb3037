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
			fields = append(fields, Field{Key: key, Line: n, Value: Value{Text: value}})
			continue
		}
		if key, _, ok := cutKey(plainLine(text)); ok && known(key) {
			loose = append(loose, Field{Key: key, Line: n})
		}
		if strings.TrimSpace(text) != "" && !strings.HasPrefix(text, "#") {
			rest = append(rest, text)
		}
	}
	done()
	return fields, loose
}

// plainLine is a line without what may stand around a key: blanks before it, quotes, a blank before its colon.
func plainLine(line string) string {
	key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
	if !ok {
		return ""
	}
	return strings.Trim(strings.TrimSpace(key), `"'`) + ":" + value
}

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

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
