package pages

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// Tear is a damaged place in a write-ahead log behind which commits stand that had reached the disk. SQLite takes all
// behind such a place for never written.
type Tear struct {
	At      int64 // of the damaged frame; 0 is the log's header
	Commits int   // that cannot be read any more; 0: the log is whole
}

// FindTear looks at the log of a database. The end of a log that a crash cut short is none: each commit is on the disk
// before the next is written, so a commit was lost only if something of this log follows it.
func FindTear(path string, size int) (t Tear, err error) {
	f, err := os.Open(path + "-wal")
	if errors.Is(err, os.ErrNotExist) {
		return t, nil
	} else if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head, again := make([]byte, logHeader), make([]byte, logHeader)
	if _, err := f.ReadAt(head, 0); err != nil {
		return t, ended(err)
	}
	if int(binary.BigEndian.Uint32(head[8:])) != size {
		return t, nil // another program's, or too damaged to tell
	}
	if t, err = findTear(f, head, size); err != nil || t.Commits == 0 {
		return t, err
	}
	if _, err := f.ReadAt(again, 0); err != nil || string(again) != string(head) {
		return Tear{}, ended(err) // another process has begun it anew meanwhile
	}
	return t, nil
}

// ended is an error that is not the end of the file.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// findTear follows the frames as far as their sums agree, and looks behind that for others with the log's salts.
func findTear(log io.ReaderAt, head []byte, size int) (t Tear, err error) {
	sum, whole := logSum(head, size)
	salts := string(head[16:24])
	frame := make([]byte, frameHeader+size)
	if !whole {
		if _, err := log.ReadAt(frame, logHeader); err != nil {
			return t, ended(err)
		}
		salts = string(frame[8:16])
	}
	commits := 0
	for at := int64(logHeader); ; at += int64(len(frame)) {
		part := frame
		if !whole {
			part = frame[:frameHeader]
		}
		if _, err := log.ReadAt(part, at); err != nil {
			return t, ended(err)
		}
		if whole {
			sum.add(frame[:8])
			sum.add(frame[frameHeader:])
			if string(frame[8:16]) == salts && sum.is(frame[16:]) {
				continue
			}
			whole, t.At = false, at
		}
		if string(frame[8:16]) != salts {
			continue
		}
		t.Commits = commits // those before this frame were complete
		if binary.BigEndian.Uint32(frame[4:]) > 0 {
			commits++
		}
	}
}
