package reader

import (
	"slices"
	"strings"
)

// checkJq goes through a jq program and says what it may do besides transforming its input:
// tell the environment, read modules, or make control characters. Names of fields (.env) and
// of keys mean nothing; what stands in a string is only looked at for what it interpolates.
func checkJq(program string, raw bool) string {
	open := 0 // how many strings the scan stands in, by way of \(…)
	var depth []int
	for i := 0; i < len(program); i++ {
		switch c := program[i]; {
		case c == '#':
			return "has a comment, whose end versions differ on"
		case c == '(' && open > 0:
			depth[open-1]++
		case c == ')' && open > 0:
			depth[open-1]--
			if depth[open-1] < 0 {
				depth, open = depth[:open-1], open-1
				end, inner, why := jqString(program, i+1)
				if why != "" {
					return why
				}
				i = end
				if inner {
					depth, open = append(depth, 0), open+1
				}
			}
		case c == '"':
			end, inner, why := jqString(program, i+1)
			if why != "" {
				return why
			}
			i = end
			if inner {
				depth, open = append(depth, 0), open+1
			}
		case c == '$' || c == '@' || isName(string(c)):
			start := i
			for i++; i < len(program) && (isName(program[i:i+1]) || program[i] >= '0' && program[i] <= '9' || program[i] == ':'); i++ {
			}
			word, after := program[start:i], strings.TrimLeft(program[i:], " \t\n")
			i--
			if start > 0 && program[start-1] == '.' && c != '$' && c != '@' {
				continue // a field
			}
			if jqReaches(strings.Trim(word, ":")) && !(strings.HasSuffix(word, ":") || strings.HasPrefix(after, ":")) || c == '$' && jqReaches(strings.Trim(word, ":")) {
				return "may tell the environment or read modules (" + word + ")"
			}
			if raw && slices.Contains([]string{"implode", "@base64d", "@urid", "format", "ascii"}, word) {
				return controlsTerminal
			}
			if raw && word == "fromjson" && strings.Contains(program, `\\`) {
				return controlsTerminal
			}
		}
	}
	return ""
}

// jqString passes a string from behind its quote or an interpolation in it. It returns where
// it stopped, and whether that is at another interpolation.
func jqString(program string, i int) (end int, inner bool, why string) {
	start := i
	for ; i < len(program); i++ {
		switch program[i] {
		case '"':
			if jqControls(program[start:i]) {
				return i, false, controlsTerminal
			}
			return i, false, ""
		case '\\':
			i++
			if i < len(program) && program[i] == '(' {
				if jqControls(program[start : i-1]) {
					return i, true, controlsTerminal
				}
				return i, true, ""
			}
		}
	}
	return i, false, "cannot be read for sure"
}

// jqControls: a string in JSON has escapes of control characters.
func jqControls(text string) bool {
	if escapes(text, "bfr") {
		return true
	}
	for i := 0; i+5 < len(text); i++ {
		if text[i] == '\\' && text[i+1] == 'u' && text[i+2] == '0' && text[i+3] == '0' && (strings.IndexByte("01", text[i+4]) >= 0 || strings.IndexByte("89", text[i+4]) >= 0 || text[i+4] == '7' && (text[i+5]|0x20) == 'f') {
			return true
		}
	}
	return false
}

// jqReaches are the words by which a program reaches out of its input.
func jqReaches(word string) bool {
	switch word {
	case "env", "$ENV", "import", "include", "input_filename", "debug", "stderr", "get_search_list", "modulemeta", "halt_error", "$__loc__":
		return true
	}
	return strings.HasPrefix(word, "$__prog") || strings.HasPrefix(word, "env::") || strings.HasPrefix(word, "$ENV")
}
