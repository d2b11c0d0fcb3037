//go:build unix

package ptytest

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// vt is a terminal of a given width and no bottom: what scrolls away stays.
type vt struct {
	w        int
	rows     [][]string // a wide character fills its own place and leaves "" in the next
	row, col int
	wrap     bool // the last column was written to, and the next character goes below
	bells    int
	title    string
	pending  string
}

func newVT(w int) *vt { return &vt{w: w, rows: make([][]string, 1)} }

func (v *vt) String() string {
	var out []string
	for _, r := range v.rows {
		out = append(out, strings.TrimRight(strings.Join(r, ""), " "))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

func (v *vt) write(p []byte) {
	s := v.pending + string(p)
	for s != "" {
		if !utf8.FullRuneInString(s) {
			break
		}
		if s[0] == 0x1b {
			n := v.sequence(s)
			if n == 0 {
				break
			}
			s = s[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		v.put(r)
		s = s[n:]
	}
	v.pending = s
}

func (v *vt) put(r rune) {
	switch r {
	case '\r':
		v.col, v.wrap = 0, false
	case '\n':
		v.row, v.wrap = v.row+1, false
	case '\a':
		v.bells++
	case '\t':
		for v.col = min(v.w-1, v.col+8-v.col%8); len(v.rows[v.row]) < v.col; {
			v.rows[v.row] = append(v.rows[v.row], " ")
		}
	default:
		width := ansi.StringWidth(string(r))
		if width == 0 {
			row := v.rows[v.row]
			row[len(row)-1] += string(r)
			return
		}
		if v.wrap || v.col+width > v.w {
			v.row, v.col, v.wrap = v.row+1, 0, false
		}
		v.grow()
		for len(v.rows[v.row]) < v.col+width {
			v.rows[v.row] = append(v.rows[v.row], " ")
		}
		v.rows[v.row][v.col] = string(r)
		if width == 2 {
			v.rows[v.row][v.col+1] = ""
		}
		if v.col += width; v.col >= v.w {
			v.col, v.wrap = v.w-1, true
		}
	}
	v.grow()
}

func (v *vt) grow() {
	for len(v.rows) <= v.row {
		v.rows = append(v.rows, nil)
	}
}

// sequence applies a control sequence; 0 says that it is not whole yet.
func (v *vt) sequence(s string) int {
	if len(s) < 2 {
		return 0
	}
	if s[1] == ']' {
		text, _, ends := strings.Cut(s[2:], "\x1b\\")
		if !ends {
			return 0
		}
		v.title = strings.TrimPrefix(text, "2;")
		return len(text) + 4
	}
	if s[1] != '[' {
		return 2
	}
	end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
	if end < 0 {
		return 0
	}
	n, err := strconv.Atoi(s[2 : 2+end])
	if err != nil {
		n = 1
	}
	switch s[2+end] {
	case 'A':
		v.row = max(0, v.row-n)
	case 'C':
		v.col = min(v.w-1, v.col+n)
	case 't':
		if s[2:2+end] == "23;2" {
			v.title = "" // what it was before
		}
	case 'H':
		v.row, v.col = 0, 0
	case 'J':
		if s[2:2+end] == "2" {
			for i := range v.rows {
				v.rows[i] = nil
			}
			break
		}
		v.rows = v.rows[:v.row+1]
		if v.col < len(v.rows[v.row]) {
			v.rows[v.row] = v.rows[v.row][:v.col]
		}
	}
	v.wrap = false
	return end + 3
}

// reflow makes the terminal narrower the way most do: rows that no longer fit are broken.
func (v *vt) reflow(w int) {
	var rows [][]string
	for i, r := range v.rows {
		if i == v.row {
			v.row, v.col = len(rows)+v.col/w, v.col%w
		}
		for len(r) > w {
			rows = append(rows, append([]string(nil), r[:w]...))
			r = r[w:]
		}
		rows = append(rows, append([]string(nil), r...))
	}
	v.w, v.rows = w, rows
	v.grow()
}
