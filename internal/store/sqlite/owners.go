package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// keepOwners is how many of the latest owners stay known after their death. A lease may
// name an older one; not knowing it says the same: it is dead.
const keepOwners = 256

func (s *Store) ownersDir() string { return filepath.Join(filepath.Dir(s.path), "owners") }

func (s *Store) lockPath(id troupe.OwnerID) string {
	return filepath.Join(s.ownersDir(), string(id)+".lock")
}

// Register implements store.Store. The lock is taken before the row is written: an owner
// that can be read and whose lock is free is dead, whatever moment a crash chose.
func (s *Store) Register(ctx context.Context, o troupe.Owner) (release func() error, err error) {
	if o.ID == "" || strings.ContainsAny(string(o.ID), "/\\\x00") || o.ID[0] == '.' {
		return nil, fmt.Errorf("register owner %q: the id does not make a file name", o.ID)
	}
	if s.isClosed() {
		return nil, ErrClosed
	}
	if err := os.MkdirAll(s.ownersDir(), 0o700); err != nil {
		return nil, unusable(s.ownersDir(), "make the folder", err)
	}
	l, err := s.hold(o.ID)
	if err != nil {
		return nil, err
	}
	doing := "register owner " + string(o.ID)
	err = s.write(ctx, "", func(t *table.Tx) error {
		n, err := t.Exec(doing, `INSERT INTO owners (id, pid, host, socket, started_at) VALUES (?,?,?,?,?)
			ON CONFLICT (id) DO NOTHING`, string(o.ID), o.PID, o.Host, o.Socket, table.WriteTime(o.StartedAt))
		if err == nil && n == 0 {
			err = fmt.Errorf("%s: %w", doing, troupe.ErrExists)
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, s.letGo(o.ID, l))
	}
	s.ownersMu.Lock()
	s.owned[o.ID] = l
	s.ownersMu.Unlock()
	if err := s.bury(ctx); err != nil {
		return nil, errors.Join(err, s.release(o.ID))
	}
	return sync.OnceValue(func() error { return s.release(o.ID) }), nil
}

// hold makes and locks id's file. The file is locked before it gets its name, so nobody
// ever finds it free while its owner lives.
func (s *Store) hold(id troupe.OwnerID) (*lock, error) {
	path := s.lockPath(id)
	for {
		l, draft, err := lockNew(path)
		if errors.Is(err, errHeld) {
			continue // whoever buries the dead looked at it just then
		}
		if err != nil {
			return nil, unusable(path, "lock the owner's file", err)
		}
		err = os.Link(draft, path)
		if rmErr := os.Remove(draft); err == nil && rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
			err = rmErr
		}
		if err == nil {
			return l, nil
		}
		closeErr := l.close()
		switch {
		case errors.Is(err, fs.ErrNotExist) && closeErr == nil:
			// Buried before it was locked: once more.
		case errors.Is(err, fs.ErrExist):
			return nil, errors.Join(fmt.Errorf("register owner %s: %w", id, troupe.ErrExists), closeErr)
		default:
			return nil, errors.Join(unusable(path, "lock the owner's file", err), closeErr)
		}
	}
}

// letGo ends the life of an owner. Its file goes first: without one it is dead as well.
func (s *Store) letGo(id troupe.OwnerID, l *lock) error {
	err := os.Remove(s.lockPath(id))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.close())
}

func (s *Store) release(id troupe.OwnerID) error {
	s.ownersMu.Lock()
	l := s.owned[id]
	delete(s.owned, id)
	s.ownersMu.Unlock()
	if l == nil {
		return nil // Close came first
	}
	if err := s.letGo(id, l); err != nil {
		return fmt.Errorf("release owner %s: %w", id, err)
	}
	return nil
}

// dropOwned ends the lives of all owners that were not released.
func (s *Store) dropOwned() error {
	s.ownersMu.Lock()
	defer s.ownersMu.Unlock()
	var err error
	for id, l := range s.owned {
		err = errors.Join(err, s.letGo(id, l))
		delete(s.owned, id)
	}
	return err
}

// Owner implements store.Store.
func (s *Store) Owner(ctx context.Context, id troupe.OwnerID) (o troupe.Owner, alive bool, err error) {
	// The lock is looked at after the row was read: the row comes later than the lock.
	o, err = s.readOwner(ctx, id)
	if err != nil {
		return o, false, err
	}
	alive, err = isHeld(s.lockPath(id))
	if err == nil && alive && gone(o.PID) {
		alive, err = staysHeld(ctx, s.lockPath(id))
	}
	if err != nil {
		return o, false, unusable(s.lockPath(id), "look at the owner's lock", err)
	}
	return o, alive, nil
}

func (s *Store) readOwner(ctx context.Context, id troupe.OwnerID) (o troupe.Owner, err error) {
	found := false
	err = s.read(ctx, func(r *table.Reader) error {
		return r.Query("read owner "+string(id), func(row table.Row) error {
			found = true
			o = troupe.Owner{
				ID: id, PID: row.Int(0), Host: row.Text(1), Socket: row.Text(2),
				StartedAt: table.ReadTime(row.Int64(3)),
			}
			return nil
		}, `SELECT pid, host, socket, started_at FROM owners WHERE id = ?`, string(id))
	})
	if err == nil && !found {
		err = fmt.Errorf("owner %q: %w", id, troupe.ErrNotFound)
	}
	return o, err
}

// isHeld reports whether a living process holds the lock of the file at path.
func isHeld(path string) (bool, error) {
	l, err := tryShare(path)
	switch {
	case err == nil:
		return false, l.close()
	case errors.Is(err, errHeld):
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, err
	}
}

// heirs is how long what a process was just starting when it was killed may hold its locks: it
// has them until it becomes the other program.
const heirs = time.Second

// staysHeld reports whether the lock of a process that is not there is held for longer than its
// heirs could. It may be: the process may live where its number means nothing here.
func staysHeld(ctx context.Context, path string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, heirs)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return isHeld(path)
		}
		if held, err := isHeld(path); !held || err != nil {
			return held, err
		}
	}
}

// bury removes what dead owners left: their lock files, and their rows once many others
// came after them.
func (s *Store) bury(ctx context.Context) error {
	entries, err := os.ReadDir(s.ownersDir())
	if err != nil {
		return unusable(s.ownersDir(), "list the owners", err)
	}
	for _, e := range entries {
		path := filepath.Join(s.ownersDir(), e.Name())
		l, err := tryShare(path)
		if err != nil {
			continue // alive, or gone already, or not ours to touch
		}
		if err := errors.Join(os.Remove(path), l.close()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unusable(path, "remove a dead owner's lock", err)
		}
	}
	return s.write(ctx, "", func(t *table.Tx) error {
		var dead []string
		err := t.Query("list old owners", func(r table.Row) error {
			if held, err := isHeld(s.lockPath(troupe.OwnerID(r.Text(0)))); err == nil && !held {
				dead = append(dead, r.Text(0))
			}
			return nil
		}, `SELECT id FROM owners WHERE registered <= (SELECT max(registered) FROM owners) - ?`, keepOwners)
		for _, id := range dead {
			if err == nil {
				_, err = t.Exec("forget owner "+id, `DELETE FROM owners WHERE id = ?`, id)
			}
		}
		return err
	})
}
