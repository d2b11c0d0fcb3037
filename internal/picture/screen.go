package picture

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cell is one place on the screen.
type cell struct {
	text  string // one character and the marks that belong to it
	width int    // 2 if it is wide; then the next cell has width 0
	look  look
}

// mostText bounds the bytes of one cell: nobody sees more marks than that on one letter.
const mostText = 32

// screen is a terminal without a bottom: nothing that was written scrolls away.
type screen struct {
	columns  int
	rows     [][]cell
	row, col int
	look     look
}

func newScreen(columns int) *screen {
	return &screen{columns: columns, rows: make([][]cell, 1)}
}

// trimmed returns the rows without the empty ones at the end.
func (s *screen) trimmed() [][]cell {
	n := len(s.rows)
	for n > 0 && len(s.rows[n-1]) == 0 {
		n--
	}
	return s.rows[:n]
}

// write takes text with control sequences. Those that do not change what is seen, and those
// it does not know, are dropped.
func (s *screen) write(text string) {
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == 0x1b:
			n = s.escape(text)
		case r == '\n':
			s.down()
		case r == '\r':
			s.col = 0
		case r == '\b':
			s.col = max(0, s.col-1)
		case r == '\t':
			s.col = min(s.columns-1, (s.col/8+1)*8)
		case unicode.IsControl(r):
		default:
			s.put(r)
		}
		text = text[n:]
	}
}

func (s *screen) down() {
	s.row, s.col = s.row+1, 0
	if s.row == len(s.rows) {
		s.rows = append(s.rows, nil)
	}
}

func (s *screen) put(r rune) {
	width := runeWidth(r)
	if width == 0 {
		if row := s.rows[s.row]; s.col > 0 && s.col <= len(row) {
			at := s.col - 1
			if row[at].width == 0 && at > 0 {
				at--
			}
			if len(row[at].text) < mostText {
				row[at].text += string(r)
			}
		}
		return
	}
	if s.col+width > s.columns {
		s.down()
	}
	row := s.rows[s.row]
	for len(row) < s.col+width {
		row = append(row, cell{text: " ", width: 1})
	}
	row[s.col] = cell{text: string(r), width: width, look: s.look}
	if width == 2 {
		row[s.col+1] = cell{look: s.look}
	}
	s.rows[s.row] = row
	s.col += width
}

// escape carries out the control sequence that text begins with and returns its length.
func (s *screen) escape(text string) int {
	if len(text) < 2 {
		return len(text)
	}
	switch text[1] {
	case '[':
		for i := 2; i < len(text); i++ {
			if c := text[i]; c >= 0x40 && c <= 0x7e {
				s.control(text[2:i], c)
				return i + 1
			}
		}
		return len(text)
	case ']': // titles and links end with BEL or ST
		for i := 2; i < len(text); i++ {
			if text[i] == 0x07 {
				return i + 1
			}
			if text[i] == 0x1b && i+1 < len(text) && text[i+1] == '\\' {
				return i + 2
			}
		}
		return len(text)
	default:
		_, n := utf8.DecodeRuneInString(text[1:])
		return 1 + n
	}
}

// control carries out one CSI sequence.
func (s *screen) control(params string, final byte) {
	n := 1
	if v, err := strconv.Atoi(params); err == nil && v > 0 {
		n = v
	}
	switch final {
	case 'A':
		s.row = max(0, s.row-n)
	case 'B':
		s.row = min(len(s.rows)-1, s.row+min(n, len(s.rows)))
	case 'C':
		s.col = min(s.columns-1, s.col+min(n, s.columns))
	case 'D':
		s.col = max(0, s.col-n)
	case 'E':
		s.row, s.col = min(len(s.rows)-1, s.row+min(n, len(s.rows))), 0
	case 'F':
		s.row, s.col = max(0, s.row-n), 0
	case 'G':
		s.col = min(n, s.columns) - 1
	case 'J':
		s.eraseScreen(params)
	case 'K':
		s.eraseLine(params)
	case 'm':
		s.look = s.look.with(params)
	}
}

func (s *screen) eraseLine(params string) {
	switch row := s.rows[s.row]; params {
	case "", "0":
		s.rows[s.row] = row[:min(s.col, len(row))]
	case "2":
		s.rows[s.row] = nil
	}
}

func (s *screen) eraseScreen(params string) {
	switch params {
	case "", "0":
		s.eraseLine("")
		s.rows = s.rows[:s.row+1]
	case "2", "3":
		s.rows, s.row, s.col = make([][]cell, 1), 0, 0
	}
}

// runeWidth is how many cells a character takes: enough for what programs print.
func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	default:
		return 1
	}
}

// look is how characters are drawn. Colours are "#rrggbb"; "" is the window's own.
type look struct {
	fg, bg                                        string
	bold, dim, italic, underline, reverse, strike bool
}

// colours returns the colours to draw with, reversed if it has to be.
func (l look) colours() (fg, bg string) {
	if !l.reverse {
		return l.fg, l.bg
	}
	fg, bg = l.bg, l.fg
	if fg == "" {
		fg = paper
	}
	if bg == "" {
		bg = ink
	}
	return fg, bg
}

// with applies the parameters of one SGR sequence.
func (l look) with(params string) look {
	p := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(p) == 0 {
		return look{}
	}
	for len(p) > 0 {
		n, err := strconv.Atoi(p[0])
		if err != nil {
			return l
		}
		p = p[1:]
		switch {
		case n == 38 || n == 48:
			var c string
			c, p = extended(p)
			if n == 38 {
				l.fg = c
			} else {
				l.bg = c
			}
		case n >= 30 && n <= 37:
			l.fg = palette(n - 30)
		case n >= 90 && n <= 97:
			l.fg = palette(n - 90 + 8)
		case n >= 40 && n <= 47:
			l.bg = palette(n - 40)
		case n >= 100 && n <= 107:
			l.bg = palette(n - 100 + 8)
		default:
			l = l.attribute(n)
		}
	}
	return l
}

func (l look) attribute(n int) look {
	switch n {
	case 0:
		return look{}
	case 1:
		l.bold = true
	case 2:
		l.dim = true
	case 3:
		l.italic = true
	case 4:
		l.underline = true
	case 7:
		l.reverse = true
	case 9:
		l.strike = true
	case 22:
		l.bold, l.dim = false, false
	case 23:
		l.italic = false
	case 24:
		l.underline = false
	case 27:
		l.reverse = false
	case 29:
		l.strike = false
	case 39:
		l.fg = ""
	case 49:
		l.bg = ""
	}
	return l
}
