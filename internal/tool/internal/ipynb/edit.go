package ipynb

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/tool/internal/jsonspan"
)

// splice replaces a piece of the text. Splices are in order and do not overlap.
type splice struct {
	jsonspan.Span
	text string
}

func (n *Notebook) apply(splices ...splice) []byte {
	var b strings.Builder
	b.WriteString(n.head)
	at := 0
	for _, s := range splices {
		b.WriteString(n.text[at:s.From])
		b.WriteString(s.text)
		at = s.To
	}
	b.WriteString(n.text[at:])
	return []byte(b.String())
}

// Replace gives cell i another source and, unless typ is "", another type. What a code cell
// had put out belongs to the old source and goes.
func (n *Notebook) Replace(i int, typ, source string) []byte {
	c := &n.cells[i]
	if typ == "" {
		typ = c.typ
	}
	l := n.layout(i)
	values := map[string]string{"source": n.source(l, c, source)}
	drop := []string{"outputs", "execution_count"}
	if typ != c.typ {
		values["cell_type"] = quote(typ)
	}
	if typ == Code {
		drop = []string{"attachments"}
		values["outputs"], values["execution_count"] = "[]", "null"
		if m, ok := c.member("outputs"); ok && n.text[m.Value.From] == '[' &&
			len(jsonspan.Items(n.text, m.Value)) == 0 {
			delete(values, "outputs") // empty already, however it is written
		}
	}
	rest := make(map[string]string) // what the cell has no member for yet
	for key, value := range values {
		if _, ok := c.member(key); !ok {
			rest[key] = value
		}
	}
	if len(rest) == 0 && !slices.ContainsFunc(c.members, func(m jsonspan.Member) bool {
		return slices.Contains(drop,
			m.Key)
	}) {
		var out []splice
		for _, m := range c.members {
			if value, ok := values[m.Key]; ok {
				out = append(out, splice{m.Value, value})
			}
		}
		return n.apply(out...)
	}
	// The list of members changes: they are put together anew, each as it was written.
	var fields []field
	for _, m := range c.members {
		if slices.Contains(drop, m.Key) {
			continue
		}
		value, ok := values[m.Key]
		if !ok {
			value = m.Value.Of(n.text)
		}
		fields = append(fields, field{m.Key, m.Name.Of(n.text), value})
	}
	for _, key := range []string{"execution_count", "outputs", "source"} {
		if value, ok := rest[key]; ok {
			fields = addField(fields, field{key, quote(key), value})
		}
	}
	return n.apply(splice{c.Span, l.object(fields)})
}

// Insert puts a new cell before cell at, or at the end.
func (n *Notebook) Insert(at int, typ, source string) (data []byte, id string) {
	near := min(max(at-1, 0), len(n.cells)-1)
	l := n.layout(near)
	fields := []field{{"cell_type", `"cell_type"`, quote(typ)}}
	add := func(key, value string) { fields = append(fields, field{key, quote(key), value}) }
	if typ == Code {
		add("execution_count", "null")
	}
	if n.useIDs {
		id = n.newID(at, source)
		add("id", quote(id))
	}
	add("metadata", "{}")
	if typ == Code {
		add("outputs", "[]")
	}
	var like *cell
	if near >= 0 {
		like = &n.cells[near]
	}
	add("source", n.source(l, like, source))
	text := l.object(fields)
	switch {
	case len(n.cells) == 0:
		return n.apply(splice{n.array, "[" + l.cellLead + text + l.arrayTail + "]"}), id
	case at == 0:
		first := n.cells[0].From
		return n.apply(splice{jsonspan.Span{From: first, To: first}, text + "," + l.cellNext}), id
	default:
		after := n.cells[at-1].To
		return n.apply(splice{jsonspan.Span{From: after, To: after}, "," + l.cellNext + text}), id
	}
}

// Delete removes cell i.
func (n *Notebook) Delete(i int) []byte {
	switch {
	case len(n.cells) == 1:
		return n.apply(splice{n.array, "[]"})
	case i == 0:
		return n.apply(splice{jsonspan.Span{From: n.cells[0].From, To: n.cells[1].From}, ""})
	default:
		return n.apply(splice{jsonspan.Span{From: n.cells[i-1].To, To: n.cells[i].To}, ""})
	}
}

// field is a member on its way into a text.
type field struct{ key, name, value string }

// addField keeps keys that are in order in order.
func addField(fields []field, f field) []field {
	at := slices.IndexFunc(fields, func(o field) bool { return o.key > f.key })
	if at < 0 {
		at = len(fields)
	}
	return slices.Insert(fields, at, f)
}

