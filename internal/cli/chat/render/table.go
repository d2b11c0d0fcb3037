package render

import (
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// tableRows is how many rows of a table are held back before they are shown: columns are as wide as what was
// seen of them by then.
const tableRows = 100

// table is a table of a reply while it comes. Its first line is one only if the next one says so; until then it
// is held back, and so are rows, for each may make the columns wider.
type table struct {
	first  string // the line that may be the titles; "" if none is held
	indent string
	titles []string
	align  []int // of each column: -1 left, 0 in the middle, 1 right
	rows   [][]string
	widths []int // of the columns as they were shown last
	begun  bool  // the titles were shown
}

// holds reports whether something was not shown yet.
func (t *table) holds() bool { return t.first != "" || t.titles != nil }

// rule is the line below the titles.
var rule = regexp.MustCompile(`^ *\|? *:?-+:? *(\| *:?-+:? *)*\|? *$`)

// tabled takes a line that belongs to a table, or may begin one, and returns what is shown of the lines before it.
func (p *prose) tabled(line string) (shown []string, taken bool) {
	t := &p.table
	switch {
	case p.fence != "":
		return nil, false
	case t.titles != nil && hasCells(line):
		t.rows = append(t.rows, cells(line))
		if len(t.rows) >= tableRows {
			shown = p.draw()
		}
		return shown, true
	case t.first != "" && rule.MatchString(line) && len(cells(line)) == len(cells(t.first)):
		t.indent = t.first[:len(t.first)-len(strings.TrimLeft(t.first, " "))]
		t.titles, t.first = cells(t.first), ""
		for _, c := range cells(line) {
			left, right := strings.HasPrefix(c, ":"), strings.HasSuffix(c, ":")
			switch {
			case left && right:
				t.align = append(t.align, 0)
			case right:
				t.align = append(t.align, 1)
			default:
				t.align = append(t.align, -1)
			}
		}
		return nil, true
	}
	shown = p.end()
	if hasCells(line) {
		t.first = line
		return shown, true
	}
	return shown, false
}

// end shows what was held back: no more of it comes.
func (p *prose) end() (shown []string) {
	switch t := &p.table; {
	case t.first != "":
		shown = p.block(t.first)
	case t.titles != nil && (len(t.rows) > 0 || !t.begun):
		shown = p.draw()
	}
	p.table = table{}
	return shown
}

// hasCells reports whether a line could be one of a table.
func hasCells(line string) bool {
	text := strings.TrimLeft(line, " ")
	return strings.Contains(text, "|") && !strings.HasPrefix(text, "```") && !strings.HasPrefix(text, "~~~") &&
		!strings.HasPrefix(text, ">") && !strings.HasPrefix(text, "# ") && !list.MatchString(line)
}

// cells takes a line apart. A bar behind a backslash is a part of its cell.
func cells(line string) []string {
	const bar = "\x00" // Clean leaves none
	line = strings.TrimSpace(strings.ReplaceAll(line, `\|`, bar))
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	out := strings.Split(line, "|")
	for i, c := range out {
		out[i] = strings.ReplaceAll(strings.TrimSpace(c), bar, "|")
	}
	return out
}

// columnGap is between columns.
const columnGap = "  "

// draw shows the rows that are held: in columns if the screen has room for them, else each cell behind its title.
func (p *prose) draw() []string {
	t := &p.table
	n := len(t.titles)
	for _, row := range t.rows {
		n = max(n, len(row))
	}
	all := make([][]string, 0, len(t.rows)+1)
	for i, row := range slices.Concat([][]string{t.titles}, t.rows) {
		style := ""
		if i == 0 {
			style = "1"
		}
		shown := make([]string, n)
		for k, c := range row {
			shown[k] = p.inline(c, style)
		}
		all = append(all, shown)
	}
	widths := make([]int, n)
	copy(widths, t.widths)
	room := len(t.indent) - len(columnGap)
	for k := range widths {
		for _, row := range all {
			widths[k] = max(widths[k], ansi.StringWidth(row[k]))
		}
		room += widths[k] + len(columnGap)
	}
	var out []string
	if p.o.Width == 0 || room <= p.o.Width {
		out = p.columns(all, widths)
	} else {
		out = p.titled(all)
	}
	t.rows, t.widths, t.begun = nil, widths, true
	return out
}

func (p *prose) columns(all [][]string, widths []int) (out []string) {
	t := &p.table
	for i, row := range all {
		if i == 0 && t.begun {
			continue
		}
		var line, below []string
		for k, c := range row {
			left := -1
			if k < len(t.align) {
				left = t.align[k]
			}
			space := widths[k] - ansi.StringWidth(c)
			before := [...]int{0, space / 2, space}[left+1]
			line = append(line, strings.Repeat(" ", before)+c+strings.Repeat(" ", space-before))
			below = append(below, strings.Repeat("─", widths[k]))
		}
		out = append(out, t.indent+strings.TrimRight(strings.Join(line, columnGap), " "))
		if i == 0 {
			out = append(out, t.indent+p.paint(2, strings.TrimRight(strings.Join(below, columnGap), " ")))
		}
	}
	return out
}

// titled shows each cell on a line of its own, and an empty line between rows.
func (p *prose) titled(all [][]string) (out []string) {
	t := &p.table
	if len(all) == 1 { // there are no rows yet
		return []string{t.indent + strings.Join(all[0], columnGap)}
	}
	for i, row := range all[1:] {
		if i > 0 || t.begun {
			out = append(out, "")
		}
		for k, c := range row {
			title := all[0][k]
			switch {
			case title != "":
				c = strings.TrimRight(title+": "+c, " ")
			case c == "":
				continue
			}
			out = append(out, p.broken(t.indent, t.indent+"  ", c)...)
		}
	}
	return out
}
