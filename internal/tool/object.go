package tool

import (
	"encoding/json"
	"strings"
)

const jsonSpace = " \t\r\n"

// member is one key and value of a JSON object, both as they were written.
type member struct{ key, value string }

// splitObject takes apart an object that is known to be valid JSON, in its own order and
// with repeated keys kept: the standard decoder would let the last of them win in silence.
func splitObject(s string) []member {
	var out []member
	s = strings.TrimLeft(s, jsonSpace)[1:]
	for {
		s = strings.TrimLeft(s, jsonSpace+",")
		if s == "" || s[0] != '"' {
			return out
		}
		var m member
		m.key, s = cutValue(s)
		s = strings.TrimLeft(s, jsonSpace)[1:] // the colon
		m.value, s = cutValue(strings.TrimLeft(s, jsonSpace))
		out = append(out, m)
	}
}

// cutValue splits s after the valid JSON value that it begins with.
func cutValue(s string) (value, rest string) {
	switch s[0] {
	case '"':
		n := stringEnd(s)
		return s[:n], s[n:]
	case '{', '[':
		depth := 0
		for i := 0; i < len(s); i++ {
			switch s[i] {
			case '"':
				i += stringEnd(s[i:]) - 1
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				if depth == 0 {
					return s[:i+1], s[i+1:]
				}
			}
		}
		return s, ""
	default:
		if n := strings.IndexAny(s, jsonSpace+",}]"); n >= 0 {
			return s[:n], s[n:]
		}
		return s, ""
	}
}

// stringEnd is the length of the quoted string that s begins with.
func stringEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// unquote decodes a JSON string. It is false for one with half of a surrogate pair, which
// the standard decoder would replace in silence.
func unquote(raw string) (string, bool) {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], true
	}
	var s string
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		return "", false
	}
	return s, !strings.ContainsRune(s, '\uFFFD') || !loneSurrogate(raw)
}

func loneSurrogate(raw string) bool {
	for i := 0; i+1 < len(raw); i++ {
		switch {
		case raw[i] != '\\':
		case raw[i+1] != 'u':
			i++ // the escaped character, which may be a backslash itself
		case isSurrogate(raw[i:], "89abAB"):
			if !isSurrogate(raw[i+6:], "cdefCDEF") {
				return true
			}
			i += 11
		case isSurrogate(raw[i:], "cdefCDEF"):
			return true
		}
	}
	return false
}

// isSurrogate reports whether s begins with \ud and then one of the given digits.
func isSurrogate(s, third string) bool {
	return len(s) >= 6 && s[0] == '\\' && s[1] == 'u' && (s[2] == 'd' || s[2] == 'D') && strings.IndexByte(third, s[3]) >= 0
}

// kindOf names the type of the JSON value that s begins with.
func kindOf(s string) string {
	switch s[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}