// layout is the white space of a cell and its surroundings. Each is what stands before a
// value or, Tail, before a closing bracket.
type layout struct {
	cellLead, cellNext, arrayTail string // in the list of cells
	lead, next, tail              string // in a cell
	colon                         string // between a key and its value
	line, lineNext, lineTail      string // in a source
}

func (l *layout) object(fields []field) string {
	var b strings.Builder
	for i, f := range fields {
		b.WriteString([]string{"{" + l.lead, "," + l.next}[min(i, 1)])
		b.WriteString(f.name + l.colon + f.value)
	}
	b.WriteString(l.tail + "}")
	return b.String()
}

// layout finds out how cell i is written, or how it would be if there is none.
func (n *Notebook) layout(i int) *layout {
	if i < 0 {
		return n.plainLayout()
	}
	l := &layout{}
	first := n.cells[0]
	l.cellLead = n.text[n.array.From+1 : first.From]
	l.cellNext = l.cellLead
	if len(n.cells) > 1 {
		l.cellNext = n.blanksBefore(n.cells[1].From)
	}
	c := n.cells[i]
	l.lead = n.blanksBefore(c.members[0].Name.From)
	l.next = l.lead
	if len(c.members) > 1 {
		l.next = n.blanksBefore(c.members[1].Name.From)
	}
	l.tail = n.blanksBefore(c.To - 1)
	l.colon = n.text[c.members[0].Name.To:c.members[0].Value.From]
	// How a source is written its own shows first, and then one of several lines.
	for k, o := range slices.Concat(n.cells[i:i+1], n.cells) {
		m, ok := o.member("source")
		if !ok || n.text[m.Value.From] != '[' {
			continue
		}
		if at := jsonspan.Items(n.text, m.Value); len(at) > 1 || len(at) == 1 && k == 0 {
			l.line, l.lineTail = n.blanksBefore(at[0].From), n.blanksBefore(m.Value.To-1)
			if l.lineNext = l.line; len(at) > 1 {
				l.lineNext = n.blanksBefore(at[1].From)
			} else if l.line == "" && l.colon != ":" {
				l.lineNext = " "
			}
			return l
		}
	}
	l.lines(l.cellLead)
	return l
}

// lines works out how the lines of a source are written, one step deeper than the members of
// a cell, which are one step deeper than the cells.
func (l *layout) lines(cellLead string) {
	if !strings.Contains(l.next, "\n") {
		l.lineNext = l.next
		return
	}
	step, ok := strings.CutPrefix(l.next, cellLead)
	if !ok || !strings.Contains(cellLead, "\n") {
		step = " "
	}
	l.line, l.lineTail = l.next+step, l.next
	l.lineNext = l.line
}

// plainLayout is for a notebook without cells: it goes on as the notebook begins.
func (n *Notebook) plainLayout() *layout {
	step := n.blanksBefore(n.top[0].Name.From)
	colon := n.text[n.top[0].Name.To:n.top[0].Value.From]
	i := strings.LastIndexByte(step, '\n')
	if i < 0 {
		next := ""
		if len(n.top) > 1 {
			next = n.blanksBefore(n.top[1].Name.From)
		}
		return &layout{next: next, lineNext: next, colon: colon}
	}
	unit := step[i+1:]
	deep := func(k int) string { return step + strings.Repeat(unit, k) }
	return &layout{
		cellLead: deep(1), cellNext: deep(1), arrayTail: step,
		lead: deep(2), next: deep(2), tail: deep(1), colon: colon,
		line: deep(3), lineNext: deep(3), lineTail: deep(2),
	}
}

func (n *Notebook) blanksBefore(i int) string {
	return n.text[len(strings.TrimRight(n.text[:i], jsonspan.Blanks)):i]
}

// source writes a source the way the cell like has its own: as one string or as a list of
// lines. A line that it had already stays as it was written.
func (n *Notebook) source(l *layout, like *cell, source string) string {
	var raw map[string]string
	if like != nil {
		if m, ok := like.member("source"); ok {
			if n.text[m.Value.From] == '"' {
				return quote(source)
			}
			_, raw = n.sourceLines(m.Value)
		}
	}
	if source == "" {
		return "[]"
	}
	var b strings.Builder
	for line := range strings.Lines(source) {
		b.WriteString([]string{"[" + l.line, "," + l.lineNext}[min(b.Len(), 1)])
		if was, ok := raw[line]; ok {
			b.WriteString(was)
		} else {
			b.WriteString(quote(line))
		}
	}
	b.WriteString(l.lineTail + "]")
	return b.String()
}
