//go:build unix

package httpd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/troupe-dev/troupe"
)

// socket is a listening unix socket and its name in the file system.
type socket struct {
	listener *net.UnixListener
	path     string
	id       fs.FileInfo // of the socket, to tell it from one that took its name
}

const (
	// suffix marks our sockets. Those of dead processes are cleared away by the next one.
	suffix = ".sock"
	// newborn is a socket's name until it listens and is private.
	newborn = ".new" + suffix
	// lockName serialises who makes, replaces and removes names in a folder.
	lockName = ".lock"
	// lockWait is more than anybody needs who holds the lock and is not stopped.
	lockWait = 3 * time.Second
)

// claim makes a socket at path, or, if that is too long for the kernel, under a short name
// in another private folder of this user.
//
// Nobody but this user ever reaches it: its folder is private before the socket is made, and
// the socket is private before it gets its name. A name changes hands only under the
// folder's lock, and only from a socket that nobody listens on any more.
func claim(ctx context.Context, path string, o Options) (*socket, error) {
	path, err := place(path, o)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	if err := private(dir); err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	sweep(ctx, dir)
	if err := vacant(ctx, path); err != nil {
		return nil, err
	}
	temp := filepath.Join(dir, newborn)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: temp, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on a socket in %s: %w", dir, err)
	}
	l.SetUnlinkOnClose(false) // it would remove the name it was born with
	s := &socket{listener: l, path: path}
	err = os.Chmod(temp, 0o600)
	if err == nil {
		s.id, err = os.Lstat(temp)
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the socket %s: %w", path, err), l.Close())
	}
	return s, nil
}

// remove takes the socket's name away, unless it has become another's.
func (s *socket) remove(ctx context.Context) error {
	unlock, err := lock(ctx, filepath.Dir(s.path))
	if err != nil {
		return err
	}
	defer unlock()
	now, err := os.Lstat(s.path)
	if err != nil || !os.SameFile(now, s.id) {
		return nil
	}
	return os.Remove(s.path)
}

// place is path itself or a shorter one that stands for it.
func place(path string, o Options) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("the socket %q must have an absolute path", path)
	}
	if fits(path) {
		return path, nil
	}
	base := filepath.Base(path)
	if len(base) > 32 {
		sum := sha256.Sum256([]byte(path))
		base = hex.EncodeToString(sum[:10]) + suffix
	}
	var dirs []string
	if filepath.IsAbs(o.Runtime) {
		dirs = append(dirs, filepath.Join(o.Runtime, "troupe"))
	}
	if filepath.IsAbs(o.Temp) {
		// Shared with everybody, so the name says whose it is, and private sees to the rest.
		dirs = append(dirs, filepath.Join(o.Temp, "troupe-"+strconv.Itoa(os.Geteuid())))
	}
	for _, dir := range dirs {
		if short := filepath.Join(dir, base); fits(short) {
			return short, nil
		}
	}
	return "", &troupe.UserError{
		Problem: fmt.Sprintf("the path %s is too long for a socket", path),
		Hint:    "Set XDG_RUNTIME_DIR or TMPDIR to a folder with a shorter path.", Code: troupe.ExitUsage,
	}
}

// fits reports whether the kernel takes the path, and that of a newborn beside it.
func fits(path string) bool {
	most := len(syscall.RawSockaddrUnix{}.Path) - 1
	return len(path) <= most && len(filepath.Join(filepath.Dir(path), newborn)) <= most
}

// private makes a folder that only this user can enter, or sees to it that one is. It
// follows no link: in a folder that others write to, a name of ours may be theirs.
func private(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fmt.Errorf("make the folder for sockets: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the folder for sockets: %w", err)
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return unsafe(dir, "is not a folder, or a link to one", err)
	}
	defer f.Close() //nolint:errcheck // it was only looked at
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return unsafe(dir, "belongs to another user", nil)
	}
	if info.Mode().Perm() != 0o700 {
		if err := f.Chmod(0o700); err != nil {
			return unsafe(dir, "is open to others and cannot be closed", err)
		}
	}
	return nil
}

func unsafe(dir, why string, err error) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("%s %s, so no socket is made in it", dir, why),
		Hint:    "Remove it, or set XDG_RUNTIME_DIR to a folder of your own.", Code: troupe.ExitUsage, Err: err,
	}
}

// lock holds a folder's lock. The kernel lets go of it when the process is gone.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the sockets: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	t := time.NewTicker(2 * time.Millisecond)
	defer t.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // closing lets go; nothing was written
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("another process holds %s: %w", f.Name(), ctx.Err()), f.Close())
		}
	}
}

// vacant sees to it that path is free, or a socket nobody listens on.
func vacant(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at %s: %w", path, err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is in the way: it is not a socket", path)
	case !deserted(ctx, path):
		return fmt.Errorf("another process serves on %s: %w", path, troupe.ErrExists)
	}
	return nil
}

// sweep clears away sockets that nobody listens on. It runs under the folder's lock, so none
// of them is one that is just being made.
func sweep(ctx context.Context, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // it is a courtesy
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type() == fs.ModeSocket && filepath.Ext(path) == suffix && deserted(ctx, path) {
			_ = os.Remove(path)
		}
	}
}

// deserted reports whether the process that listened on a socket is gone. Only the kernel's
// clear word counts: a server too busy to answer lives.
func deserted(ctx context.Context, path string) bool {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close()
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
