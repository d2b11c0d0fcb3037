// Package change is how tools change a file: Write, Edit and NotebookEdit differ only in how
// they come to the next content.
//
// The file must be the one that was judged (see package safefile), and hold what the session
// last saw. Within the process, comparing and writing happen under a lock per file, so that
// of two agents that change one file at once neither loses work: the second sees a file that
// has changed and is told so. Against other processes the content is compared once more just
// before the new file takes the place of the old one, in one step. Locks are held for the
// length of one small write, and waiting for one ends with the call's context.
//
// What a change replaces is handed to tool.Env.Keep first, and the change is refused if that
// fails. A process that dies while writing leaves the old file or the new one, never a
// mixture; at worst a file named .troupe-*.tmp stays beside it, until the next run in that folder.
package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

// Target is the file that a call declared it would change.
type Target struct {
	Path string // as it was asked for, absolute
	// Touched is what tool.Touched said of it when the call was judged.
	Touched []string
}

// NewTarget looks where a path leads.
func NewTarget(path string) Target { return Target{Path: path, Touched: tool.Touched(path)} }

// Real is where the path led.
func (t Target) Real() string { return t.Touched[len(t.Touched)-1] }

// Absent reports whether there was no file where the path led.
func (t Target) Absent() bool {
	_, err := os.Lstat(t.Real())
	return errors.Is(err, fs.ErrNotExist)
}

// File is a file on its way from one content to the next. It exists only while its lock is
// held, or for a preview.
type File struct {
	Name string // for messages
	Old  []byte // its content

	env    tool.Env
	target Target
	folder *safefile.Folder // nil: there is no such folder
	base   string           // its name in the folder
	info   os.FileInfo      // nil: there is no such file
}

// refused is an answer to the model that ends a change before anything was written.
type refused struct{ tool.Output }

func (r refused) Error() string { return troupe.JoinText(r.Blocks) }

// Refuse is an error that is told to the model, and ends a change before it happens.
func Refuse(format string, args ...any) error { return refused{tool.Errorf(format, args...)} }

// Do runs fn while no other agent of this process changes the file.
func Do(ctx context.Context, env tool.Env, l *tool.Locks, t Target, fn func(*File) (tool.Output, error)) (tool.Output,
	error) {
	unlock, err := l.Lock(ctx, t.Real())
	if err != nil {
		return tool.Output{}, err
	}
	defer unlock()
	f, err := look(env, t)
	var out tool.Output
	if err == nil {
		defer f.close()
		out, err = fn(f)
	}
	var r refused
	if errors.As(err, &r) {
		return r.Output, nil
	}
	return out, err
}

// look reads what stands at the place that was judged.
func look(env tool.Env, t Target) (*File, error) {
	if tool.Resolve(t.Path) != t.Real() {
		return nil, refused{moved(env, t.Path)}
	}
	f := &File{env: env, Name: env.Rel(t.Path), target: t}
	dir, base := safefile.Split(t.Real())
	f.base = base
	var err error
	if f.folder, err = safefile.OpenFolder(dir); err == nil {
		f.Old, f.info, err = f.folder.ReadAll(base)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.close()
		return nil, refused{Explain(env, t, err)}
	}
	return f, nil
}

func (f *File) close() {
	if f.folder != nil {
		_ = f.folder.Close() // only a handle
	}
}

// Exists reports whether there is such a file.
func (f *File) Exists() bool { return f.info != nil }

// CheckSeen refuses unless the session knows the content it is about to replace.
func (f *File) CheckSeen() error {
	hash, ok := f.seen()
	switch {
	case !f.Exists():
		return refused{Explain(f.env, f.target, fs.ErrNotExist)}
	case !ok:
		return Refuse("%s was not changed: it exists and has not been read. Read it first.", f.Name)
	case hash != tool.Hash(f.Old):
		return Refuse("%s was not changed: its content is not what was last read or written here; another agent, a "+
			"command or a person has changed it. Read it again.", f.Name)
	default:
		return nil
	}
}

// seen is the hash of what the session last read from or wrote to the file.
func (f *File) seen() (hash string, ok bool) {
	if f.env.Seen == nil {
		return "", false
	}
	if hash, ok = f.env.Seen(f.target.Real()); !ok {
		hash, ok = f.env.Seen(f.target.Path)
	}
	return hash, ok
}

