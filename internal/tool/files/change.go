package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// change is one file on its way from one content to the next. It exists only while the
// file's lock is held.
type change struct {
	env  tool.Env
	name string      // for messages
	path string      // where the file really is
	old  []byte      // its content
	info os.FileInfo // nil: there is no such file
}

// refused is an answer to the model that ends a change before anything was written.
type refused struct{ tool.Output }

func (r refused) Error() string { return troupe.JoinText(r.Blocks) }

func refuse(format string, args ...any) error { return refused{tool.Errorf(format, args...)} }

// withFile runs fn while no other agent of this process changes the file. touched is what
// the call declared: if the path leads elsewhere by now, nothing happens.
func withFile(ctx context.Context, env tool.Env, l *locks, path string, touched []string, fn func(*change) (tool.Output, error)) (tool.Output, error) {
	real := touched[len(touched)-1]
	unlock, err := l.lock(ctx, real)
	if err != nil {
		return tool.Output{}, err
	}
	defer unlock()
	c, err := look(env, path, real)
	var out tool.Output
	if err == nil {
		out, err = fn(c)
	}
	var r refused
	if errors.As(err, &r) {
		return r.Output, nil
	}
	return out, err
}

// look reads what stands at path, which led to real when the call was judged.
func look(env tool.Env, path, real string) (*change, error) {
	if tool.Resolve(path) != real {
		return nil, refused{moved(env, path)}
	}
	c := &change{env: env, name: env.Rel(path), path: real}
	var err error
	if c.old, c.info, err = readAll(real); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, refused{explain(env, path, err)}
	}
	return c, nil
}

// checkSeen refuses unless the session knows the content it is about to replace.
func (c *change) checkSeen(path string) error {
	var hash string
	ok := false
	if c.env.Seen != nil {
		if hash, ok = c.env.Seen(c.path); !ok {
			hash, ok = c.env.Seen(path)
		}
	}
	switch {
	case !ok:
		return refuse("%s was not changed: it exists and has not been read. Read it first.", c.name)
	case hash != tool.Hash(c.old):
		return refuse("%s was not changed: its content is not what was last read or written here; another agent, a command or a person has changed it. Read it again.", c.name)
	default:
		return nil
	}
}

// commit makes content the file's content, in one step.
func (c *change) commit(content []byte) (troupe.FileTouch, error) {
	touch := troupe.FileTouch{Path: c.path, Hash: tool.Hash(content), Wrote: true, New: c.info == nil}
	touch.Added, touch.Removed = countLines(string(c.old), string(content))
	if err := c.writable(); err != nil {
		return touch, err
	}
	if err := c.keep(&touch); err != nil {
		return touch, err
	}
	temp, err := c.writeTemp(content)
	if err != nil {
		return touch, c.failed(err)
	}
	if c.info == nil {
		err = c.publishNew(temp)
	} else {
		err = c.publish(temp)
	}
	if err != nil {
		return touch, errors.Join(err, ignoreMissing(os.Remove(temp)))
	}
	return touch, nil
}

// keep has the old content kept before it is lost. What cannot be undone is not done.
func (c *change) keep(touch *troupe.FileTouch) error {
	if c.info == nil || c.env.Keep == nil {
		return nil
	}
	var err error
	if touch.Before, err = c.env.Keep(c.old); err != nil {
		return refuse("%s was not changed: what it holds could not be kept for undo first (%v). Tell the user; writing it another way would lose it.", c.name, err)
	}
	return nil
}

// writable makes the folder of a new file, and asks the system about an existing one:
// putting another file in its place would need no permission to write it.
func (c *change) writable() error {
	if c.info == nil {
		if err := os.MkdirAll(filepath.Dir(c.path), 0o777); err != nil {
			return c.failed(err)
		}
		return nil
	}
	f, err := os.OpenFile(c.path, os.O_WRONLY|nonblock, 0)
	if err != nil {
		return c.failed(err)
	}
	return f.Close()
}

// writeTemp writes content to a file of its own in the same folder.
func (c *change) writeTemp(content []byte) (name string, err error) {
	var f *os.File
	for range 100 {
		name = filepath.Join(filepath.Dir(c.path), ".troupe-"+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
		f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // as any new file, less the umask
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err == nil && c.info != nil {
		keepOwner(f, c.info)
		err = f.Chmod(c.info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync() // else a power cut could leave the new name with no content
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, ignoreMissing(os.Remove(name)))
	}
	return name, nil
}

// publish puts temp in the place of the file, if that is still what it was.
func (c *change) publish(temp string) error {
	now, _, err := readAll(c.path)
	if err != nil || string(now) != string(c.old) {
		return refuse("%s was not changed: something else wrote it at the same moment. Read it again.", c.name)
	}
	if err := os.Rename(temp, c.path); err != nil {
		return c.failed(err)
	}
	return nil
}

// publishNew gives temp its name, and takes no existing file's place.
func (c *change) publishNew(temp string) error {
	if err := os.Link(temp, c.path); err == nil {
		_ = os.Remove(temp) // the file is there; a second name for it is only untidy
		return nil
	}
	if _, lerr := os.Lstat(c.path); lerr == nil {
		return refuse("%s was not written: something else has just made it. Read it first.", c.name)
	}
	if err := os.Rename(temp, c.path); err != nil { // a file system without hard links
		return c.failed(err)
	}
	return nil
}

// failed words an error of the file system for the model.
func (c *change) failed(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.Is(err, fs.ErrPermission):
		return refuse("%s was not changed: permission denied.", c.name)
	case errors.As(err, &pe):
		return refuse("%s was not changed: %s: %v.", c.name, c.env.Rel(pe.Path), pe.Err)
	case errors.As(err, &le):
		return refuse("%s was not changed: %v.", c.name, le.Err)
	default:
		return fmt.Errorf("write %s: %w", c.path, err)
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// countLines says how many lines a change adds and removes.
func countLines(before, after string) (added, removed int) {
	if before == "" || after == "" {
		return lineCount(after), lineCount(before)
	}
	_, before, after = middle(before, after) // most changes are small, whatever the file
	for _, e := range udiff.Lines(before, after) {
		added += lineCount(e.New)
		removed += lineCount(before[e.Start:e.End])
	}
	return added, removed
}

func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && s[len(s)-1] != '\n' {
		n++
	}
	return n
}
