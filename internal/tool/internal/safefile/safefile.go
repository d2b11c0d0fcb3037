// Package safefile opens and replaces files at exactly the place that was judged.
//
// A place is named by a path as tool.Resolve returns it: absolute, clean and without a
// symbolic link in it. Its folder is opened first, part by part or in one step of the kernel,
// and following no link; what happens next happens by name within that handle and follows no
// link either. So whatever is renamed or linked between the moment a call was judged and the
// moment it runs, and however often, no other file is read, and none is written: the call
// fails with ErrMoved.
//
// Only regular files are opened, and never in a way that waits. Writing makes a new file
// beside the old one, which then takes its place in one step. A hard link to the old file
// therefore keeps the old content: what has a second name somewhere else is not changed there.
//
// A Folder belongs to one goroutine. Nothing here keeps state or starts anything.
package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Why a file is not opened. None of them says more than that the place does not hold what
// was expected; nothing was read or changed.
var (
	// ErrMoved: a part of the path is a link, or something else than it was a moment before.
	ErrMoved   = errors.New("leads to another place now than when the call was checked")
	ErrFolder  = errors.New("is a folder")
	ErrSpecial = errors.New("is not a regular file")
	ErrLarge   = fmt.Errorf("is larger than %d MB", MaxWhole>>20)
)

// MaxWhole is the largest file that is held in memory as a whole.
const MaxWhole = 32 << 20

// waitLimit bounds each read of what is not on a disk (some files under /proc wait for news).
const waitLimit = 10 * time.Second

// dir is an open folder. Names have no separator in them, and no method follows a link.
type dir interface {
	lstat(name string) (os.FileInfo, error)
	open(name string, flag int, perm os.FileMode) (*os.File, error)
	sub(name string) (dir, error)
	mkdir(name string) error
	// put gives the file old the name new, and keeps it from taking another file's place
	// unless replace is set.
	put(from, to string, replace bool) error
	remove(name string) error
	Close() error
}

// Folder is a folder that is held open.
type Folder struct {
	dir
	path string
}

// Split takes a path apart into its folder and its name there.
func Split(path string) (folder, name string) {
	if folder, name = filepath.Dir(path), filepath.Base(path); folder == path {
		name = "." // the root of everything
	}
	return folder, name
}

// OpenFolder opens the folder at exactly this path.
func OpenFolder(path string) (*Folder, error) {
	d, err := openDir(path)
	if err != nil {
		return nil, err
	}
	return &Folder{dir: d, path: path}, nil
}

// MakeFolder opens the folder at exactly this path, and makes those parts of it that are missing.
func MakeFolder(path string) (*Folder, error) {
	f, err := OpenFolder(path)
	if up := filepath.Dir(path); !errors.Is(err, fs.ErrNotExist) || up == path {
		return f, err
	}
	above, err := MakeFolder(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer above.Close() //nolint:errcheck // only a handle
	name := filepath.Base(path)
	if err := above.mkdir(name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	d, err := above.sub(name)
	if err != nil {
		return nil, err
	}
	return &Folder{dir: d, path: path}, nil
}

// Handle is a path that leads to the folder as long as it is open, for a process that is
// started in it. Where the system has no such thing it is the folder's own.
func (f *Folder) Handle() string {
	if h, ok := f.dir.(interface{ handle() string }); ok {
		return h.handle()
	}
	return f.path
}

// Check reports ErrMoved if the path of the folder leads to another one by now.
func (f *Folder) Check() error {
	now, err := OpenFolder(f.path)
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrMoved, err)
	}
	defer now.Close() //nolint:errcheck // only a handle
	was, err := f.lstat(".")
	if err != nil {
		return err
	}
	is, err := now.lstat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(was, is) {
		return ErrMoved
	}
	return nil
}

// Open opens a regular file for reading, and nothing else: a pipe or a device could block
// for ever, or do something by being opened.
func (f *Folder) Open(name string) (*os.File, os.FileInfo, error) {
	return f.openAs(name, os.O_RDONLY)
}

func (f *Folder) openAs(name string, flag int) (*os.File, os.FileInfo, error) {
	info, err := f.lstat(name)
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, nil, err
	}
	file, err := f.open(name, flag, 0)
	if err != nil {
		return nil, nil, err
	}
	// Once more: what was looked at may have been replaced before it was opened.
	if info, err = file.Stat(); err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// Reader opens a regular file that List named, to be read once, from its beginning to its end:
// Open for walks over many files, in as few calls of the system as it takes. What is no file
// any more is refused all the same.
func (f *Folder) Reader(name string) (r io.ReadCloser, size int64, err error) {
	if d, ok := f.dir.(interface {
		reader(name string) (io.ReadCloser, int64, error)
	}); ok {
		return d.reader(name)
	}
	file, info, err := f.Open(name)
	if err != nil {
		return nil, 0, err
	}
	_ = file.SetReadDeadline(time.Now().Add(waitLimit)) // files on a disk do not support it, nor need it
	return file, info.Size(), nil
}

