package front

import (
	"encoding/binary"
	"hash"
	"hash/crc32"
	"io"
	"strings"
)

// indexMagic begins each file of an index; another form of these has another number.
const indexMagic = "troupe index 1\n"

// indexHead is that, and a checksum of what follows.
const indexHead = len(indexMagic) + 4

// encodeIndex writes sections, for one reader and one list of sources.
func encodeIndex(reader, sources string, sections []section) []byte {
	e := encoder{make([]byte, indexHead)}
	e.text(reader)
	e.text(sources)
	e.number(len(sections))
	for _, s := range sections {
		e.number(len(s.folders))
		for path, l := range s.folders {
			e.text(path)
			e.stamp(l.stamp)
			e.number(len(l.names))
			for _, n := range l.names {
				e.text(n.name)
				e.flags(n.dir, n.link)
			}
		}
		e.number(len(s.files))
		for path, m := range s.files {
			e.text(path)
			e.stamp(m.stamp)
			e.number(m.size)
			e.text(m.code)
		}
	}
	copy(e.data, indexMagic)
	sum := checksum()
	_, _ = sum.Write(e.data[indexHead:]) // a hash takes all that it is given
	binary.LittleEndian.PutUint32(e.data[len(indexMagic):], sum.Sum32())
	return e.data
}

func checksum() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// decodeIndex reads what encodeIndex wrote for this reader and these sources; ok is false for all else. Its texts share
// one string.
func decodeIndex(in io.Reader, size int, reader, sources string) (out []section, ok bool) {
	head := make([]byte, indexHead)
	if _, err := io.ReadFull(in, head); err != nil || !strings.HasPrefix(string(head), indexMagic) {
		return nil, false
	}
	var text strings.Builder
	text.Grow(size - indexHead)
	sum := checksum()
	if n, err := io.CopyN(io.MultiWriter(&text, sum), in, int64(size-indexHead)); err != nil ||
		int(n) != size-indexHead ||
		sum.Sum32() != binary.LittleEndian.Uint32(head[len(indexMagic):]) {
		return nil, false
	}
	d := decoder{rest: text.String()}
	if d.text() != reader || d.text() != sources {
		return nil, false
	}
	for range d.count() {
		s := section{}
		n := d.count()
		s.folders = make(map[string]listing, n)
		for range n {
			path, l := d.text(), listing{stamp: d.stamp()}
			names := d.count()
			l.names = make([]named, 0, names)
			for range names {
				n := named{name: d.text()}
				n.dir, n.link = d.flags()
				l.names = append(l.names, n)
			}
			s.folders[path] = l
		}
		n = d.count()
		s.files = make(map[string]*made, n)
		all := make([]made, n)
		for i := range all {
			path := d.text()
			all[i] = made{stamp: d.stamp(), size: d.number(), code: d.text()}
			s.files[path] = &all[i]
		}
		out = append(out, s)
	}
	return out, !d.bad && d.rest == ""
}

// encodeMade writes what Parse has made of a file.
func encodeMade(doc Document, problem *Problem) []byte {
	var e encoder
	e.flags(problem != nil, doc.Marked)
	if problem != nil {
		e.problem(*problem)
		return e.data
	}
	e.number(doc.Line)
	e.text(doc.Body)
	e.fields(doc.Fields)
	e.fields(doc.Loose)
	e.size(len(doc.Notes), doc.Notes == nil)
	for _, n := range doc.Notes {
		e.problem(n)
	}
	return e.data
}

// decode reads it again.
func (m *made) decode() bool {
	d := decoder{rest: m.code}
	failed, marked := d.flags()
	if failed {
		p := d.problem()
		m.err = &p
	} else {
		m.doc = Document{Marked: marked, Line: d.number(), Body: d.text(), Fields: d.fields(), Loose: d.fields()}
		if n, none := d.size(); !none {
			m.doc.Notes = make([]Problem, 0, n)
			for range n {
				m.doc.Notes = append(m.doc.Notes, d.problem())
			}
		}
	}
	return !d.bad && d.rest == ""
}

type encoder struct{ data []byte }

func (e *encoder) number(n int) { e.data = binary.AppendVarint(e.data, int64(n)) }

func (e *encoder) text(s string) {
	e.number(len(s))
	e.data = append(e.data, s...)
}

func (e *encoder) stamp(s stamp) {
	for _, n := range s {
		e.data = binary.LittleEndian.AppendUint64(e.data, uint64(n))
	}
}

func (e *encoder) flags(a, b bool) {
	flags := byte(0)
	if a {
		flags |= 1
	}
	if b {
		flags |= 2
	}
	e.data = append(e.data, flags)
}

// size is the length of a list; one that is nil is another one than one without items.
func (e *encoder) size(n int, none bool) {
	if none {
		n = -1
	}
	e.number(n)
}

func (e *encoder) problem(p Problem) {
	e.number(p.Line)
	e.text(p.Text)
}

func (e *encoder) fields(list []Field) {
	e.size(len(list), list == nil)
	for _, f := range list {
		e.text(f.Key)
		e.number(f.Line)
		e.number(int(f.Value.Kind))
		e.text(f.Value.Text)
		e.size(len(f.Value.List), f.Value.List == nil)
		for _, s := range f.Value.List {
			e.text(s)
		}
		e.size(len(f.Value.JSON), f.Value.JSON == nil)
		e.data = append(e.data, f.Value.JSON...)
	}
}

// decoder reads what an encoder wrote. Once something is not as it should be, bad is set, and all that follows is
// empty.
type decoder struct {
	rest string
	bad  bool
}

func (d *decoder) fail() {
	d.bad, d.rest = true, ""
}

// varintBytes is the most that a number takes.
const varintBytes = binary.MaxVarintLen64

func (d *decoder) number() int {
	head := d.rest[:min(len(d.rest), varintBytes)]
	n, size := binary.Varint([]byte(head))
	if size <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[size:]
	return int(n)
}

// count is how many things follow, each of a byte at least.
func (d *decoder) count() int {
	n := d.number()
	if n < 0 || n > len(d.rest) {
		d.fail()
		return 0
	}
	return n
}

func (d *decoder) size() (n int, none bool) {
	if n = d.number(); n == -1 {
		return 0, true
	}
	if n < 0 || n > len(d.rest) {
		d.fail()
		return 0, true
	}
	return n, false
}

func (d *decoder) take(n int) string {
	if n > len(d.rest) {
		d.fail()
		return ""
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out
}

func (d *decoder) text() string { return d.take(d.count()) }

func (d *decoder) stamp() (s stamp) {
	data := d.take(8 * len(s))
	if d.bad {
		return s
	}
	for i := range s {
		s[i] = int64(binary.LittleEndian.Uint64([]byte(data[8*i : 8*i+8])))
	}
	return s
}

func (d *decoder) flags() (a, b bool) {
	if s := d.take(1); s != "" {
		return s[0]&1 != 0, s[0]&2 != 0
	}
	return false, false
}

func (d *decoder) problem() Problem { return Problem{Line: d.number(), Text: d.text()} }

func (d *decoder) fields() []Field {
	n, none := d.size()
	if none {
		return nil
	}
	out := make([]Field, 0, n)
	for range n {
		f := Field{Key: d.text(), Line: d.number()}
		f.Value = Value{Kind: Kind(d.number()), Text: d.text()}
		if n, none := d.size(); !none {
			f.Value.List = make([]string, 0, n)
			for range n {
				f.Value.List = append(f.Value.List, d.text())
			}
		}
		if n, none := d.size(); !none {
			f.Value.JSON = []byte(d.take(n))
		}
		out = append(out, f)
	}
	return out
}
