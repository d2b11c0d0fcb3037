package console

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Column is one of a table. On a terminal that is too narrow for all, those with the highest Spare are left
// out first; 0 stays.
type Column struct {
	Title string
	Spare int
	// Least is what its cells may be cut to; 0: they are not, but for those of the last. They are cut to twice of it
	// before a column is left out, and further where none can be.
	Least int
	// Uncut: as the last column it is shown in full, however much is left out for it.
	Uncut bool
}

// Table is rows under titles. A terminal is shown what fits on its lines, anything else all of it.
type Table struct {
	c       *Console
	columns []Column
	rows    [][]string
	whole   bool
}

// Whole leaves no column out: what a terminal has no room for stands below the first of a row, with its title.
func (t *Table) Whole() *Table {
	t.whole = true
	return t
}

// Table makes one. Without any title it has no line of them.
func (c *Console) Table(columns ...Column) *Table { return &Table{c: c, columns: columns} }

// Row adds a row, with a cell for each column. Whatever a cell is, it is shown as one line.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		if row[i] = fmt.Sprint(cell); reflect.TypeOf(cell) != reflect.TypeFor[painted]() {
			row[i] = flatten(row[i])
		}
	}
	t.rows = append(t.rows, row)
}

// Write prints the table.
func (t *Table) Write() error {
	rows := t.rows
	if slices.ContainsFunc(t.columns, func(c Column) bool { return c.Title != "" }) {
		titles := make([]string, len(t.columns))
		for i, c := range t.columns {
			titles[i] = c.Title
		}
		rows = slices.Concat([][]string{titles}, rows)
	}
	widths := make([]int, len(t.columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	room := t.c.room()
	shown := t.fitting(widths, room)
	if t.whole && len(shown) < len(t.columns) {
		return t.below(room)
	}
	t.cut(shown, widths, room)
	for _, row := range rows {
		var b strings.Builder
		for n, i := range shown {
			if t.columns[i].Least > 0 {
				row[i] = ansi.Truncate(row[i], widths[i], "…")
			}
			b.WriteString(row[i])
			if n < len(shown)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-ansi.StringWidth(row[i])+gap))
			}
		}
		line := strings.TrimRight(b.String(), " ")
		if room > 0 {
			line = ansi.Truncate(line, room, "…")
		}
		if _, err := fmt.Fprintln(t.c.Out, line); err != nil {
			return err
		}
	}
	return nil
}

// below prints each row as its first cell and, wrapped, the others with their titles.
func (t *Table) below(room int) error {
	for _, row := range t.rows {
		var more []string
		for i, cell := range row[1:] {
			if cell != "" {
				more = append(more, strings.ToLower(t.columns[i+1].Title)+" "+cell)
			}
		}
		lines := append([]string{ansi.Truncate(row[0], room, "…")}, Wrap(strings.Join(more, " · "), room-gap)...)
		if _, err := fmt.Fprintln(t.c.Out, strings.Join(lines, "\n"+strings.Repeat(" ", gap))); err != nil {
			return err
		}
	}
	return nil
}

const (
	gap     = 2  // between columns
	lastCut = 12 // a last column is cut to this before another one is left out
)

// cut makes columns narrower that may be, the widest first, until the line has room for all that are shown.
func (t *Table) cut(shown, widths []int, room int) {
	if room == 0 || len(shown) == 0 {
		return
	}
	last := shown[len(shown)-1]
	for {
		need, widest := min(widths[last], lastCut)+gap*(len(shown)-1), -1
		for _, i := range shown[:len(shown)-1] {
			need += widths[i]
			if c := t.columns[i]; c.Least > 0 && widths[i] > c.Least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if need <= room || widest < 0 {
			return
		}
		widths[widest]--
	}
}

// fitting picks the columns that a line has room for; room 0 is room for all.
func (t *Table) fitting(widths []int, room int) []int {
	var shown []int
	for i := range t.columns {
		shown = append(shown, i)
	}
	for room > 0 {
		need := gap * (len(shown) - 1)
		for n, i := range shown {
			if n == len(shown)-1 && !t.columns[i].Uncut {
				need += min(widths[i], lastCut)
			} else if least := t.columns[i].Least; least > 0 {
				need += min(widths[i], 2*least)
			} else {
				need += widths[i]
			}
		}
		most := slices.MaxFunc(shown, func(a, b int) int { return t.columns[a].Spare - t.columns[b].Spare })
		if need <= room || t.columns[most].Spare == 0 {
			break
		}
		shown = slices.DeleteFunc(shown, func(i int) bool { return i == most })
	}
	return shown
}
