// Package gitconfig reads the config files of git as git does, and judges what a config may become without a question.
package gitconfig

import (
	"bytes"
	"strings"
)

// Entry is one setting of a config.
type Entry struct {
	// Key is as git compares it, section.sub.name: section and name in small letters, the subsection as it is. Nothing
	// between two points is the subsection "", which is another than none.
	Key   string
	Value string // blanks within it are as written; git before 2.45 reads each that is not quoted as a space
	Given bool   // false: a name with no value, which git takes for true where it asks for yes or no
}

// Section is what comes before the subsection, or before the name where there is none.
func (e Entry) Section() string {
	section, _, _ := strings.Cut(e.Key, ".")
	return section
}

// Sub is the subsection; ok is false if there is none.
func (e Entry) Sub() (sub string, ok bool) {
	first, last := strings.IndexByte(e.Key, '.'), strings.LastIndexByte(e.Key, '.')
	if first == last {
		return "", false
	}
	return e.Key[first+1 : last], true
}

// Name is the last part of a key.
func (e Entry) Name() string { return e.Key[strings.LastIndexByte(e.Key, '.')+1:] }

// Parse reads a config. If git would refuse it, or its versions read it in more than one way, ok is false, and entries
// are those before that place.
func Parse(text []byte) (entries []Entry, ok bool) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, false // git ends a value there, and goes on reading behind it
	}
	r := reader{rest: bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))}
	for {
		c, ok := r.next()
		switch {
		case !ok:
			return r.entries, true
		case isBlank(c) || c == '\n':
		case c == '#' || c == ';':
			r.comment()
		case c == '[':
			if !r.header() {
				return r.entries, false
			}
		case !isLetter(c) || !r.entry(c):
			return r.entries, false
		}
	}
}

type reader struct {
	rest    []byte
	base    string // the header that was read last, with the point behind it
	entries []Entry
}

// next takes one character; at the end it is a line's end, and ok is false.
func (r *reader) next() (c byte, ok bool) {
	if len(r.rest) == 0 {
		return '\n', false
	}
	c, r.rest = r.rest[0], r.rest[1:]
	return c, true
}

func (r *reader) comment() {
	_, r.rest, _ = bytes.Cut(r.rest, []byte("\n"))
}

// isBlank: git trims these. A return that ends no line is one of them.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isKey(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '-' }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// header reads what follows the bracket of [section], [section "sub"] and [section.sub], an old form whose subsection
// is in small letters.
func (r *reader) header() bool {
	var name []byte
	for {
		c, ok := r.next()
		switch {
		case !ok:
			return false
		case c == ']':
			r.base = string(name) + "."
			return len(name) > 0
		case isBlank(c):
			sub, ok := r.subsection()
			r.base = string(name) + "." + sub + "."
			return ok
		case !isKey(c) && c != '.':
			return false
		}
		name = append(name, lower(c))
	}
}

// subsection reads what stands in quotes, and the bracket behind it.
func (r *reader) subsection() (string, bool) {
	c, _ := r.next()
	for isBlank(c) {
		c, _ = r.next()
	}
	if c != '"' {
		return "", false
	}
	var sub []byte
	for {
		c, _ := r.next()
		switch c {
		case '"':
			c, _ = r.next()
			return string(sub), c == ']'
		case '\\':
			c, _ = r.next()
		}
		if c == '\n' {
			return "", false
		}
		sub = append(sub, c)
	}
}

// entry reads the rest of a name, of which first is the first letter, and its value.
func (r *reader) entry(first byte) bool {
	name := []byte{lower(first)}
	c, ok := r.next()
	for ok && isKey(c) {
		name = append(name, lower(c))
		c, ok = r.next()
	}
	for c == ' ' || c == '\t' {
		c, _ = r.next()
	}
	e := Entry{Key: r.base + string(name)}
	switch c {
	case '\n':
	case '=':
		if e.Value, e.Given = r.value(); !e.Given {
			return false
		}
	default:
		return false // also a comment, which git reads only behind a value
	}
	r.entries = append(r.entries, e)
	return true
}

// value reads to the end of the line, or of the last line that a backslash continues.
func (r *reader) value() (string, bool) {
	var out []byte
	var blanks []byte // without quotes, which count only before something else
	quoted := false
	for {
		c, _ := r.next()
		switch {
		case c == '\n':
			return string(out), !quoted
		case isBlank(c) && !quoted:
			if len(out) > 0 {
				blanks = append(blanks, c)
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			r.comment()
			return string(out), true
		}
		out, blanks = append(out, blanks...), nil
		switch c {
		case '"':
			quoted = !quoted
		case '\\':
			var more, ok bool
			if c, more, ok = r.escaped(); !ok {
				return "", false
			} else if more {
				out = append(out, c)
			}
		default:
			out = append(out, c)
		}
	}
}

// escaped reads what follows a backslash; more is false if the value goes on in the next line.
func (r *reader) escaped() (c byte, more, ok bool) {
	switch c, _ = r.next(); c {
	case '\n':
		return 0, false, true
	case 'n':
		return '\n', true, true
	case 't':
		return '\t', true, true
	case 'b':
		return '\b', true, true
	case '"', '\\':
		return c, true, true
	default:
		return 0, false, false
	}
}
