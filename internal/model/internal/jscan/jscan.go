// Package jscan walks JSON without building values from it. The wire formats of models are
// walked far more often than they are wanted whole: a stream of small events of which one
// string matters, or a request of which only the last message does.
//
// It trusts its input to be JSON and finds the edges of values by their brackets and
// quotes. Broken input makes a function report failure; it never panics, and never reads
// outside of what it was given. Who must know that a value is valid asks encoding/json.
package jscan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Object calls fn for each member of the object in b, until fn returns false. key is the
// text between the quotes, escapes and all; val is the raw value. It reports whether b was
// walked to its end, or as far as fn wanted.
func Object(b []byte, fn func(key, val []byte) bool) bool {
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return false
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return true
	}
	for i < len(b) && b[i] == '"' {
		end := skipString(b, i)
		if end < 0 {
			return false
		}
		key := b[i+1 : end-1]
		i = space(b, end)
		if i >= len(b) || b[i] != ':' {
			return false
		}
		i = space(b, i+1)
		end = skip(b, i)
		if end < 0 {
			return false
		}
		if !fn(key, b[i:end]) {
			return true
		}
		i = space(b, end)
		if i < len(b) && b[i] == '}' {
			return true
		}
		if i >= len(b) || b[i] != ',' {
			return false
		}
		i = space(b, i+1)
	}
	return false
}

// Array calls fn for each element of the array in b, until fn returns false.
func Array(b []byte, fn func(val []byte) bool) bool {
	i := space(b, 0)
	if i >= len(b) || b[i] != '[' {
		return false
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return true
	}
	for i < len(b) {
		end := skip(b, i)
		if end < 0 {
			return false
		}
		if !fn(b[i:end]) {
			return true
		}
		i = space(b, end)
		if i < len(b) && b[i] == ']' {
			return true
		}
		if i >= len(b) || b[i] != ',' {
			return false
		}
		i = space(b, i+1)
	}
	return false
}

// Get returns the raw value of one member of the object in b.
func Get(b []byte, name string) (val []byte, ok bool) {
	Object(b, func(k, v []byte) bool {
		if string(k) == name {
			val, ok = v, true
		}
		return !ok
	})
	return val, ok
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skip returns the index behind the value that begins at i, or -1.
func skip(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	case '}', ']', ',', ':':
		return -1
	default:
		for i < len(b) {
			switch b[i] {
			case ',', '}', ']', ' ', '\n', '\t', '\r':
				return i
			}
			i++
		}
		return i
	}
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// skipString returns the index behind the closing quote of the string at i, or -1.
func skipString(b []byte, i int) int {
	i++
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		q := i + n
		slashes := 0
		for q-1-slashes >= i && b[q-1-slashes] == '\\' {
			slashes++
		}
		i = q + 1
		if slashes%2 == 0 {
			return i
		}
	}
}

// AppendUnquoted appends the text of the JSON string in b. Like encoding/json it turns
// lone surrogates and invalid UTF-8 into U+FFFD.
func AppendUnquoted(dst, b []byte) ([]byte, bool) {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return dst, false
	}
	b = b[1 : len(b)-1]
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\\')
		if n < 0 {
			return appendValid(dst, b), true
		}
		dst = appendValid(dst, b[:n])
		b = b[n:]
		if len(b) < 2 {
			return dst, false
		}
		if b[1] == 'u' {
			r, size := runeEscape(b)
			if size == 0 {
				return dst, false
			}
			dst = utf8.AppendRune(dst, r)
			b = b[size:]
			continue
		}
		c, ok := plainEscape(b[1])
		if !ok {
			return dst, false
		}
		dst = append(dst, c)
		b = b[2:]
	}
	return dst, true
}

func appendValid(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[n:]
	}
	return dst
}

func plainEscape(c byte) (byte, bool) {
	switch c {
	case '"', '\\', '/':
		return c, true
	case 'n':
		return '\n', true
	case 't':
		return '\t', true
	case 'r':
		return '\r', true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	}
	return 0, false
}

// runeEscape decodes \uXXXX, or a pair of them, at the beginning of b.
func runeEscape(b []byte) (r rune, size int) {
	r, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if low, ok := hex4(b[6:]); ok {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				return both, 12
			}
		}
	}
	return utf8.RuneError, 6
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 6 {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// AppendQuoted appends s as a JSON string. It escapes only what JSON demands, so that code
// stays readable and short on the wire; invalid UTF-8 becomes U+FFFD.
func AppendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}
