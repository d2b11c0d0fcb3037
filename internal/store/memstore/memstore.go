// Package memstore keeps a Troupe home in memory, for simulations and tests.
//
// A DB is the home; each Store opened on it stands for a process. One mutex orders all
// Updates, which run on the caller's goroutine, so a run on one goroutine always takes the
// same course. An Update that fails is undone from a log of what it changed. Events and
// mail are kept in the form they have on disk, so that what is read back has gone through
// the same encoding as in a real home, and nothing is shared with the caller.
//
// There is nothing to wait for and nothing to shut down: Close only ends the process's
// owners. A "crash" is Kill, and reading the DB on.
package memstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// ErrClosed is returned by every method of a Store after Close.
var ErrClosed = errors.New("the database is closed")

// errOver is what a Reader or Tx answers that outlived its function.
var errOver = errors.New("the transaction is over; a Reader or Tx must not leave its function")

// Options of New.
type Options struct {
	// Rerun, if set, is asked at each Update whether to run its function once for nothing,
	// and undo it, before the run that counts. The contract allows it, so a function that
	// has effects outside its Tx shows here.
	Rerun func() bool
}

// DB is one home's database. Its Stores share it.
type DB struct {
	rerun func() bool

	mu       sync.RWMutex
	sessions map[troupe.SessionID]*session
	births   []*session // in order; nil where a tree was deleted
	trees    map[troupe.SessionID]*tree
	names    map[string]troupe.SessionID // of roots, folded
	owners   map[troupe.OwnerID]*owner
	requests map[troupe.RequestID]*request
	asked    int // requests so far
	records  map[name]store.Record
	version  int64 // the last one given to a record
}

type session struct {
	troupe.Session
	lease  troupe.Lease
	birth  int // index in births
	events []event
	mail   map[troupe.MailID]*mail // to this session
	unread []*mail                 // in order of sending; delivered ones linger until the slice is made anew
	names  map[string]struct{}     // of its children, folded
	coords map[troupe.Coord]struct{}
}

type event struct {
	at   int64
	kind troupe.Kind
	body []byte
}

type mail struct {
	body      []byte // as sent
	delivered int64  // number of the event, or 0
}

type tree struct {
	caps          troupe.Caps
	total, active int
	sincePrompt   int
	tally         troupe.Tally
	reserved      troupe.Reservation
	members       []*session // in order of birth
	documents     map[string][]byte
}

type owner struct {
	troupe.Owner
	alive bool
}

// New makes an empty home.
func New(o Options) *DB {
	return &DB{
		rerun:    o.Rerun,
		sessions: map[troupe.SessionID]*session{},
		trees:    map[troupe.SessionID]*tree{},
		names:    map[string]troupe.SessionID{},
		owners:   map[troupe.OwnerID]*owner{},
		requests: map[troupe.RequestID]*request{},
		records:  map[name]store.Record{},
	}
}

// Open returns the store as one more process sees it.
func (db *DB) Open() *Store { return &Store{db: db} }

// Kill lets the process behind an owner die: from now on it is not alive. What that
// process still tries through its Store goes on as it would for one that wakes late.
func (db *DB) Kill(id troupe.OwnerID) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if o := db.owners[id]; o != nil {
		o.alive = false
	}
}

// Store is one process's hold on a DB.
type Store struct {
	db     *DB
	closed bool             // guarded by db.mu
	owned  []troupe.OwnerID // guarded by db.mu
}

var _ store.Store = (*Store)(nil)

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.db.rerun != nil && s.db.rerun() {
		t := newTx(s.db, root)
		if err := t.run(fn); err == nil {
			t.undoAll()
		}
	}
	err := newTx(s.db, root).run(fn)
	for n := len(s.db.births); n > 0 && s.db.births[n-1] == nil; n-- {
		s.db.births = s.db.births[:n-1] // nothing that is left refers to it
	}
	return err
}

// View implements store.Store.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) error {
	s.db.mu.RLock()
	defer s.db.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r := &reader{db: s.db}
	defer func() { r.failed = errOver }()
	return fn(r)
}

// Register implements store.Store.
func (s *Store) Register(ctx context.Context, o troupe.Owner) (release func() error, err error) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	switch {
	case s.closed:
		return nil, ErrClosed
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case o.ID == "":
		return nil, errors.New("register owner: it has no id")
	case s.db.owners[o.ID] != nil:
		return nil, fmt.Errorf("register owner %s: %w", o.ID, troupe.ErrExists)
	}
	o.StartedAt = readTime(writeTime(o.StartedAt))
	s.db.owners[o.ID] = &owner{Owner: o, alive: true}
	s.owned = append(s.owned, o.ID)
	return func() error { s.db.Kill(o.ID); return nil }, nil
}

// Owner implements store.Store.
func (s *Store) Owner(ctx context.Context, id troupe.OwnerID) (o troupe.Owner, alive bool, err error) {
	s.db.mu.RLock()
	defer s.db.mu.RUnlock()
	if s.closed {
		return o, false, ErrClosed
	}
	if ctx.Err() != nil {
		return o, false, context.Cause(ctx)
	}
	known := s.db.owners[id]
	if known == nil {
		return o, false, fmt.Errorf("owner %q: %w", id, troupe.ErrNotFound)
	}
	return known.Owner, known.alive, nil
}

// Close implements store.Store. The process's owners die; the DB stays for others.
func (s *Store) Close() error {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	s.closed = true
	for _, id := range s.owned {
		s.db.owners[id].alive = false
	}
	return nil
}
