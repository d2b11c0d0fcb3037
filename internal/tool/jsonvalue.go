package tool

import (
	"encoding/json"
	"strings"
)

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
	return len(s) >= 6 && s[0] == '\\' && s[1] == 'u' && (s[2] == 'd' || s[2] == 'D') &&
		strings.IndexByte(third, s[3]) >= 0
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
