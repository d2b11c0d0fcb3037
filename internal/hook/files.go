package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"syscall"
)

// maxRead is what is read of a pipe or a device, which has no end of its own. Of a file all is.
const maxRead = 16 << 20

// Pin notes the files of a project that a command names, with what is in them: hooks run outside of the sandbox, so
// what an agent has written there must not become one. A file that is not there is noted as such.
func (h *Hook) Pin(folder string) {
	for _, name := range h.Names(folder) {
		if h.Files == nil {
			h.Files = map[string]string{}
		}
		h.Files[name], _ = digest(name)
	}
}

// unchanged reports the first file that is not as it was.
func (h *Hook) unchanged() error {
	for name, hash := range h.Files {
		now, err := digest(name)
		missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		if missing && hash == "" {
			continue // and the command says so itself
		}
		const again = "; begin the run again to have it count as it is"
		switch {
		case missing:
			return fmt.Errorf("%s is gone since the run began, and an agent may have removed it"+again, name)
		case err != nil:
			return fmt.Errorf("whether %s has changed since the run began cannot be told (%w), so it is not run", name,
				err)
		case now != hash:
			return fmt.Errorf("%s has changed since the run began, and an agent may have written it"+again, name)
		}
	}
	return nil
}

func digest(name string) (hash string, err error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	h, most := sha256.New(), int64(maxRead)
	if info.Mode().IsRegular() {
		most = math.MaxInt64
	}
	if _, err := io.Copy(h, io.LimitReader(f, most)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
