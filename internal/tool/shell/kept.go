package shell

import (
	"bytes"
	"os"
)

const (
	maxLine   = 64 << 10 // the longest line that is masked as a whole
	maxSecret = 4 << 10  // the longest secret that is found in a line longer than that
)

// kept is a file that holds output. Secrets are taken out line by line, so that none is
// missed because it came in two pieces.
type kept struct {
	f    *os.File
	mask func(string) string
	rest []byte // the beginning of a line whose end has not come yet
}

func (k *kept) write(p []byte) error {
	if k.mask == nil {
		_, err := k.f.Write(p)
		return err
	}
	k.rest = append(k.rest, p...)
	whole := bytes.LastIndexByte(k.rest, '\n') + 1
	if whole == 0 && len(k.rest) < maxLine {
		return nil
	}
	if whole == 0 {
		whole = k.cut()
	}
	_, err := k.f.WriteString(k.mask(string(k.rest[:whole])))
	k.rest = append(k.rest[:0], k.rest[whole:]...)
	return err
}

// cut is where a line that is too long to wait for its end can be divided: where masking
// both parts is masking the whole, and so far from the end that a secret which has only
// begun lies behind it.
func (k *kept) cut() int {
	all := k.mask(string(k.rest))
	for at := len(k.rest) - maxSecret; at > len(k.rest)/2; at -= maxSecret / 4 {
		if k.mask(string(k.rest[:at]))+k.mask(string(k.rest[at:])) == all {
			return at
		}
	}
	return len(k.rest)
}

func (k *kept) close() error {
	var err error
	if len(k.rest) > 0 {
		_, err = k.f.WriteString(k.mask(string(k.rest)))
	}
	if cerr := k.f.Close(); err == nil {
		err = cerr
	}
	return err
}
