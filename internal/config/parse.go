package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// parser reads JSON into nodes that remember where they stood, so that every complaint
// can point at its cause. It keeps the first error.
type parser struct {
	path     string
	data     []byte
	key      string // the setting being read, for messages
	warnings []Warning
	err      error
	// seen are the settings that stand in the file, with their offsets: what is not there must
	// not be told from what was set to its default.
	seen map[string]int
	// others are the keys in another program's file that mean nothing here.
	others []string
	// lenient: a mode that is not known is the default one, with a warning.
	lenient bool
	// foreign: the file is another program's too, and most of its keys are none of ours.
	foreign bool
}

type kind string

const (
	kindObject kind = "an object"
	kindArray  kind = "a list"
	kindString kind = "a text"
	kindNumber kind = "a number"
	kindBool   kind = "true or false"
	kindNull   kind = "null"
)

type node struct {
	kind    kind
	at      int    // offset of its first byte
	text    string // of a text or a number; true or false
	items   []node
	members []member
}

type member struct {
	key   string
	at    int
	value node
}

// maxNesting is more than any setting needs; deeper input is not worth the stack.
const maxNesting = 64

func (p *parser) parse() (node, error) {
	p.data = bytes.TrimPrefix(p.data, []byte("\xef\xbb\xbf"))
	if len(p.data) > maxSettings {
		p.fail(0, fmt.Sprintf("the file is larger than %d bytes", maxSettings))
		return node{}, p.err
	}
	if i := invalidUTF8(p.data); i >= 0 {
		p.fail(i, "this byte is not valid UTF-8"+utf16Hint(p.data))
		return node{}, p.err
	}
	if len(bytes.TrimSpace(p.data)) == 0 {
		p.fail(0, "the file is empty; write {} for no settings, or take it away")
		return node{}, p.err
	}
	var whole json.RawMessage
	if err := json.Unmarshal(p.data, &whole); err != nil {
		at := len(p.data)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = max(int(syntax.Offset)-1, 0)
		}
		p.fail(at, "this is not JSON: "+err.Error()+p.likelyCause(at))
		return node{}, p.err
	}
	if i := loneSurrogate(p.data); i >= 0 {
		p.fail(i, "this is half of a character (a surrogate without its other half)")
		return node{}, p.err
	}
	dec := json.NewDecoder(bytes.NewReader(p.data))
	dec.UseNumber()
	n := p.value(dec, 0)
	return n, p.err
}

// loneSurrogate finds an escape that stands for no character. A reader would put another one
// in its place, and a rule would then speak of something else than it says. In valid JSON a
// backslash stands in texts only.
func loneSurrogate(data []byte) int {
	unit := func(i int) (rune, bool) {
		if i+6 > len(data) || data[i] != '\\' || data[i+1] != 'u' {
			return 0, false
		}
		v, err := strconv.ParseUint(string(data[i+2:i+6]), 16, 16)
		return rune(v), err == nil
	}
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		first, ok := unit(i)
		switch {
		case !ok:
			i++ // the escaped character
		case !utf16.IsSurrogate(first):
			i += 5
		default:
			second, _ := unit(i + 6)
			if utf16.DecodeRune(first, second) == utf8.RuneError {
				return i
			}
			i += 11
		}
	}
	return -1
}

// utf16Hint names the usual reason of text that is not UTF-8.
func utf16Hint(data []byte) string {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return "; the file looks like UTF-16, save it as UTF-8"
	}
	return ""
}

// value reads the next value. The input is known to be valid JSON.
func (p *parser) value(dec *json.Decoder, depth int) node {
	at, token := p.token(dec)
	n := node{at: at}
	switch t := token.(type) {
	case json.Delim:
		if depth == maxNesting {
			p.fail(at, "this is nested too deeply")
			return n
		}
		if t == '[' {
			n.kind = kindArray
			for dec.More() && p.err == nil {
				n.items = append(n.items, p.value(dec, depth+1))
			}
		} else {
			n.kind = kindObject
			for dec.More() && p.err == nil {
				at, key := p.token(dec)
				name, _ := key.(string)
				n.members = append(n.members, member{name, at, p.value(dec, depth+1)})
			}
		}
		p.token(dec)
	case string:
		n.kind, n.text = kindString, t
	case json.Number:
		n.kind, n.text = kindNumber, t.String()
	case bool:
		n.kind, n.text = kindBool, strconv.FormatBool(t)
	default:
		n.kind = kindNull
	}
	return n
}

// token returns the next token and where it begins.
func (p *parser) token(dec *json.Decoder) (at int, t json.Token) {
	at = int(dec.InputOffset())
	for at < len(p.data) && strings.IndexByte(" \t\r\n,:", p.data[at]) >= 0 {
		at++
	}
	t, err := dec.Token()
	if err != nil {
		p.fail(at, "this is not JSON: "+err.Error())
	}
	return at, t
}

func (p *parser) want(n node, k kind, what string) bool {
	if n.kind == k {
		return true
	}
	subject := "the file"
	if p.key != "" {
		subject = quote(p.key)
	}
	p.fail(n.at, fmt.Sprintf("%s must be %s, not %s", subject, what, n.kind))
	return false
}

func (p *parser) fail(offset int, problem string) {
	if p.err == nil {
		p.err = &troupe.UserError{
			Problem: p.at(offset) + ": " + problem,
			Hint:    "mend the file, or take it away to go on with the defaults", Code: troupe.ExitUsage,
		}
	}
}

// warn keeps something for people. A note says what has no meaning here and loses nothing.
func (p *parser) warn(offset int, key, text string) {
	p.warnings = append(p.warnings, Warning{Path: p.path, Key: key, Text: p.at(offset) + ": " + text})
}

// at is file:line:column; columns count characters, as editors do.
func (p *parser) at(offset int) string {
	before := p.data[:min(offset, len(p.data))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("%s:%d:%d", p.path, line, column)
}

// likelyCause names the two things that other readers of JSON allow and this does not.
func (p *parser) likelyCause(at int) string {
	rest := p.data[min(at, len(p.data)):]
	before := bytes.TrimRight(p.data[:min(at, len(p.data))], " \t\r\n")
	switch {
	case len(rest) > 0 && (rest[0] == '/' || rest[0] == '#'):
		return " (comments are not supported)"
	case len(rest) > 0 && (rest[0] == '}' || rest[0] == ']') && bytes.HasSuffix(before, []byte(",")):
		return " (a comma before the closing bracket is not supported)"
	default:
		return ""
	}
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// suggest offers the known key that is nearest to a mistyped one.
func suggest[V any](key string, known map[string]V) string {
	names := slices.Sorted(maps.Keys(known))
	best := troupe.Nearest(key, names)
	if best == "" {
		return "; known here: " + strings.Join(names, ", ")
	}
	return "; did you mean " + quote(best) + "?"
}

func quote(s string) string { return strconv.Quote(s) }