// Open is Folder.Open for the file at exactly this path.
func Open(path string) (*os.File, os.FileInfo, error) {
	folder, name := Split(path)
	f, err := OpenFolder(folder)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() //nolint:errcheck // only a handle
	return f.Open(name)
}

// ReadAll reads a regular file of at most MaxWhole bytes.
func (f *Folder) ReadAll(name string) ([]byte, os.FileInfo, error) {
	file, info, err := f.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close() //nolint:errcheck // only read from
	if info.Size() > MaxWhole {
		return nil, nil, ErrLarge
	}
	_ = file.SetReadDeadline(time.Now().Add(waitLimit)) // files on a disk do not support it, nor need it
	content, err := io.ReadAll(io.LimitReader(file, MaxWhole+1))
	if err == nil && len(content) > MaxWhole {
		err = ErrLarge
	}
	return content, info, err
}

// Writable asks the system whether a file may be written: putting another in its place
// would need no permission to write it.
func (f *Folder) Writable(name string) error {
	file, _, err := f.openAs(name, os.O_WRONLY)
	if err != nil {
		return err
	}
	return file.Close()
}

// List reads the folder's entries, in order of their names; the first n that the system tells,
// or all if n is negative.
func (f *Folder) List(n int) ([]os.DirEntry, error) {
	d, err := f.open(".", os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // only read from
	list, err := d.ReadDir(n)
	if errors.Is(err, io.EOF) {
		err = nil // empty
	}
	slices.SortFunc(list, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// tempPrefix is what the names of files begin with that are on their way.
const (
	tempPrefix = ".troupe-"
	tempSuffix = ".tmp"
)

// Temp writes content to a file of its own in the folder and returns its name. It gets the
// mode and, as far as we may, the owner of the file it is to replace; like is nil if there is
// none. Never more than plain permissions: what ran as its owner does not after a change.
func (f *Folder) Temp(content []byte, like os.FileInfo) (name string, err error) {
	if _, before := swept.LoadOrStore(f.path, true); !before {
		Sweep(f.path)
	}
	perm := os.FileMode(0o666) // as any new file, less the umask
	if like != nil {
		perm = 0o600 // until it has an owner and a mode, it is nobody else's to read
	}
	if n, ok := f.dir.(nameless); ok {
		if file, err := n.unnamed(perm); err == nil {
			if err = fill(file, content, like); err == nil {
				name, err = f.fresh(func(name string) error { return n.give(file, name) })
			}
			if err = errors.Join(err, file.Close()); err == nil {
				return name, nil
			}
		}
	}
	// Not every file system has files without a name, nor every machine /proc.
	var file *os.File
	name, err = f.fresh(func(name string) (err error) {
		file, err = f.open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		return err
	})
	if err != nil {
		return "", err
	}
	if err = errors.Join(fill(file, content, like), file.Close()); err != nil {
		return "", errors.Join(err, f.Drop(name))
	}
	return name, nil
}

// swept are the folders that this process has written into: what killed ones left there it has removed.
var swept sync.Map //nolint:gochecknoglobals // folders are swept for the process, whoever opens them

// nameless is a folder that has files without a name. A process that is killed while it writes one leaves
// nothing: the system removes it.
type nameless interface {
	unnamed(perm os.FileMode) (*os.File, error)
	give(f *os.File, name string) error
}

// fresh makes a file under a name that is free. The name has the process in it, see Sweep.
func (f *Folder) fresh(create func(name string) error) (name string, err error) {
	for range 100 {
		name = fmt.Sprintf("%s%d-%s%s", tempPrefix, os.Getpid(), strconv.FormatUint(rand.Uint64(), 36), tempSuffix)
		if err = create(name); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return name, err
}

// fill writes the content of a new file, and gives it mode and owner of the one that it is to replace.
func fill(file *os.File, content []byte, like os.FileInfo) error {
	_, err := file.Write(content)
	if err == nil && like != nil {
		keepOwner(file, like)
		err = file.Chmod(like.Mode().Perm())
	}
	if err == nil {
		err = file.Sync() // else a power cut could leave the new name with no content
	}
	return err
}

// Sweep removes the files on their way that processes left in a folder which are gone.
func Sweep(folder string) {
	f, err := OpenFolder(folder)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // only a handle
	list, err := f.List(-1)
	if err != nil {
		return
	}
	for _, e := range list {
		rest, ours := strings.CutPrefix(e.Name(), tempPrefix)
		number, _, numbered := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(number)
		if ours && numbered && err == nil && strings.HasSuffix(rest, tempSuffix) &&
			(e.Type().IsRegular() || e.Type() == fs.ModeSymlink) && gone(pid) {
			_ = f.Drop(e.Name()) // the next one will try again
		}
	}
}

// Chmod sets the mode of a file that Temp made.
func (f *Folder) Chmod(name string, mode os.FileMode) error {
	file, _, err := f.openAs(name, os.O_WRONLY)
	if err != nil {
		return err
	}
	return errors.Join(file.Chmod(mode.Perm()), file.Close())
}

// Replace puts a file of Temp in the place of another.
func (f *Folder) Replace(temp, name string) error { return f.put(temp, name, true) }

// Add gives a file of Temp its name; fs.ErrExist if there is something of that name.
func (f *Folder) Add(temp, name string) error { return f.put(temp, name, false) }

// linker is a folder that can have links, and lose folders.
type linker interface {
	readlink(name string) (string, error)
	symlink(to, name string) error
	rmdir(name string) error
}

// Vacate removes the folder of a name, if there is one. All in it are folders, with nothing else in these, or the first
// that is not ends it.
func (f *Folder) Vacate(name string) error {
	info, err := f.lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	l, ok := f.dir.(linker)
	if !ok {
		return errors.ErrUnsupported
	}
	d, err := f.sub(name)
	if err != nil {
		return err
	}
	in := &Folder{dir: d, path: filepath.Join(f.path, name)}
	defer in.Close() //nolint:errcheck // only a handle
	list, err := in.List(-1)
	for _, e := range list {
		if err == nil && !e.IsDir() {
			err = ErrFolder
		}
		if err == nil {
			err = in.Vacate(e.Name())
		}
	}
	if err != nil {
		return err
	}
	return l.rmdir(name)
}

// Link says where a link leads; "" and no error if none stands at that name.
func (f *Folder) Link(name string) (to string, info os.FileInfo, err error) {
	info, err = f.lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return "", nil, err
	}
	l, ok := f.dir.(linker)
	if !ok {
		return "", nil, errors.ErrUnsupported
	}
	to, err = l.readlink(name)
	return to, info, err
}

// TempLink makes a link of its own in the folder, as Temp does a file.
func (f *Folder) TempLink(to string) (name string, err error) {
	l, ok := f.dir.(linker)
	if !ok {
		return "", errors.ErrUnsupported
	}
	return f.fresh(func(name string) error { return l.symlink(to, name) })
}

// Lstat is what stands at a name, a link included.
func (f *Folder) Lstat(name string) (os.FileInfo, error) { return f.lstat(name) }

// Drop removes a file; that there is none is as good.
func (f *Folder) Drop(name string) error {
	if err := f.remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Remove removes a file.
func (f *Folder) Remove(name string) error { return f.remove(name) }

// Stat is what stands at a name; a link is ErrMoved.
func (f *Folder) Stat(name string) (os.FileInfo, error) {
	info, err := f.lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = ErrMoved
	}
	return info, err
}

// regular explains why a file is not opened.
func regular(info os.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode&fs.ModeSymlink != 0:
		return ErrMoved
	case mode.IsDir():
		return ErrFolder
	default:
		return fmt.Errorf("%w but a %s", ErrSpecial, kindOf(mode))
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

// parts are the names on the way from the root to a folder.
func parts(path string) (root string, names []string) {
	root = filepath.VolumeName(path) + string(filepath.Separator)
	rest := strings.Trim(path[len(root)-1:], string(filepath.Separator))
	if rest == "" {
		return root, nil
	}
	return root, strings.Split(rest, string(filepath.Separator))
}

// walkDir opens a folder part by part. It owns d.
func walkDir(d dir, names []string) (dir, error) {
	for _, name := range names {
		next, err := d.sub(name)
		_ = d.Close() // only a handle
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}

// subError says what is wrong with a part of a path that cannot be opened as a folder.
func subError(d dir, path, name string, err error) error {
	info, lerr := d.lstat(name)
	switch {
	case lerr != nil:
		return lerr
	case info.Mode()&fs.ModeSymlink != 0:
		return ErrMoved
	case !info.IsDir():
		err = syscall.ENOTDIR
	case meanwhile(err):
		return ErrMoved
	}
	return &fs.PathError{Op: "open", Path: filepath.Join(path, name), Err: err}
}

// meanwhile: what was a folder or file when it was looked at was something else when it was
// opened. That os.Root met a link that leads out of it is no error of the system.
func meanwhile(err error) bool {
	var errno syscall.Errno
	return !errors.As(err, &errno) || errno == syscall.ENOTDIR || errno == syscall.ELOOP
}
