package editor

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// cell is what the cursor steps over as one: a character as people see it, a line break, or
// a long paste, which is shown as a mark.
type cell struct {
	text  string
	show  string
	width int
}

// text is what is being edited.
type text struct {
	cells []cell
	at    int // the cursor stands before this cell
	cut   []cell
}

// A paste of more than this is shown as a mark: nobody edits it line by line, and the rest
// stays in view.
const (
	longPasteLines = 8
	longPasteBytes = 2000
)

// newCell shows one cluster. Control characters become visible: what is shown is what is sent.
func newCell(cluster string) cell {
	if cluster == "\n" {
		return cell{text: "\n"}
	}
	show := cluster
	if r, _ := utf8.DecodeRuneInString(cluster); cluster == "\t" {
		show = "  "
	} else if unicode.IsControl(r) {
		show = fmt.Sprintf("\\x%02x", r)
	}
	w := ansi.StringWidth(show)
	if w == 0 {
		r, _ := utf8.DecodeRuneInString(cluster)
		show = fmt.Sprintf("\\u%04x", r)
		w = len(show)
	}
	return cell{text: cluster, show: show, width: w}
}

// split cuts a string into cells.
func split(s string) []cell {
	var out []cell
	for len(s) > 0 {
		c := cluster(s)
		out = append(out, newCell(c))
		s = s[len(c):]
	}
	return out
}

// cluster is the first character of s as people see it.
func cluster(s string) string {
	if c := s[0]; c < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return s[:1]
	}
	if r, n := utf8.DecodeRuneInString(s); unicode.IsControl(r) {
		return s[:n]
	}
	_, _, n, _ := ansi.DecodeSequence(s, ansi.NormalState, nil)
	if n <= 0 {
		return s
	}
	// Marks on an ASCII letter come out by themselves.
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !unicode.Is(unicode.M, r) {
			break
		}
		n += size
	}
	return s[:n]
}

func newPaste(s string) []cell {
	lines := strings.Count(s, "\n") + 1
	if lines <= longPasteLines && len(s) <= longPasteBytes {
		return split(s)
	}
	show := fmt.Sprintf("[pasted: %d lines]", lines)
	if lines == 1 {
		show = fmt.Sprintf("[pasted: %d characters]", utf8.RuneCountInString(s))
	}
	return []cell{{text: s, show: show, width: len(show)}}
}

func (t *text) String() string { return join(t.cells) }

func join(cells []cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.text)
	}
	return b.String()
}

func (t *text) set(s string) {
	t.cells = newPaste(s)
	t.at = len(t.cells)
}

// insert puts cells before the cursor. A character that combines with the one before it
// becomes part of it.
func (t *text) insert(cells []cell) {
	if len(cells) == 1 && t.at > 0 && cells[0].text != "\n" {
		if prev := t.cells[t.at-1]; prev.text != "\n" && len(prev.text) < longPasteBytes {
			if both := prev.text + cells[0].text; cells[0].text[0] >= utf8.RuneSelf && cluster(both) == both {
				t.cells[t.at-1] = newCell(both)
				return
			}
		}
	}
	out := make([]cell, 0, len(t.cells)+len(cells))
	out = append(append(append(out, t.cells[:t.at]...), cells...), t.cells[t.at:]...)
	t.cells = out
	t.at += len(cells)
}

// remove takes the cells from..to out and returns them.
func (t *text) remove(from, to int) []cell {
	gone := append([]cell(nil), t.cells[from:to]...)
	t.cells = append(t.cells[:from:from], t.cells[to:]...)
	t.at = from
	return gone
}

// kill removes cells for yank to bring back.
func (t *text) kill(from, to int) {
	if from < to {
		t.cut = t.remove(from, to)
	}
}

func (t *text) lineStart() int {
	i := t.at
	for i > 0 && t.cells[i-1].text != "\n" {
		i--
	}
	return i
}

func (t *text) lineEnd() int {
	i := t.at
	for i < len(t.cells) && t.cells[i].text != "\n" {
		i++
	}
	return i
}

func (c cell) word() bool {
	r, _ := utf8.DecodeRuneInString(c.text)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
}

func (t *text) wordLeft() int {
	i := t.at
	for i > 0 && !t.cells[i-1].word() {
		i--
	}
	for i > 0 && t.cells[i-1].word() {
		i--
	}
	return i
}

func (t *text) wordRight() int {
	i := t.at
	for i < len(t.cells) && !t.cells[i].word() {
		i++
	}
	for i < len(t.cells) && t.cells[i].word() {
		i++
	}
	return i
}

// spaceLeft is where the word of anything but spaces before the cursor begins.
func (t *text) spaceLeft() int {
	i := t.at
	space := func(c cell) bool { return strings.TrimSpace(c.text) == "" }
	for i > 0 && space(t.cells[i-1]) {
		i--
	}
	for i > 0 && !space(t.cells[i-1]) {
		i--
	}
	return i
}

// vertical moves the cursor to the line above or below, and reports whether there is one.
func (t *text) vertical(down bool) bool {
	start, end := t.lineStart(), t.lineEnd()
	col := t.at - start
	if down {
		if end == len(t.cells) {
			return false
		}
		t.at = end + 1
	} else {
		if start == 0 {
			return false
		}
		t.at = start - 1
		t.at = t.lineStart()
	}
	t.at = min(t.at+col, t.lineEnd())
	return true
}

// edit applies a key that only changes the text, and reports whether it was one.
func (t *text) edit(k key) bool {
	switch k.name {
	case keyText:
		t.insert([]cell{newCell(k.text)})
	case keyPaste:
		t.insert(newPaste(k.text))
	case keyNewline:
		t.insert([]cell{{text: "\n"}})
	case keyBackspace:
		if t.at > 0 {
			t.remove(t.at-1, t.at)
		}
	case keyDelete:
		if t.at < len(t.cells) {
			t.remove(t.at, t.at+1)
		}
	case keyLeft:
		t.at = max(0, t.at-1)
	case keyRight:
		t.at = min(len(t.cells), t.at+1)
	case keyHome:
		t.at = t.lineStart()
	case keyEnd:
		t.at = t.lineEnd()
	case keyWordLeft:
		t.at = t.wordLeft()
	case keyWordRight:
		t.at = t.wordRight()
	case keyKillWordLeft:
		t.kill(t.spaceLeft(), t.at)
	case keyKillWordRight:
		t.kill(t.at, t.wordRight())
	case keyKillToEnd:
		t.kill(t.at, t.lineEnd())
	case keyKillToStart:
		t.kill(t.lineStart(), t.at)
	case keyYank:
		t.insert(t.cut)
	default:
		return false
	}
	return true
}
