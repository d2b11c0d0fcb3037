//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package sqlite

import (
	"context"
	"errors"
)

// lock stands for a file lock on systems where Troupe has none yet. Without one it cannot
// know which processes are alive, so it does not open a database there.
type lock struct{}

func (l *lock) close() error { return nil }

var (
	errHeld    = errors.New("the lock is held")
	errNoLocks = errors.New("troupe cannot lock files on this system yet")
)

func tryLock(string, int) (*lock, error) { return nil, errNoLocks }

func lockNew(string) (*lock, string, error) { return nil, "", errNoLocks }

func tryShare(string) (*lock, error) { return nil, errNoLocks }

func waitForLock(context.Context, string) (*lock, error) { return nil, errNoLocks }

func gone(int) bool { return false }

func syncDir(string) error { return nil }
