package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

const (
	firstRead = 64 << 10
	maxPart   = 1 << 20 // of a file, in memory at once, if its lines are no longer
	// maxWhole is the longest line, and the largest file that must be in memory as a whole.
	maxWhole = 64 << 20
)

// file searches one file.
func (w *worker) file(ctx context.Context, d *safefile.Folder, name, rel string, found *haul) {
	r, size, err := d.Reader(name)
	if err != nil {
		return
	}
	defer r.Close() //nolint:errcheck // only read from
	p := part{r: r, left: size, buf: w.buf}
	defer func() {
		if p.large {
			<-w.large
		} else {
			w.buf = p.buf
		}
	}()
	if err := p.fill(ctx, w.large, headBytes); err != nil {
		return
	}
	wide := utf16Order(p.text) != nil
	if wide || w.q.multiline {
		err := error(nil)
		if size <= maxWhole {
			err = p.fill(ctx, w.large, maxWhole)
		}
		if err != nil {
			return
		}
		if !p.end {
			w.unread(found, rel, "it is larger than 64 MB")
			return
		}
	}
	content := decodeUTF16(p.text)
	if binary(content[:min(len(content), headBytes)]) {
		return
	}
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	if w.q.multiline {
		w.whole(rel, content, found)
		return
	}
	s := lines{worker: w, rel: rel, found: found, held: w.held[:0]}
	if wide {
		s.search(ctx, content, true)
	} else {
		s.parts(ctx, &p, len(p.text)-len(content))
	}
	s.close()
	w.held = s.held
}

func (w *worker) unread(found *haul, rel, why string) {
	found.records = append(found.records, record{file: rel, unread: why})
}

func binary(head []byte) bool { return bytes.IndexByte(head, 0) >= 0 }

// part is the part of a file that is in memory.
type part struct {
	r     io.Reader
	left  int64 // of the file, as its size was; 0 or less: not known
	buf   []byte
	text  []byte // what of buf is filled
	end   bool   // nothing comes after text
	large bool   // holds the token for large parts
}

