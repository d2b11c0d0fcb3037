package render

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe/internal/cli/console"
)

// prose shows the lines of a reply, one after the other. Of Markdown it knows the few forms that
// models write most; what it does not know it shows as it is.
type prose struct {
	o     Options
	fence string // the mark that ends the block of code that the lines are in; "" outside
	table table  // what is held back of one
}

// list is the beginning of an item: how far in, and its mark.
var list = regexp.MustCompile(`^( *)([-*+]|\d{1,3}[.)]) +`)

// rows are what is shown once a line is whole: nothing while it may belong to a table, then all of that.
func (p *prose) rows(line string) []string {
	line = console.Clean(line)
	if !p.o.Markdown {
		return p.block(line)
	}
	shown, taken := p.tabled(line)
	if taken {
		return shown
	}
	return append(shown, p.block(line)...)
}

// block is a line that belongs to no table. Code is not wrapped: it is copied from here.
func (p *prose) block(line string) []string {
	text := strings.TrimLeft(line, " ")
	mark := ""
	if strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
		mark = text[:3]
	}
	switch {
	case !p.o.Markdown:
		if mark != "" {
			p.toggle(mark)
		}
		if p.fence != "" || mark != "" {
			return []string{line}
		}
		return p.wrap("", "", line, "")
	case mark != "" && (p.fence == "" || p.fence == mark):
		p.toggle(mark)
		return nil
	case p.fence != "":
		return []string{strings.TrimRight("    "+p.paint(36, line), " ")}
	case strings.HasPrefix(text, "#"):
		if title := strings.TrimLeft(text, "#"); strings.HasPrefix(title, " ") && len(text)-len(title) <= 6 {
			return p.wrap("", "", strings.TrimSpace(title), "1")
		}
	case strings.HasPrefix(text, "> "):
		return p.wrap("│ ", "│ ", text[2:], "")
	case len(text) >= 3 && strings.Trim(text, "-") == "" || len(text) >= 3 && strings.Trim(text, "*") == "":
		return []string{p.paint(2, strings.Repeat("─", 20))}
	}
	if m := list.FindStringSubmatch(line); m != nil {
		item := m[2]
		if strings.ContainsAny(item, "-*+") {
			item = "•"
		}
		first := "  " + m[1] + item + " "
		return p.wrap(first, strings.Repeat(" ", ansi.StringWidth(first)), line[len(m[0]):], "")
	}
	indent := line[:len(line)-len(text)]
	return p.wrap(indent, indent, text, "")
}

func (p *prose) toggle(mark string) {
	switch p.fence {
	case "":
		p.fence = mark
	case mark:
		p.fence = ""
	}
}

func (p *prose) paint(code int, s string) string { return console.Paint(p.o.Color, code, s) }

// wrap breaks a text into rows that begin with first, and with then after the first.
func (p *prose) wrap(first, then, text, style string) []string {
	if p.o.Markdown {
		text = p.inline(text, style)
	}
	return p.broken(first, then, strings.ReplaceAll(text, "\t", "    "))
}

// broken is wrap for a text that has its styles.
func (p *prose) broken(first, then, text string) []string {
	width := 0
	if p.o.Width > 0 {
		width = max(p.o.Width-max(ansi.StringWidth(first), ansi.StringWidth(then)), shortest)
	}
	rows := strings.Split(hold(wrapStyled(text, width)), "\n")
	for i := range rows {
		if i == 0 {
			rows[i] = first + rows[i]
		} else {
			rows[i] = then + rows[i]
		}
	}
	return rows
}

// wrapStyled is console.Wrap for a text that may hold escape sequences.
func wrapStyled(s string, w int) string {
	if w <= 0 {
		return s
	}
	if !strings.ContainsRune(s, 0x1b) {
		return strings.Join(console.Wrap(s, w), "\n")
	}
	return ansi.Wrap(s, w, "")
}

// hold has each row end the style that goes on in the next one, which begins it again.
func hold(s string) string {
	if !strings.ContainsRune(s, 0x1b) {
		return s
	}
	rows := strings.Split(s, "\n")
	open := ""
	for i, r := range rows {
		rows[i] = open + r
		for _, m := range escape.FindAllString(r, -1) {
			if open = m; m == "\x1b[0m" {
				open = ""
			}
		}
		if open != "" {
			rows[i] += "\x1b[0m"
		}
	}
	return strings.Join(rows, "\n")
}

var escape = regexp.MustCompile("\x1b\\[[0-9;]*m")

// spans are the forms within a line: code first, in which nothing else is one.
var spans = regexp.MustCompile("`[^`\n]+`" +
	`|\*\*[^\s*](?:[^*\n]*[^\s*])?\*\*` +
	`|\[[^\]\[\n]+\]\([^()\s]+\)`)

// inline shows bold words, code and links within a line. Where there is no colour, code keeps its
// marks: it is told from words by them.
func (p *prose) inline(s, style string) string {
	begin := ""
	if style != "" && p.o.Color {
		begin = "\x1b[" + style + "m"
	}
	out := spans.ReplaceAllStringFunc(s, func(m string) string {
		switch {
		case m[0] == '[':
			text, link, _ := strings.Cut(m[1:len(m)-1], "](")
			if text == link {
				return link
			}
			return text + " (" + link + ")"
		case !p.o.Color && m[0] == '`':
			return m
		case m[0] == '`':
			return "\x1b[36m" + m[1:len(m)-1] + "\x1b[0m" + begin
		case !p.o.Color:
			return m[2 : len(m)-2]
		}
		return "\x1b[1m" + m[2:len(m)-2] + "\x1b[0m" + begin
	})
	if begin != "" {
		out = begin + out + "\x1b[0m"
	}
	return out
}

// Prose is a whole text as replies are shown, line by line.
func Prose(text string, o Options) []string {
	p := prose{o: o}
	var rows []string
	for line := range strings.SplitSeq(text, "\n") {
		rows = append(rows, p.rows(line)...)
	}
	return append(rows, p.end()...)
}
