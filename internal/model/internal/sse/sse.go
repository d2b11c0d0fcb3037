// Package sse reads server-sent events as model services send them: the data of each, in
// any of the forms the standard allows and without need of event names, because the data
// says what it is.
//
// A Reader belongs to one goroutine. It holds one buffer, which grows with the longest
// line and is bounded by Limit; nothing is read ahead of what has been asked for but the
// rest of that buffer.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge is how a stream ends that has gone beyond its limit.
var ErrTooLarge = errors.New("the reply is larger than any reply should be")

// Reader reads the data of events, with any line ending. The data it returns is only good
// until the next call.
type Reader struct {
	Src    io.Reader
	Buf    []byte // not empty; its length is its capacity for reading
	Limit  int    // bytes of the whole stream
	OnRead func() // called when bytes have come

	start, end int // unread bytes in Buf
	total      int
	afterCR    bool   // the last line ended in CR: a LF that comes now belongs to it
	joined     []byte // data of an event that has several lines of it
	err        error
}

// Next returns the data of the next event that has any, or why there is none: io.EOF if
// the stream just ended. What an event had when the stream ended is dropped, as the
// standard has it.
func (s *Reader) Next() ([]byte, error) {
	lines := 0
	s.joined = s.joined[:0]
	var held []byte // the data of a single line, still in Buf
	for {
		line, err := s.line(&held)
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			switch lines {
			case 0:
				continue
			case 1:
				return held, nil
			default:
				return s.joined, nil
			}
		}
		data, ok := dataField(line)
		if !ok {
			continue
		}
		if lines++; lines == 1 {
			held = data
			continue
		}
		if lines == 2 {
			s.joined = append(s.joined, held...)
			held = nil
		}
		s.joined = append(append(s.joined, '\n'), data...)
	}
}

// dataField is the value of a data line. Comments, and fields that say nothing here
// (event, id, retry), are no data.
func dataField(line []byte) ([]byte, bool) {
	line = bytes.TrimPrefix(line, []byte("\ufeff")) // may stand at the very beginning
	rest, ok := bytes.CutPrefix(line, []byte("data"))
	if !ok {
		return nil, false
	}
	if len(rest) == 0 {
		return rest, true
	}
	if rest[0] != ':' {
		return nil, false
	}
	rest = rest[1:]
	if len(rest) > 0 && rest[0] == ' ' {
		rest = rest[1:]
	}
	return rest, true
}

// line returns the next line without its ending. held points into Buf and is moved along
// when the buffer is.
func (s *Reader) line(held *[]byte) ([]byte, error) {
	scanned := s.start
	for {
		if s.afterCR && s.start < s.end {
			s.afterCR = false
			if s.Buf[s.start] == '\n' {
				s.start++
				scanned = s.start
			}
		}
		if i := lineEnd(s.Buf[scanned:s.end]); i >= 0 {
			at := scanned + i
			line := s.Buf[s.start:at]
			s.afterCR = s.Buf[at] == '\r'
			s.start = at + 1
			return line, nil
		}
		scanned = s.end
		if s.err != nil {
			return nil, s.err
		}
		moved := s.fill(held)
		scanned -= moved
	}
}

func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill reads more bytes behind those that are unread, and returns by how much it moved
// these down. A line that does not fit makes the buffer grow.
func (s *Reader) fill(held *[]byte) (moved int) {
	keep := s.start
	if len(*held) > 0 {
		// One data line waits for the blank line behind it; it is never far, so it is
		// simply copied out of the way.
		*held = bytes.Clone(*held)
	}
	if s.end == len(s.Buf) || keep == s.end {
		copy(s.Buf, s.Buf[keep:s.end])
		moved = keep
		s.start, s.end = 0, s.end-keep
		if s.end == len(s.Buf) {
			s.Buf = append(s.Buf, make([]byte, len(s.Buf))...)
			s.Buf = s.Buf[:cap(s.Buf)]
		}
	}
	n, err := s.Src.Read(s.Buf[s.end:])
	s.end += n
	s.total += n
	if n > 0 && s.OnRead != nil {
		s.OnRead()
	}
	switch {
	case err != nil:
		s.err = err
	case s.total > s.Limit:
		s.err = fmt.Errorf("%w (%d bytes)", ErrTooLarge, s.total)
	}
	return moved
}
