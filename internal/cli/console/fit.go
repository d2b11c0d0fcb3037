package console

import (
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// fitted writes lines to a terminal that end within it, and break between words: the terminal itself would break them
// within. What goes on in another row stands below what it goes on from. Only a word that has no room in a row of its
// own is left to the terminal, so that it can be copied whole.
type fitted struct {
	w      io.Writer
	width  int
	within bool // the last write ended within a line
}

// Fit has what is printed from here on fit the terminal, if it is one.
func (c *Console) Fit() {
	if width := c.room(); width > 0 {
		c.Out = &fitted{w: c.Out, width: width}
	}
}

// FitErr is a text for standard error, whose lines break between words if that is a terminal.
func (c *Console) FitErr(text string) string {
	if !c.ErrTTY || c.Width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = fitLine(lines[i], c.Width)
	}
	return strings.Join(lines, "\n")
}

// Verbatim is where a text goes that is not for a person's eyes first, such as JSON or a patch: its lines stay as they
// are.
func Verbatim(w io.Writer) io.Writer {
	if f, ok := w.(*fitted); ok {
		return f.w
	}
	return w
}

// Write implements io.Writer.
func (f *fitted) Write(p []byte) (int, error) {
	var b strings.Builder
	for line := range strings.Lines(string(p)) {
		text, ended := strings.CutSuffix(line, "\n")
		if !f.within {
			text = fitLine(text, f.width)
		}
		b.WriteString(text)
		if f.within = !ended; ended {
			b.WriteByte('\n')
		}
	}
	if _, err := io.WriteString(f.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// label is what a line begins with that stands apart from what is said of it.
var label = regexp.MustCompile(`^ *\S+( \S+)*?  +`)

// fitLine breaks a line between words into rows of at most a width. Sequences that colour it are no part of its words.
func fitLine(line string, width int) string {
	if ansi.StringWidth(line) <= width {
		return line
	}
	if trimmed := strings.TrimRight(line, " "); ansi.StringWidth(trimmed) <= width {
		return trimmed
	}
	plain := ansi.Strip(line)
	in := len(plain) - len(strings.TrimLeft(plain, " "))
	const least = 20 // columns that are worth a column of their own
	if head := ansi.StringWidth(label.FindString(plain)); head > 0 && width-head >= least {
		in = head
	} else if head > 0 {
		in += 4
	} else if strings.HasPrefix(plain, "+") || strings.HasPrefix(plain, "-") {
		in = 4 // of a difference: what goes on passes for no line of its own
	}
	in = min(in, width/2)
	var b strings.Builder
	at, gap := 0, 0
	for i, word := range strings.Split(line, " ") {
		if i > 0 {
			gap++
		}
		n := ansi.StringWidth(word)
		switch {
		case n == 0: // another blank, or nothing but colour
			b.WriteString(word)
			continue
		case at+gap+n > width && at > in && strings.TrimSpace(ansi.Strip(b.String())) != "":
			b.WriteString("\n" + strings.Repeat(" ", in))
			at = in
		default:
			b.WriteString(strings.Repeat(" ", gap))
			at += gap
		}
		b.WriteString(word)
		at, gap = at+n, 0
	}
	return b.String()
}

// Terminal is the process's output for a library that wants to know of the terminal; its lines fit it too.
type Terminal struct {
	*os.File
	fitted
}

// FitFile is a terminal of which lines fit a width.
func FitFile(f *os.File, width int) *Terminal {
	return &Terminal{f, fitted{w: f, width: width}}
}

// Write implements io.Writer.
func (t *Terminal) Write(p []byte) (int, error) { return t.fitted.Write(p) }

// WriteString implements io.StringWriter.
func (t *Terminal) WriteString(s string) (int, error) { return t.fitted.Write([]byte(s)) }
