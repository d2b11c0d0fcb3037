// Package files is the tools that read and change single files: Read, Write and Edit.
//
// A change is refused unless the file still has the content that the session last saw.
// Within the process, comparing and writing happen under a lock per file, so that of two
// agents that edit one file at once neither loses work: the second sees a file that has
// changed and is told so. Against other processes the content is compared once more just
// before the new file takes the place of the old one, in one step. Locks are held for the
// length of one small write, waiting for one ends with the call's context, and nothing here
// starts a goroutine that outlives its call.
//
// What a change replaces is handed to tool.Env.Keep first, and the change is refused if that
// fails. Stage is the way back: it gives a file an earlier content under the same rules.
//
// A process that dies while writing leaves the old file or the new one, never a mixture;
// at worst a file named .troupe-*.tmp stays beside it.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/tool"
)

// Options are what may differ from the default.
type Options struct {
	// LookPath finds helper programs (pdftotext); nil means exec.LookPath.
	LookPath func(name string) (string, error)
}

// New returns Read, Write and Edit. All agents of a process must share one set, because
// the locks that keep their edits apart are in it.
func New(o Options) []tool.Runner {
	if o.LookPath == nil {
		o.LookPath = exec.LookPath
	}
	l := newLocks()
	return []tool.Runner{&readTool{lookPath: o.LookPath}, &writeTool{locks: l}, &editTool{locks: l}}
}

// openTimeout bounds reading what is not on a disk (some files under /proc never end).
const openTimeout = 10 * time.Second

// open opens a regular file for reading, and nothing else: a pipe or a device could block
// for ever or do something by being opened. The error is worded for the model.
func open(path string) (*os.File, os.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = readable(info)
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	// Once more: what was looked at may have been replaced before it was opened.
	if info, err = f.Stat(); err == nil {
		err = readable(info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	_ = f.SetReadDeadline(time.Now().Add(openTimeout)) // regular files on disk do not support it, nor need it
	return f, info, nil
}

var (
	errFolder  = errors.New("is a folder")
	errSpecial = errors.New("is not a regular file")
)

func readable(info os.FileInfo) error {
	switch {
	case info.IsDir():
		return errFolder
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w but a %s", errSpecial, kindOf(info.Mode()))
	default:
		return nil
	}
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	default:
		return "special file"
	}
}

// maxWhole is the largest file that is held in memory as a whole.
const maxWhole = 32 << 20

// readAll reads a regular file of at most maxWhole bytes.
func readAll(path string) ([]byte, os.FileInfo, error) {
	f, info, err := open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	content, err := io.ReadAll(io.LimitReader(f, maxWhole+1))
	if err == nil && len(content) > maxWhole {
		err = fmt.Errorf("is larger than %s", tool.FormatBytes(maxWhole))
	}
	return content, info, err
}

// explain words an error of opening or reading path for the model.
func explain(env tool.Env, path string, err error) tool.Output {
	name := env.Rel(path)
	switch {
	case errors.Is(err, errFolder):
		return tool.Errorf("%s is a folder. Use Glob to see what is in it.", name)
	case errors.Is(err, fs.ErrNotExist):
		return missing(env, path)
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf("%s: permission denied.", name)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return tool.Errorf("%s: %v.", name, err)
}

// missing says that there is no such file, and names one that may have been meant.
func missing(env tool.Env, path string) tool.Output {
	name := env.Rel(path)
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return tool.Errorf("%s is a symbolic link to %s, which does not exist.", name, env.Rel(tool.Resolve(path)))
	}
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		for {
			up := filepath.Dir(dir)
			if _, err := os.Stat(up); err == nil || up == dir {
				break
			}
			dir = up
		}
		return tool.Errorf("%s does not exist: there is no folder %s. (The working folder is %s.)", name, env.Rel(dir), env.Cwd)
	}
	if near, ok := tool.Nearest(filepath.Base(path), names(env, dir)); ok {
		return tool.Errorf("%s does not exist. Did you mean %s?", name, env.Rel(filepath.Join(dir, near)))
	}
	return tool.Errorf("%s does not exist. (The working folder is %s.)", name, env.Cwd)
}

// names lists the first few hundred entries of a folder that may be read.
func names(env tool.Env, dir string) []string {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()                //nolint:errcheck // only read from
	list, _ := d.Readdirnames(500) // an error means a suggestion less
	return slices.DeleteFunc(list, func(name string) bool {
		return env.Hidden != nil && env.Hidden(filepath.Join(dir, name))
	})
}

// cleanText makes bytes fit for a model and for the log: broken UTF-8 and NUL are replaced.
func cleanText(b []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "\uFFFD")
}
