// Package pages reads a SQLite file page by page, without SQLite and without trusting any of it: what a
// damaged file still holds. It follows no tree, so that a page that is lost loses its own rows and no
// others. What it reads is https://sqlite.org/fileformat2.html.
//
// It never writes. The time that it takes grows with the size of the file, whatever stands in it.
package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// File is a database and its write-ahead log, as they stand.
type File struct {
	f, wal *os.File
	size   int              // of a page
	count  uint32           // of pages
	logged map[uint32]int64 // where in the log the newest committed version of a page is
	free   map[uint32]bool
}

// Open opens a database and the log beside it. size is how large its pages are, whatever its header says.
func Open(path string, size int) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	p := &File{f: f, size: size, logged: map[uint32]int64{}, free: map[uint32]bool{}}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.count = uint32(min((info.Size()+int64(size)-1)/int64(size), 1<<32-2))
	if p.wal, err = os.Open(path + "-wal"); err != nil {
		p.wal = nil
		if !errors.Is(err, os.ErrNotExist) {
			return nil, errors.Join(err, p.Close())
		}
	} else if err := p.readLog(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.findFree()
	return p, nil
}

// Close closes what Open opened.
func (p *File) Close() error {
	err := p.f.Close()
	if p.wal != nil {
		err = errors.Join(err, p.wal.Close())
	}
	return err
}

// Count is how many pages there are.
func (p *File) Count() uint32 { return p.count }

// page reads a page into buf; what the file does not have of it is zero.
func (p *File) page(n uint32, buf []byte) error {
	clear(buf)
	if n == 0 || n > p.count {
		return fmt.Errorf("there is no page %d", n)
	}
	f, at := p.f, int64(n-1)*int64(p.size)
	if off, ok := p.logged[n]; ok {
		f, at = p.wal, off
	}
	if _, err := f.ReadAt(buf, at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// Of the log: its header, and the header of each frame.
const (
	logHeader   = 32
	frameHeader = 24
	logMagic    = 0x377f0682 // the lowest bit says whether its sums are big-endian
)

// readLog finds the newest committed version of each page in the log. It ends where the log's sums do
// not agree any more, as SQLite does: what stands behind is old or was never committed.
func (p *File) readLog() error {
	head := make([]byte, logHeader)
	if _, err := p.wal.ReadAt(head, 0); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return err
	}
	sum, ok := logSum(head, p.size)
	if !ok {
		return nil
	}
	frame := make([]byte, frameHeader+p.size)
	open := map[uint32]int64{} // frames that no commit has followed yet
	for at := int64(logHeader); ; at += int64(len(frame)) {
		if _, err := p.wal.ReadAt(frame, at); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		sum.add(frame[:8])
		sum.add(frame[frameHeader:])
		if string(frame[8:16]) != string(head[16:24]) || !sum.is(frame[16:]) {
			return nil
		}
		open[binary.BigEndian.Uint32(frame)] = at + frameHeader
		if pages := binary.BigEndian.Uint32(frame[4:]); pages > 0 {
			for n, at := range open {
				p.logged[n] = at
			}
			clear(open)
			p.count = pages
		}
	}
}

// logSum begins the running sum of a log by its header; ok is false if that is damaged, or for other pages.
func logSum(head []byte, size int) (sum checksum, ok bool) {
	magic := binary.BigEndian.Uint32(head)
	sum.order = binary.LittleEndian
	if magic&1 != 0 {
		sum.order = binary.BigEndian
	}
	sum.add(head[:24])
	return sum, magic&^1 == logMagic && int(binary.BigEndian.Uint32(head[8:])) == size && sum.is(head[24:])
}

// checksum is the running sum of a log.
type checksum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func (c *checksum) add(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		c.s0 += c.order.Uint32(b) + c.s1
		c.s1 += c.order.Uint32(b[4:]) + c.s0
	}
}

func (c *checksum) is(b []byte) bool {
	return binary.BigEndian.Uint32(b) == c.s0 && binary.BigEndian.Uint32(b[4:]) == c.s1
}

// findFree follows the list of unused pages: they may hold rows that were removed. A list of another
// length than the file says is damaged itself, and might name pages that are in use.
func (p *File) findFree() {
	buf := make([]byte, p.size)
	if p.page(1, buf) != nil || string(buf[:16]) != "SQLite format 3\x00" {
		return
	}
	free, said := map[uint32]bool{}, int(binary.BigEndian.Uint32(buf[36:]))
	for trunk := binary.BigEndian.Uint32(buf[32:]); trunk != 0 && !free[trunk]; {
		if p.page(trunk, buf) != nil {
			return
		}
		free[trunk] = true
		for i := range min(int(binary.BigEndian.Uint32(buf[4:])), p.size/4-2) {
			free[binary.BigEndian.Uint32(buf[8+4*i:])] = true
		}
		trunk = binary.BigEndian.Uint32(buf)
	}
	if len(free) == said {
		p.free = free
	}
}
