package search

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

const (
	maxFile   = 64 << 20 // the largest file that the own search looks into
	waitLimit = 10 * time.Second
)

// builtin is the search for machines without ripgrep.
func builtin(ctx context.Context, q query, rep *report) error {
	re, err := regexp.Compile(q.regexp)
	if err != nil {
		return fmt.Errorf("compile %q: %w", q.regexp, err)
	}
	s := selection{depth: -1, hides: rep.hides}
	if r, ok := parseRule(q.filter); ok {
		if r.verdict == wanted {
			r.verdict = ignored // in a filter, unlike an ignore file, ! takes away
		} else {
			r.verdict = wanted
		}
		s.filter = rules{r}
	}
	if q.typ != "" {
		known := false
		if s.types, known = typeRules(q.typ); !known {
			return errType(q.typ)
		}
	}
	e := engine{re: re, q: q, rep: rep}
	if q.file != "" {
		e.file(q.file)
		return ctx.Err()
	}
	return walk(ctx, q.real, s, func(rel string, d fs.DirEntry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.Type().IsRegular() && !e.file(rel) {
			return errStop
		}
		return nil
	})
}

type engine struct {
	re  *regexp.Regexp
	q   query
	rep *report
	buf bytes.Buffer // reused from file to file
}

// file searches one file; false means that no more hits are wanted.
func (e *engine) file(rel string) bool {
	if e.rep.hides(rel) {
		return true
	}
	f, info, err := safefile.Open(e.q.path(rel))
	if err != nil || info.Size() > maxFile {
		return true
	}
	defer f.Close()                                  //nolint:errcheck // only read from
	_ = f.SetReadDeadline(time.Now().Add(waitLimit)) // what is not on a disk may have nothing to tell for ever
	e.buf.Reset()
	n, err := e.buf.ReadFrom(io.LimitReader(f, maxFile+1))
	if err != nil || n > maxFile {
		return true
	}
	content := decodeUTF16(e.buf.Bytes())
	if binary(content[:min(len(content), headBytes)]) {
		return true
	}
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	if e.q.multiline {
		return e.whole(rel, content)
	}
	return e.lines(rel, content)
}

func binary(head []byte) bool { return bytes.IndexByte(head, 0) >= 0 }

// lines searches line by line.
func (e *engine) lines(rel string, content []byte) bool {
	matches, line := 0, 0
	ctx := newWindow(e, rel)
	for rest := content; len(rest) > 0; {
		var text []byte
		text, rest = cutLine(rest)
		line++
		hit := e.re.Match(text)
		if !hit {
			if !ctx.other(line, text) {
				return false
			}
			continue
		}
		matches++
		if e.q.mode == modeFiles {
			return e.rep.addFile(rel, 1)
		}
		if !ctx.match(line, text) {
			return false
		}
	}
	if e.q.mode == modeCount && matches > 0 {
		return e.rep.addFile(rel, matches)
	}
	return true
}

// whole lets matches run over lines; every line that one touches is a hit.
func (e *engine) whole(rel string, content []byte) bool {
	spans := e.re.FindAllIndex(content, -1)
	// An empty match after the last line is on no line.
	for n := len(spans); n > 0 && spans[n-1][0] == len(content); n = len(spans) {
		spans = spans[:n-1]
	}
	if len(spans) == 0 {
		return true
	}
	switch e.q.mode {
	case modeFiles:
		return e.rep.addFile(rel, 1)
	case modeCount:
		return e.rep.addFile(rel, len(spans))
	}
	ctx := newWindow(e, rel)
	line, at := 0, 0
	for rest := content; len(rest) > 0; {
		from := at
		var text []byte
		text, rest = cutLine(rest)
		at = len(content) - len(rest)
		line++
		for len(spans) > 0 && spans[0][1] <= from && spans[0][0] < from {
			spans = spans[1:]
		}
		var more bool
		if len(spans) > 0 && spans[0][0] < at {
			more = ctx.match(line, text)
			for len(spans) > 0 && spans[0][1] <= at {
				spans = spans[1:]
			}
		} else {
			more = ctx.other(line, text)
		}
		if !more {
			return false
		}
	}
	return true
}

// cutLine splits off the first line, without its ending.
func cutLine(content []byte) (line, rest []byte) {
	i := bytes.IndexByte(content, '\n')
	if i < 0 {
		return content, nil
	}
	return bytes.TrimSuffix(content[:i], []byte{'\r'}), content[i+1:]
}

// window adds the lines around matches.
type window struct {
	e      *engine
	rel    string
	before []heldLine // the last lines that were not shown
	after  int        // lines still to show after the last match
}

type heldLine struct {
	n    int
	text []byte
}

func newWindow(e *engine, rel string) *window { return &window{e: e, rel: rel} }

func (w *window) match(n int, text []byte) bool {
	if w.e.q.mode != modeContent {
		return true
	}
	for _, b := range w.before {
		if !w.e.rep.add(w.rel, b.n, false, b.text) {
			return false
		}
	}
	w.before, w.after = w.before[:0], w.e.q.after
	return w.e.rep.add(w.rel, n, true, text)
}

func (w *window) other(n int, text []byte) bool {
	if w.after > 0 {
		w.after--
		return w.e.rep.add(w.rel, n, false, text)
	}
	if w.e.q.before > 0 {
		if len(w.before) == w.e.q.before {
			w.before = append(w.before[:0], w.before[1:]...)
		}
		w.before = append(w.before, heldLine{n, text})
	}
	return true
}

// decodeUTF16 turns UTF-16 with a byte order mark into UTF-8.
func decodeUTF16(b []byte) []byte {
	if len(b) < 2 || !(b[0] == 0xff && b[1] == 0xfe || b[0] == 0xfe && b[1] == 0xff) {
		return b
	}
	low, high := 0, 1
	if b[0] == 0xfe {
		low, high = 1, 0
	}
	units := make([]uint16, 0, len(b)/2)
	for i := 2; i+1 < len(b); i += 2 {
		units = append(units, uint16(b[i+low])|uint16(b[i+high])<<8)
	}
	out := make([]byte, 0, len(b))
	for _, r := range utf16.Decode(units) {
		out = utf8.AppendRune(out, r)
	}
	return out
}
