package files

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/troupe-dev/troupe/internal/tool"
)

// numbered takes a text in pieces and keeps the lines first to last of it, with their
// numbers. It holds no more than what it will show, however long the text or a line is.
type numbered struct {
	first, last int
	out         []byte
	cur         []byte // beginning of the line that is being read, if it is wanted
	length      int    // bytes of that line so far
	lines       int    // whole lines before it
	shown       int    // number of the last line in out
	full        bool   // out has no room for the next line that was wanted
}

func (t *numbered) wanted() bool {
	n := t.lines + 1
	return n >= t.first && n <= t.last && !t.full
}

func (t *numbered) add(p []byte) {
	for len(p) > 0 {
		if t.lines >= t.last || t.full {
			// Nothing more will be shown, but how much there is will be told.
			t.lines += bytes.Count(p, []byte{'\n'})
			if i := bytes.LastIndexByte(p, '\n'); i >= 0 {
				t.length, p = 0, p[i+1:]
			}
			t.length += len(p)
			return
		}
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			t.keep(p)
			return
		}
		if t.length == 0 && t.wanted() {
			t.length = i
			t.emit(p[:i]) // the whole line is here: no need to gather it
		} else {
			t.keep(p[:i])
			t.emit(t.cur)
		}
		t.cur, t.length = t.cur[:0], 0
		t.lines++
		p = p[i+1:]
	}
}

// keep gathers a line that comes in pieces.
func (t *numbered) keep(p []byte) {
	t.length += len(p)
	if room := maxLine*utf8.UTFMax - len(t.cur); t.wanted() && room > 0 {
		t.cur = append(t.cur, p[:min(room, len(p))]...)
	}
}

// end accounts for a last line without a newline.
func (t *numbered) end() {
	if t.length > 0 {
		t.emit(t.cur)
		t.lines++
	}
}

func (t *numbered) emit(line []byte) {
	if !t.wanted() {
		return
	}
	n := t.lines + 1
	if n == 1 {
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
		line = []byte(cleanText(line))
	}
	short := cutRunes(line, maxLine)
	if len(t.out)+len(short)+64 > maxText {
		t.full = true
		return
	}
	t.out = appendNumber(t.out, n)
	t.out = append(t.out, short...)
	if len(short) < len(line) {
		t.out = fmt.Appendf(t.out, "… [line cut; it has %s]", tool.FormatBytes(int64(t.length)))
	}
	t.out = append(t.out, '\n')
	t.shown = n
}

// appendNumber writes a line number the way cat -n does.
func appendNumber(out []byte, n int) []byte {
	for pad := 100_000; pad > n && pad > 1; pad /= 10 {
		out = append(out, ' ')
	}
	return append(strconv.AppendInt(out, int64(n), 10), '\t')
}

func cutRunes(line []byte, n int) []byte {
	if len(line) <= n {
		return line
	}
	end := 0
	for ; n > 0 && end < len(line); n-- {
		_, size := utf8.DecodeRune(line[end:])
		end += size
	}
	return line[:end]
}

// result is the text and, if it is not all there is, how to go on.
func (t *numbered) result(in readInput) string {
	switch {
	case t.lines == 0:
		return "(The file is empty.)"
	case t.shown == 0:
		return fmt.Sprintf("(The file has %d lines; there is no line %d.)", t.lines, in.offset)
	case t.shown == t.lines:
		if t.first == 1 {
			return string(t.out)
		}
		return string(fmt.Appendf(t.out, "(End of the file.)"))
	case t.full:
		return string(fmt.Appendf(t.out, "(Lines %d-%d of %d: one result holds %s. Go on with offset %d.)",
			t.first, t.shown, t.lines, tool.FormatBytes(maxText), t.shown+1))
	default:
		return string(fmt.Appendf(t.out, "(Lines %d-%d of %d. Go on with offset %d.)", t.first, t.shown, t.lines,
			t.shown+1))
	}
}
