package pages

import (
	"encoding/binary"
	"math"
)

// Row is one row of a table. A column is nil, an int64, a float64, a string or a []byte; the bytes of
// both are the row's own.
type Row struct {
	// ID is its row number; 0 in a table without them.
	ID      int64
	Columns []any
}

// Kinds of page that hold rows: leaves of tables, and both kinds of page of an index, which is also how
// a table without row numbers is kept.
const (
	indexInner = 0x02
	indexLeaf  = 0x0a
	tableLeaf  = 0x0d
)

// headerOfFile is where the first page's own header begins.
const headerOfFile = 100

// Rows calls each for all that can be read as a row or an entry of an index, of the pages in use, in the
// order of the pages. damaged counts what claims to be one and cannot be read. An error is of the disk,
// or of each.
func (p *File) Rows(each func(Row) error) (damaged int, err error) {
	buf := make([]byte, p.size)
	for n := uint32(1); n <= p.count; n++ {
		if p.free[n] {
			continue
		}
		if err := p.page(n, buf); err != nil {
			damaged++ // a part of the disk that cannot be read; the rest may be
			continue
		}
		at := 0
		if n == 1 {
			at = headerOfFile
		}
		bad, err := p.rowsOf(buf, at, each)
		damaged += bad
		if err != nil {
			return damaged, err
		}
	}
	return damaged, nil
}

// rowsOf reads the rows of one page, whose header is at a place.
func (p *File) rowsOf(page []byte, at int, each func(Row) error) (damaged int, err error) {
	kind, cells, pointers := page[at], int(binary.BigEndian.Uint16(page[at+3:])), at+8
	switch kind {
	case tableLeaf, indexLeaf:
	case indexInner:
		pointers += 4
	default:
		return 0, nil
	}
	if pointers+2*cells > len(page) {
		return 1, nil // no page of rows: an overflow, or its header is damaged
	}
	for i := range cells {
		row, ok := p.cell(page, kind, int(binary.BigEndian.Uint16(page[pointers+2*i:])))
		if !ok {
			damaged++
			continue
		}
		if err := each(row); err != nil {
			return damaged, err
		}
	}
	return damaged, nil
}

// cell reads one row at a place of a page.
func (p *File) cell(page []byte, kind byte, at int) (r Row, ok bool) {
	if kind == indexInner {
		at += 4
	}
	if at < 8 || at >= len(page) {
		return r, false
	}
	rest := page[at:]
	length, n := varint(rest)
	if n == 0 || length < 2 || length > int64(p.count)*int64(p.size) {
		return r, false
	}
	rest = rest[n:]
	most, least := (p.size-12)*64/255-23, (p.size-12)*32/255-23
	if kind == tableLeaf {
		if r.ID, n = varint(rest); n == 0 {
			return r, false
		}
		rest, most = rest[n:], p.size-35
	}
	local := int(length)
	if local > most {
		if local = least + (local-least)%(p.size-4); local > most {
			local = least
		}
	}
	if local > len(rest) {
		return r, false
	}
	body := make([]byte, 0, length)
	body = append(body, rest[:local]...)
	if int64(local) < length {
		if len(rest) < local+4 {
			return r, false
		}
		if body, ok = p.overflow(body, binary.BigEndian.Uint32(rest[local:]), int(length)); !ok {
			return r, false
		}
	}
	r.Columns, ok = columns(body)
	return r, ok
}

// overflow adds what did not fit into a row's page. Each page of the chain brings bytes that are still
// missing, so it has an end even where it leads in a circle.
func (p *File) overflow(body []byte, next uint32, length int) ([]byte, bool) {
	buf := make([]byte, p.size)
	for len(body) < length {
		if p.free[next] || p.page(next, buf) != nil {
			return nil, false
		}
		next = binary.BigEndian.Uint32(buf)
		body = append(body, buf[4:4+min(p.size-4, length-len(body))]...)
	}
	return body, true
}

// columns takes a record apart.
func columns(body []byte) (out []any, ok bool) {
	size, n := varint(body)
	if n == 0 || size < int64(n) || size > int64(len(body)) {
		return nil, false
	}
	types, data := body[n:size], body[size:]
	for len(types) > 0 {
		t, n := varint(types)
		if n == 0 || t < 0 {
			return nil, false
		}
		types = types[n:]
		v, n, ok := column(t, data)
		if !ok {
			return nil, false
		}
		out, data = append(out, v), data[n:]
	}
	return out, len(data) == 0
}

// column reads one value of a type from the beginning of data, and tells how long it is.
func column(t int64, data []byte) (v any, n int, ok bool) {
	switch {
	case t == 0:
		return nil, 0, true
	case t == 8 || t == 9:
		return t - 8, 0, true
	case t >= 12:
		if (t-12)/2 > int64(len(data)) {
			return nil, 0, false
		}
		n = int((t - 12) / 2)
		if t%2 == 0 {
			return append([]byte{}, data[:n]...), n, true
		}
		return string(data[:n]), n, true
	case t == 10 || t == 11:
		return nil, 0, false
	}
	n = [...]int{0, 1, 2, 3, 4, 6, 8, 8}[t]
	if n > len(data) {
		return nil, 0, false
	}
	x := int64(int8(data[0])) // the first byte has the sign
	for _, b := range data[1:n] {
		x = x<<8 | int64(b)
	}
	if t == 7 {
		return math.Float64frombits(uint64(x)), n, true
	}
	return x, n, true
}

// varint reads a number of one to nine bytes; n is 0 if it has no end.
func varint(b []byte) (v int64, n int) {
	for i := range min(len(b), 8) {
		v = v<<7 | int64(b[i]&0x7f)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	if len(b) < 9 {
		return 0, 0
	}
	return v<<8 | int64(b[8]), 9
}