// fill reads until there are want bytes, or the file is at its end.
func (p *part) fill(ctx context.Context, large chan struct{}, want int) error {
	for len(p.text) < want && !p.end {
		if len(p.text) == len(p.buf) {
			if err := p.grow(ctx, large); err != nil {
				return err
			}
		}
		n, err := p.r.Read(p.buf[len(p.text):min(len(p.buf), len(p.text)+maxPart)])
		p.text = p.buf[:len(p.text)+n]
		// Files that are no files, as those below /proc, claim to be empty.
		if p.left -= int64(n); p.left == 0 && n > 0 || errors.Is(err, io.EOF) {
			p.end = true
		} else if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (p *part) grow(ctx context.Context, large chan struct{}) error {
	if len(p.buf) >= maxPart && !p.large {
		select {
		case large <- struct{}{}:
			p.large = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	buf := make([]byte, min(4*len(p.buf), maxWhole+1))
	p.text = buf[:copy(buf, p.text)]
	p.buf = buf
	return nil
}

// drop forgets the first n bytes.
func (p *part) drop(n int) { p.text = p.buf[:copy(p.buf, p.text[n:])] }

// lines searches one file line by line.
type lines struct {
	*worker
	rel   string
	found *haul

	line    int // how many were passed: all before those that were not shown yet
	after   int // lines still to show after the last match
	matches int
	done    bool
	held    []heldLine // the last lines of the part before, if they were not shown
}

type heldLine struct {
	n    int
	text []byte
}

// parts searches a file part by part; its first bytes are left out.
func (s *lines) parts(ctx context.Context, p *part, skip int) {
	p.drop(skip)
	for !s.done {
		if p.end {
			s.search(ctx, p.text, true)
			return
		}
		end := bytes.LastIndexByte(p.text, '\n') + 1
		if end == 0 && len(p.text) > maxWhole {
			s.unread(s.found, s.rel, "it has a line of more than 64 MB")
			return
		}
		if end > 0 {
			s.search(ctx, p.text[:end], false)
			p.drop(end)
		}
		if ctx.Err() != nil || p.fill(ctx, s.large, max(len(p.buf), len(p.text)+1)) != nil {
			return
		}
	}
}

// search takes the next lines of the file. All but those at the end of it end in a newline.
func (s *lines) search(ctx context.Context, content []byte, last bool) {
	if s.finder != nil {
		s.finder.reset(content)
	}
	shown := 0 // what comes before was shown or passed
	for at := 0; at < len(content); {
		if ctx.Err() != nil || s.found.left >= maxLeft {
			s.done = true
			return
		}
		start := at
		if s.finder != nil {
			hit, ok := s.finder.next(at)
			if !ok {
				break
			}
			start += bytes.LastIndexByte(content[at:hit], '\n') + 1
		}
		text, rest := cutLine(content[start:])
		at = len(content) - len(rest)
		if (s.need == nil || !s.need.whole) && !s.re.Match(text) {
			continue
		}
		s.matches++
		switch s.q.mode {
		case modeFiles:
			s.done = true
			return
		case modeContent:
			s.between(content[shown:start])
			s.line++
			s.add(s.found, record{file: s.rel, line: s.line, isMatch: true}, text)
			s.after, shown = s.q.after, at
		}
	}
	if s.q.mode == modeContent {
		s.rest(content[shown:], last)
	}
}

// close reports what is known at the end only.
func (s *lines) close() {
	if s.matches > 0 && s.q.mode != modeContent {
		n := s.matches
		if s.q.mode == modeFiles {
			n = 1
		}
		s.add(s.found, record{file: s.rel, matches: n}, nil)
	}
}

// around shows the lines that follow the last match, as far as they are wanted.
func (s *lines) around(region []byte) []byte {
	for s.after > 0 && len(region) > 0 {
		var text []byte
		text, region = cutLine(region)
		s.after--
		s.show(text)
	}
	return region
}

func (s *lines) show(text []byte) {
	s.line++
	s.add(s.found, record{file: s.rel, line: s.line}, text)
}

// between shows what is wanted of the lines before a match.
func (s *lines) between(region []byte) {
	if s.after > 0 && len(region) > 0 {
		s.held = s.held[:0]
		region = s.around(region)
	}
	from, have := lastLines(region, s.q.before)
	if missing := s.q.before - have; missing > 0 && from == 0 {
		for _, h := range s.held[max(0, len(s.held)-missing):] {
			s.add(s.found, record{file: s.rel, line: h.n}, h.text)
		}
	}
	s.held = s.held[:0]
	s.line += bytes.Count(region[:from], []byte{'\n'})
	for region = region[from:]; len(region) > 0; {
		var text []byte
		text, region = cutLine(region)
		s.show(text)
	}
}

// rest is what follows the last match of a part.
func (s *lines) rest(region []byte, last bool) {
	if s.after > 0 && len(region) > 0 {
		s.held = s.held[:0]
	}
	region = s.around(region)
	if last {
		return
	}
	from, have := lastLines(region, s.q.before)
	s.line += bytes.Count(region[:from], []byte{'\n'})
	s.held = append(s.held[:0], s.held[max(0, len(s.held)-(s.q.before-have)):]...)
	for region = region[from:]; len(region) > 0; {
		var text []byte
		text, region = cutLine(region)
		s.line++
		s.held = append(s.held, heldLine{s.line, bytes.Clone(text[:min(len(text), keptOfLine)])})
	}
}

// lastLines finds where the last n lines begin, and how many there are.
func lastLines(region []byte, n int) (from, have int) {
	from = len(region)
	for have < n && from > 0 {
		from = bytes.LastIndexByte(region[:from-1], '\n') + 1
		have++
	}
	return from, have
}

// whole lets matches run over lines; every line that one touches is a hit.
func (w *worker) whole(rel string, content []byte, found *haul) {
	if w.finder != nil {
		w.finder.reset(content)
		if _, ok := w.finder.next(0); !ok {
			return
		}
	}
	most := -1
	if w.q.mode == modeFiles {
		most = 1
	}
	spans := w.re.FindAllIndex(content, most)
	// An empty match after the last line is on no line.
	for n := len(spans); n > 0 && spans[n-1][0] == len(content); n = len(spans) {
		spans = spans[:n-1]
	}
	if len(spans) == 0 {
		return
	}
	switch w.q.mode {
	case modeFiles:
		w.add(found, record{file: rel, matches: 1}, nil)
		return
	case modeCount:
		w.add(found, record{file: rel, matches: len(spans)}, nil)
		return
	}
	s := lines{worker: w, rel: rel, found: found}
	shown := 0
	for at := 0; at < len(content) && len(spans) > 0; {
		from := at
		var text, rest []byte
		if spans[0][0] > from {
			from += bytes.LastIndexByte(content[from:spans[0][0]], '\n') + 1
		}
		text, rest = cutLine(content[from:])
		at = len(content) - len(rest)
		for len(spans) > 0 && spans[0][1] <= from && spans[0][0] < from {
			spans = spans[1:]
		}
		if len(spans) == 0 || spans[0][0] >= at {
			continue
		}
		s.between(content[shown:from])
		s.line++
		s.add(found, record{file: rel, line: s.line, isMatch: true}, text)
		s.after, shown = w.q.after, at
		for len(spans) > 0 && spans[0][1] <= at && spans[0][0] < at {
			spans = spans[1:]
		}
	}
	s.rest(content[shown:], true)
}

// cutLine splits off the first line, without its ending.
func cutLine(content []byte) (line, rest []byte) {
	i := bytes.IndexByte(content, '\n')
	if i < 0 {
		return content, nil
	}
	return bytes.TrimSuffix(content[:i], []byte{'\r'}), content[i+1:]
}

// utf16Order are the places of the low and the high byte in each unit of UTF-16 that has a
// byte order mark; nil for other text.
func utf16Order(b []byte) []int {
	switch {
	case len(b) >= 2 && b[0] == 0xff && b[1] == 0xfe:
		return []int{0, 1}
	case len(b) >= 2 && b[0] == 0xfe && b[1] == 0xff:
		return []int{1, 0}
	}
	return nil
}

// decodeUTF16 turns UTF-16 with a byte order mark into UTF-8.
func decodeUTF16(b []byte) []byte {
	order := utf16Order(b)
	if order == nil {
		return b
	}
	units := make([]uint16, 0, len(b)/2)
	for i := 2; i+1 < len(b); i += 2 {
		units = append(units, uint16(b[i+order[0]])|uint16(b[i+order[1]])<<8)
	}
	out := make([]byte, 0, len(b))
	for _, r := range utf16.Decode(units) {
		out = utf8.AppendRune(out, r)
	}
	return out
}