// Commit makes content the file's content, in one step.
func (f *File) Commit(content []byte) (troupe.FileTouch, error) {
	touch := troupe.FileTouch{Path: f.target.Real(), Hash: tool.Hash(content), Wrote: true, New: !f.Exists()}
	touch.Added, touch.Removed = CountLines(string(f.Old), string(content))
	if f.env.Check != nil {
		if err := f.env.Check(f.target.Real(), content); err != nil {
			return touch, Refuse("%s was not changed: %v.", f.Name, err)
		}
	}
	if err := f.writable(); err != nil {
		return touch, f.failed(err)
	}
	if err := f.keep(&touch); err != nil {
		return touch, err
	}
	temp, err := f.folder.Temp(content, f.info)
	if err != nil {
		return touch, f.failed(err)
	}
	if err = f.folder.Check(); err == nil {
		err = f.publish(temp)
	}
	if err != nil {
		return touch, errors.Join(f.failed(err), f.folder.Drop(temp))
	}
	return touch, nil
}

// keep has the old content kept before it is lost. What cannot be undone is not done.
func (f *File) keep(touch *troupe.FileTouch) error {
	if !f.Exists() || f.env.Keep == nil {
		return nil
	}
	var err error
	if touch.Before, err = f.env.Keep(f.Old); err != nil {
		return Refuse("%s was not changed: what it holds could not be kept for undo first (%v). Tell the user; "+
			"writing it another way would lose it.", f.Name, err)
	}
	return nil
}

// writable makes the folder of a new file, and asks the system about an existing one.
func (f *File) writable() (err error) {
	if f.folder == nil {
		if cwd := f.env.Cwd; troupe.Within(f.target.Real(), tool.Resolve(cwd)) {
			// Made again for this file alone it would be taken for the folder that it was.
			if _, err := os.Lstat(cwd); errors.Is(err, fs.ErrNotExist) {
				return Refuse("%s was not written: the folder that you work in, %s, is not there any more; something "+
					"has removed or moved it. A folder of your own is made again, as it was saved last, before your "+
					"next calls: look what is there then.", f.Name, cwd)
			}
		}
		dir, _ := safefile.Split(f.target.Real())
		f.folder, err = safefile.MakeFolder(dir)
		return err
	}
	if !f.Exists() {
		return nil
	}
	return f.folder.Writable(f.base)
}

// publish puts temp in the place of the file, if that is still what it was.
func (f *File) publish(temp string) error {
	if !f.Exists() {
		err := f.folder.Add(temp, f.base)
		if errors.Is(err, fs.ErrExist) {
			return Refuse("%s was not written: something else has just made it. Read it first.", f.Name)
		}
		return err
	}
	now, _, err := f.folder.ReadAll(f.base)
	switch {
	case errors.Is(err, safefile.ErrMoved):
		return err
	case err != nil || string(now) != string(f.Old):
		return Refuse("%s was not changed: something else wrote it at the same moment. Read it again.", f.Name)
	}
	return f.folder.Replace(temp, f.base)
}

// failed words an error of the file system for the model.
func (f *File) failed(err error) error {
	var r refused
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &r):
		return err
	case errors.Is(err, safefile.ErrMoved):
		return refused{moved(f.env, f.target.Path)}
	case errors.Is(err, fs.ErrPermission):
		return Refuse("%s was not changed: permission denied.", f.Name)
	case errors.As(err, &pe):
		return Refuse("%s was not changed: %s: %v.", f.Name, f.env.Rel(pe.Path), pe.Err)
	case errors.As(err, &le):
		return Refuse("%s was not changed: %v.", f.Name, le.Err)
	default:
		return fmt.Errorf("write %s: %w", f.target.Real(), err)
	}
}

// CountLines says how many lines a change adds and removes.
func CountLines(before, after string) (added, removed int) {
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

// Wrote is the result of a change that happened.
func Wrote(touch troupe.FileTouch, text string) tool.Output {
	return tool.Output{
		Blocks:   []troupe.Block{troupe.Text(text)},
		Evidence: troupe.Evidence{Files: []troupe.FileTouch{touch}},
	}
}
