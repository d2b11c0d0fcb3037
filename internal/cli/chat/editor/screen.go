package editor

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// foot is what stands at the foot of the terminal and is drawn anew whenever something
// changes: the unfinished line of output, the prompt and the text.
type foot struct {
	rows   []string // as drawn, each narrower than the terminal
	curRow int
	curCol int
}

// continued stands before the second and further rows of a text.
const continued = "  "

// layout draws the foot for a terminal of w columns and h rows. Every row stays one column
// short of the edge, so that no terminal is in doubt about where the cursor is.
func layout(tail, prompt string, t *text, w, h int) foot {
	w = max(w-1, 8)
	h = max(h, 3)
	f := wrapText(prompt, t, w)
	// The text keeps to the window around the cursor, the tail to what is left above it.
	if room := h - 1; len(f.rows) > room {
		from := min(max(0, f.curRow-room+1), len(f.rows)-room)
		f.rows, f.curRow = f.rows[from:from+room], f.curRow-from
	}
	if tail == "" {
		return f
	}
	above := strings.Split(ansi.Hardwrap(expandTabs(tail), w, true), "\n")
	room := h - 1 - len(f.rows)
	if room <= 0 {
		return f
	}
	if len(above) > room {
		above = above[len(above)-room:]
	}
	f.rows = append(append([]string(nil), above...), f.rows...)
	f.curRow += len(above)
	return f
}

// tabStop is how far apart the stops of a terminal's tabs are.
const tabStop = 8

// expandTabs writes tabs as the spaces that a terminal shows for them: how wide a row is must be known, or
// it is not wholly taken away when it is drawn anew.
func expandTabs(s string) string {
	if !strings.ContainsRune(s, '\t') {
		return s
	}
	rows := strings.Split(s, "\n")
	for i, row := range rows {
		before, after, found := strings.Cut(row, "\t")
		for found {
			before += strings.Repeat(" ", tabStop-ansi.StringWidth(before)%tabStop)
			row, after, found = strings.Cut(after, "\t")
			before += row
		}
		rows[i] = before
	}
	return strings.Join(rows, "\n")
}

func wrapText(prompt string, t *text, w int) foot {
	prompt = ansi.Truncate(prompt, w/2, "")
	var f foot
	var row strings.Builder
	row.WriteString(prompt)
	col := ansi.StringWidth(prompt)
	next := func() {
		f.rows = append(f.rows, row.String())
		row.Reset()
		row.WriteString(continued)
		col = len(continued)
	}
	for i, c := range t.cells {
		show, width := c.show, c.width
		if width > w-len(continued) {
			show = ansi.Truncate(show, w-len(continued), "")
			width = ansi.StringWidth(show)
		}
		if c.text != "\n" && col+width > w {
			next()
		}
		if i == t.at {
			f.curRow, f.curCol = len(f.rows), col
		}
		if c.text == "\n" {
			next()
			continue
		}
		row.WriteString(show)
		col += width
	}
	if t.at == len(t.cells) {
		f.curRow, f.curCol = len(f.rows), col
	}
	f.rows = append(f.rows, row.String())
	return f
}

// erase is the bytes that take a drawn foot away and leave the cursor where it began. now is
// the width of the terminal, which may have changed since: a terminal that became narrower
// has broken the rows that no longer fit.
func (f foot) erase(now int) string {
	if len(f.rows) == 0 {
		return "\r\x1b[J"
	}
	up := 0
	for i, r := range f.rows[:f.curRow+1] {
		n := ansi.StringWidth(r)
		if i == f.curRow {
			n = f.curCol
			up += n / max(now, 1)
			break
		}
		up += max(1, (n+now-1)/max(now, 1))
	}
	return "\r" + strings.Repeat("\x1b[A", up) + "\x1b[J"
}

// draw is the bytes that draw the foot from where the cursor stands.
func (f foot) draw() string {
	var b strings.Builder
	for i, r := range f.rows {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(r)
	}
	b.WriteString(strings.Repeat("\x1b[A", len(f.rows)-1-f.curRow))
	b.WriteString("\r")
	b.WriteString(strings.Repeat("\x1b[C", f.curCol))
	return b.String()
}
