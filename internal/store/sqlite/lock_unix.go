//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lock is a file locked by this process. The kernel lets go of it when the process is
// gone, however it went; child processes do not inherit it.
type lock struct{ f *os.File }

func (l *lock) close() error { return l.f.Close() }

// errHeld means that another holds the lock.
var errHeld = errors.New("the lock is held")

// tryLock locks the file at path, which flag may ask to make.
func tryLock(path string, flag int) (*lock, error) { return try(path, flag, syscall.LOCK_EX) }

// tryShare locks the file at path beside others who share the lock. That is how to ask
// whether it is held: two who ask at once do not take each other for its holder.
func tryShare(path string) (*lock, error) { return try(path, 0, syscall.LOCK_SH) }

func try(path string, flag, how int) (*lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|flag, 0o600)
	if err != nil {
		return nil, err
	}
	return tryFile(f, how)
}

// lockNew makes a file beside path, under a name that nobody else uses, and locks it.
func lockNew(path string) (l *lock, name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return nil, "", err
	}
	l, err = tryFile(f, syscall.LOCK_EX)
	return l, f.Name(), err
}

func tryFile(f *os.File, how int) (*lock, error) {
	err := flock(f, how|syscall.LOCK_NB)
	if err == nil {
		return &lock{f}, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errHeld
	}
	return nil, errors.Join(err, f.Close())
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}

// waitForLock locks the file at path, and waits while another holds it.
func waitForLock(ctx context.Context, path string) (*lock, error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		l, err := tryLock(path, os.O_CREATE)
		if !errors.Is(err, errHeld) {
			return l, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// gone reports whether there is certainly no process of this number here.
func gone(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// syncDir makes a rename in the folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
