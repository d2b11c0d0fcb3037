package editor

import (
	"strings"
	"unicode/utf8"
)

// key is one thing a person did: a character, or one of the names below.
type key struct {
	name keyName
	text string // of keyText and keyPaste
}

type keyName int

const (
	keyNone keyName = iota // nothing, or nothing that is known
	keyText
	keyPaste
	keyEnter
	keyNewline
	keyTab
	keyBackspace
	keyDelete
	keyLeft
	keyRight
	keyUp
	keyDown
	keyHome
	keyEnd
	keyWordLeft
	keyWordRight
	keyKillWordLeft
	keyKillWordRight
	keyKillToEnd
	keyKillToStart
	keyYank
	keyPrevious
	keyNext
	keySearch
	keyClear
	keyInterrupt
	keyEOF // or delete, if there is something
	keySuspend
	keyBackground // or left, if there is something
	keyPlan
)

// decoder turns the bytes of a terminal into keys. It keeps what is not whole yet.
type decoder struct {
	buf   []byte
	paste *strings.Builder // set within a bracketed paste
	cut   bool             // the paste was longer than maxPaste
}

// maxPaste is more than any model reads. What is beyond is dropped.
const maxPaste = 8 << 20

const (
	esc      = 0x1b
	pasteEnd = "\x1b[201~"
)

// feed adds bytes and returns the keys they complete.
func (d *decoder) feed(b []byte) []key {
	d.buf = append(d.buf, b...)
	var out []key
	for len(d.buf) > 0 {
		k, n := d.next()
		if n == 0 {
			break
		}
		d.buf = d.buf[n:]
		if k.name != keyNone {
			out = append(out, k)
		}
	}
	if len(d.buf) == 0 {
		d.buf = nil
	}
	return out
}

// pending reports whether an escape character waits for what may follow. If nothing does
// for a moment, it was the key itself, and drop forgets it.
func (d *decoder) pending() bool { return d.paste == nil && len(d.buf) > 0 && d.buf[0] == esc }

// alone reports whether all that came is the escape character.
func (d *decoder) alone() bool { return len(d.buf) == 1 && d.pending() }

func (d *decoder) drop() { d.buf = nil }

// next decodes the key at the beginning of the buffer; n is 0 if it is not whole.
func (d *decoder) next() (k key, n int) {
	if d.paste != nil {
		return d.pasted()
	}
	c := d.buf[0]
	switch {
	case c == esc:
		return d.escape()
	case c < 0x20 || c == 0x7f:
		return key{name: control(c)}, 1
	}
	if !utf8.FullRune(d.buf) {
		return key{}, 0
	}
	r, n := utf8.DecodeRune(d.buf)
	if r == utf8.RuneError && n == 1 {
		return key{}, 1
	}
	return key{name: keyText, text: string(d.buf[:n])}, n
}

// pasted takes what is between the marks of a paste as it is.
func (d *decoder) pasted() (key, int) {
	s := string(d.buf)
	i := strings.Index(s, pasteEnd)
	take := i
	if i < 0 {
		// The last bytes may be the beginning of the mark.
		if take = len(s) - len(pasteEnd) + 1; take <= 0 {
			return key{}, 0
		}
	}
	if room := maxPaste - d.paste.Len(); take > room {
		d.paste.WriteString(s[:max(room, 0)])
		d.cut = true
	} else {
		d.paste.WriteString(s[:take])
	}
	if i < 0 {
		return key{}, take
	}
	text := d.paste.String()
	d.paste = nil
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return key{name: keyPaste, text: strings.ToValidUTF8(text, "\uFFFD")}, i + len(pasteEnd)
}

// escape decodes what begins with the escape character.
func (d *decoder) escape() (key, int) {
	if len(d.buf) == 1 {
		return key{}, 0
	}
	switch c := d.buf[1]; c {
	case '[':
		return d.csi()
	case 'O':
		if len(d.buf) < 3 {
			return key{}, 0
		}
		return key{name: final(d.buf[2], "")}, 3
	case esc:
		return key{}, 1
	default:
		if c >= utf8.RuneSelf {
			return key{}, 1
		}
		return key{name: alt(c)}, 2
	}
}

// maxSequence bounds a control sequence; no key has one as long.
const maxSequence = 64

// csi decodes a control sequence: parameters, then a final byte.
func (d *decoder) csi() (key, int) {
	for i := 2; i < len(d.buf); i++ {
		c := d.buf[i]
		switch {
		case c >= 0x40 && c <= 0x7e:
			params := string(d.buf[2:i])
			if c == '~' && params == "200" {
				d.paste, d.cut = new(strings.Builder), false
				return key{}, i + 1
			}
			return key{name: final(c, params)}, i + 1
		case c < 0x20 || c > 0x7e || i > maxSequence:
			return key{}, i // broken off: what comes is a key of its own
		}
	}
	return key{}, 0
}

// final names a control sequence by its last byte and its parameters. A second parameter
// holds the modifiers; 3, 5 and their like are Alt and Ctrl, which go by words.
func final(c byte, params string) keyName {
	first, mod, _ := strings.Cut(params, ";")
	byWord := mod != "" && mod != "2"
	switch c {
	case 'A':
		return keyUp
	case 'B':
		return keyDown
	case 'C':
		if byWord {
			return keyWordRight
		}
		return keyRight
	case 'D':
		if byWord {
			return keyWordLeft
		}
		return keyLeft
	case 'H':
		return keyHome
	case 'F':
		return keyEnd
	case 'Z':
		return keyPlan
	case '~':
		return tilde(first, mod)
	case 'u': // terminals that name every key: only Enter with a modifier comes this way
		if first == "13" {
			return keyNewline
		}
	}
	return keyNone
}

func tilde(first, mod string) keyName {
	switch first {
	case "1", "7":
		return keyHome
	case "4", "8":
		return keyEnd
	case "3":
		if mod != "" && mod != "2" {
			return keyKillWordRight
		}
		return keyDelete
	case "27": // 27;2;13~ is Shift-Enter
		if strings.HasSuffix(mod, ";13") {
			return keyNewline
		}
	}
	return keyNone
}

func alt(c byte) keyName {
	switch c {
	case '\r', '\n':
		return keyNewline
	case 'b', 'B':
		return keyWordLeft
	case 'f', 'F':
		return keyWordRight
	case 'd', 'D':
		return keyKillWordRight
	case 0x7f, 0x08:
		return keyKillWordLeft
	}
	return keyNone
}

func control(c byte) keyName {
	switch c {
	case '\r':
		return keyEnter
	case '\n':
		return keyNewline
	case '\t':
		return keyTab
	case 0x7f, 0x08:
		return keyBackspace
	}
	const ctrl = 0x40
	switch c + ctrl {
	case 'A':
		return keyHome
	case 'B':
		return keyBackground
	case 'C':
		return keyInterrupt
	case 'D':
		return keyEOF
	case 'E':
		return keyEnd
	case 'F':
		return keyRight
	case 'K':
		return keyKillToEnd
	case 'L':
		return keyClear
	case 'N':
		return keyNext
	case 'P':
		return keyPrevious
	case 'R':
		return keySearch
	case 'U':
		return keyKillToStart
	case 'W':
		return keyKillWordLeft
	case 'Y':
		return keyYank
	case 'Z':
		return keySuspend
	}
	return keyNone
}
