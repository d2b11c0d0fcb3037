package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/change"
	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

// Why a file cannot be given another content.
var (
	// ErrChanged: it does not hold what it is said to hold.
	ErrChanged = errors.New("something else has changed it")
	// ErrPlace: at exactly this path there is something else, or the path leads elsewhere.
	ErrPlace = errors.New("no regular file is there")
	// ErrFolder: a folder is there. It is ErrPlace too.
	ErrFolder = safefile.ErrFolder
)

// Now reads what stands at an absolute path that was written before. Exists is false if nothing does. A path that leads
// elsewhere by now, or to anything but a regular file, is ErrPlace.
func Now(path string) (content []byte, exists bool, err error) {
	content, info, err := now(path)
	return content, info != nil, err
}

// now is Now; info is nil if nothing is there.
func now(path string) ([]byte, os.FileInfo, error) {
	dir, name := safefile.Split(path)
	folder, err := safefile.OpenFolder(dir)
	if err == nil {
		defer folder.Close() //nolint:errcheck // only a handle
		var content []byte
		var info os.FileInfo
		if content, info, err = folder.ReadAll(name); err == nil {
			return content, info, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	return nil, nil, misplaced(err)
}

// AsLink is by what a link is known in the place of content: the hash of where it leads, and that it is a link.
func AsLink(hash string) string { return linkPrefix + hash }

const linkPrefix = "link:"

// ContentOf is the hash of what is kept: of a link, of where it leads.
func ContentOf(hash string) (content string, link bool) { return strings.CutPrefix(hash, linkPrefix) }

// Found is what stands at a path. The zero value is: nothing.
type Found struct {
	Hash    string // AsLink of a link
	Content []byte // of a link, where it leads
	Mode    os.FileMode
}

// Look says what stands at exactly this path, a link as itself. Otherwise it is Now.
func Look(path string) (Found, error) {
	content, info, err := look(path)
	if err != nil || info == nil {
		return Found{}, err
	}
	return Found{hashOf(content, info), content, info.Mode()}, nil
}

// look is Look; info is nil if nothing is there.
func look(path string) ([]byte, os.FileInfo, error) {
	dir, name := safefile.Split(path)
	folder, err := safefile.OpenFolder(dir)
	if err == nil {
		to, info, lerr := folder.Link(name)
		if err = errors.Join(lerr, folder.Close()); err == nil && info != nil {
			return []byte(to), info, nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, misplaced(err)
	}
	return now(path)
}

// misplaced says that there is no such place any more, if that is what is wrong.
func misplaced(err error) error {
	switch {
	case errors.Is(err, safefile.ErrMoved):
		return fmt.Errorf("%w: the path leads elsewhere now", ErrPlace)
	case errors.Is(err, safefile.ErrFolder), errors.Is(err, safefile.ErrSpecial):
		return fmt.Errorf("%w: it %w", ErrPlace, err)
	}
	return err
}

// CountLines says how many lines a change of content adds and removes.
func CountLines(before, after []byte) (added, removed int) {
	if bytes.IndexByte(before, 0) >= 0 || bytes.IndexByte(after, 0) >= 0 {
		return 0, 0 // as git counts what is not text
	}
	return change.CountLines(string(before), string(after))
}

// Staged is a change of one file that is ready: what can fail has been tried, and the next
// content lies beside the file. Publish or Discard ends it.
type Staged struct {
	path string
	was  string      // the hash of what it holds, "" for nothing
	mode os.FileMode // 0: there is no file
	// The next content: the name of a file in the same folder, and what that is, so that no
	// other takes its part if the folder is another one by then. "": the file is to be removed.
	temp  string
	next  os.FileInfo
	links bool // a link may stand there, or is to
}

// Stage prepares to put content in the place of what stands at path, or to remove it if
// content is nil. The file must hold what has the hash was, or not exist if that is empty.
// An existing file keeps its mode and owner; one that comes back gets mode, or that of any
// new file if mode is 0. A link is in its place only if was is one's hash. Where nothing is to
// stand a folder may, in which only empty folders are left when the change is made: it goes then.
func Stage(path, was string, content *[]byte, mode os.FileMode) (*Staged, error) {
	return stage(path, was, content, mode, false)
}

// StageLink is Stage for a link that leads to where to says.
func StageLink(path, was string, to []byte) (*Staged, error) { return stage(path, was, &to, 0, true) }

func stage(path, was string, content *[]byte, mode os.FileMode, link bool) (*Staged, error) {
	s := &Staged{path: path, was: was}
	if _, wasLink := ContentOf(was); wasLink || link {
		s.links = true
	}
	old, info, err := s.now()
	if err != nil {
		return nil, err
	}
	if hashOf(old, info) != was {
		return nil, ErrChanged
	}
	if info != nil && info.Mode().IsRegular() {
		s.mode = info.Mode().Perm()
	}
	if info == nil && content == nil {
		return s, nil
	}
	dir, name := safefile.Split(path)
	folder, err := safefile.MakeFolder(dir)
	if err != nil {
		return nil, misplaced(err)
	}
	defer folder.Close() //nolint:errcheck // only a handle
	if s.mode != 0 || info != nil && !s.links {
		if err := folder.Writable(name); err != nil {
			return nil, misplaced(err)
		}
	}
	if content == nil {
		return s, nil
	}
	if err := s.lay(folder, info, *content, mode, link); err != nil {
		return nil, err
	}
	return s, nil
}

// lay puts the next content beside the file.
func (s *Staged) lay(folder *safefile.Folder, info os.FileInfo, content []byte, mode os.FileMode, link bool) (
	err error) {
	switch {
	case link:
		s.temp, err = folder.TempLink(string(content))
	case info != nil && info.Mode().IsRegular():
		s.temp, err = folder.Temp(content, info)
	default:
		if s.temp, err = folder.Temp(content, nil); err == nil && mode != 0 {
			err = folder.Chmod(s.temp, mode)
		}
	}
	if err == nil {
		s.next, err = folder.Lstat(s.temp)
	}
	if err != nil && s.temp != "" {
		err = errors.Join(misplaced(err), folder.Drop(s.temp))
	}
	return err
}

// now is what stands there; a link is only looked at where it may be one.
func (s *Staged) now() ([]byte, os.FileInfo, error) {
	at := now
	if s.links {
		at = look
	}
	content, info, err := at(s.path)
	if s.was == "" && errors.Is(err, ErrFolder) {
		err = nil
	}
	return content, info, err
}

// hashOf is the hash of what stands somewhere, or "" for nothing.
func hashOf(content []byte, info os.FileInfo) string {
	if info == nil {
		return ""
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return AsLink(tool.Hash(content))
	}
	return tool.Hash(content)
}

// Executable has the next content be executable by whoever can read it, or by nobody.
func (s *Staged) Executable(on bool) error {
	if s.temp == "" {
		return nil
	}
	mode := s.next.Mode().Perm() &^ 0o111
	if on {
		mode |= mode & 0o444 >> 2
	}
	dir, _ := safefile.Split(s.path)
	folder, err := safefile.OpenFolder(dir)
	if err != nil {
		return misplaced(err)
	}
	defer folder.Close() //nolint:errcheck // only a handle
	return folder.Chmod(s.temp, mode)
}

// Mode is the file's, or 0 if there is none.
func (s *Staged) Mode() os.FileMode { return s.mode }

// Publish makes the change, in one step, if the file still holds what it held.
func (s *Staged) Publish() error {
	if err := s.publish(); err != nil {
		return errors.Join(misplaced(err), s.Discard())
	}
	return nil
}

func (s *Staged) publish() error {
	old, info, err := s.now()
	switch {
	case err != nil:
		return err
	case hashOf(old, info) != s.was:
		return ErrChanged
	case s.temp == "" && s.was == "":
		return nil
	}
	dir, name := safefile.Split(s.path)
	folder, err := safefile.OpenFolder(dir)
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // only a handle
	if s.temp == "" {
		return folder.Remove(name)
	}
	if next, err := folder.Lstat(s.temp); err != nil || !os.SameFile(next, s.next) {
		return fmt.Errorf("%w: its folder is another one now", ErrPlace)
	}
	if s.was == "" {
		if err := folder.Vacate(name); err != nil {
			return err
		}
		return folder.Add(s.temp, name)
	}
	return folder.Replace(s.temp, name)
}

// Discard gives the change up.
func (s *Staged) Discard() error {
	if s.temp == "" {
		return nil
	}
	dir, _ := safefile.Split(s.path)
	folder, err := safefile.OpenFolder(dir)
	if err == nil {
		defer folder.Close() //nolint:errcheck // only a handle
		err = folder.Drop(s.temp)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, safefile.ErrMoved) {
		return nil // then it is not there, or not ours to reach any more
	}
	return err
}
