package shell

import (
	"bytes"
	"os"
)

// maxLine is the longest line that is masked as a whole.
const maxLine = 64 << 10

// kept is the file that holds a long output. Secrets are taken out line by line, so that
// none is missed because it came in two pieces.
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
		whole = len(k.rest)
	}
	_, err := k.f.WriteString(k.mask(string(k.rest[:whole])))
	k.rest = append(k.rest[:0], k.rest[whole:]...)
	return err
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
