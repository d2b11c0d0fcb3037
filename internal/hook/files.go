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
	"path/filepath"
	"syscall"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// maxRead is what is read of a pipe or a device, which has no end of its own. Of a file all is.
const maxRead = 16 << 20

// Pin notes the files and folders of a project that a command runs, with what is in them: hooks run outside of the
// sandbox, so what an agent has written there must not become one. A file that is not there is noted as such.
func (h *Hook) Pin(folder string) {
	for _, name := range h.Names(folder) {
		if h.Files == nil {
			h.Files = map[string]string{}
		}
		h.Files[name], _ = Digest(name)
	}
}

// unchanged reports the first file that is not as it was.
func (h *Hook) unchanged() error {
	since, again := "since the run began", "; begin the run again to have it count as it is"
	if h.Event == troupe.HookStatus { // no run has it: it stays as it was while the process lives
		since, again = "since the status line was first shown", "; start Troupe again to have it count as it is"
	}
	for name, hash := range h.Files {
		now, err := Digest(name)
		missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		switch {
		case missing && hash == "": // and the command says so itself
		case missing:
			return fmt.Errorf("%s is gone %s, and an agent may have removed it%s", name, since, again)
		case err != nil:
			return fmt.Errorf("whether %s has changed %s cannot be told (%w), so it is not run", name, since, err)
		case now != hash:
			return fmt.Errorf("%s has changed %s, and an agent may have written it%s", name, since, again)
		}
	}
	return nil
}

// mostBelow is how many files of a folder are looked after, more than a tool of a project's own has.
const mostBelow = 2000

// Digest is a hash of what a command runs: of a file, or of all files in a folder. What programs keep there for
// themselves, when they run, is not in it: they check it, and agents do not write there.
func Digest(name string) (string, error) {
	f, err := os.OpenFile(name, disk.Flags, 0)
	if err != nil {
		return "", err
	}
	info, err := f.Stat()
	if err != nil || !info.IsDir() {
		return digest(f, info, err)
	}
	h, n := sha256.New(), 0
	err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "__pycache__":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if n++; n > mostBelow {
			return fmt.Errorf("it has more than %d files; name a file of it", mostBelow)
		}
		below, err := filepath.Rel(name, path)
		if err != nil {
			return err
		}
		var of string
		if info, serr := os.Stat(path); serr != nil || !info.Mode().IsRegular() {
			of, err = os.Readlink(path) // of a pipe or a socket the name counts
			if errors.Is(err, syscall.EINVAL) {
				err = nil
			}
		} else {
			of, err = Digest(path)
		}
		fmt.Fprintf(h, "%d %s %s\n", len(below), below, of)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

// digest is that of an open file, which it closes.
func digest(f *os.File, info fs.FileInfo, err error) (string, error) {
	h, most := sha256.New(), int64(maxRead)
	if err == nil && info.Mode().IsRegular() {
		most = math.MaxInt64
	}
	if err == nil {
		_, err = io.Copy(h, io.LimitReader(f, most))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
