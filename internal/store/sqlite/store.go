package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// Options of Open. The zero value is what Troupe runs with.
type Options struct {
	Readers int // connections for View; 0 means 4
	Queue   int // Updates that wait before callers have to; 0 means 1024
	Batch   int // most Updates in one commit; 0 means 256
	// Beside are files and folders that sessions leave: where one is there, an empty database has lost them.
	Beside []string
}

func (o Options) withDefaults() Options {
	if o.Readers <= 0 {
		o.Readers = 4
	}
	if o.Queue <= 0 {
		o.Queue = 1024
	}
	if o.Batch <= 0 {
		o.Batch = 256
	}
	return o
}

// Store is one process's hold on a home's database.
type Store struct {
	path string
	torn string // what its log had lost when it was opened
	w    *writer
	// mu guards closed against the queue: senders hold it shared, so that Close cannot
	// close the queue under them.
	mu     sync.RWMutex
	closed bool
	// readers holds a token per connection that Views may have, and idle those that are open and
	// not in use, the latest last.
	readers chan struct{}
	idleMu  sync.Mutex
	idle    []*conn

	ownersMu sync.Mutex
	owned    map[troupe.OwnerID]*lock
}

var _ store.Store = (*Store)(nil)

func newStore(path string, c *conn, o Options) *Store {
	s := &Store{
		path: path,
		w: &writer{
			c: c, path: path, batch: o.Batch,
			queue:   make(chan *table.Job, o.Queue),
			stopped: make(chan struct{}),
		},
		readers: make(chan struct{}, o.Readers),
		owned:   map[troupe.OwnerID]*lock{},
	}
	s.w.group.Transactions = s.w
	for range o.Readers {
		s.readers <- struct{}{}
	}
	go s.w.loop()
	return s
}

// Update implements store.Store. It must not be called from a function that is given to
// Update: the one would wait for the other for ever.
func (s *Store) Update(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
	return s.write(ctx, root, func(t *table.Tx) error { return fn(tx{t}) })
}

func (s *Store) write(ctx context.Context, root troupe.SessionID, fn func(*table.Tx) error) error {
	j := table.NewJob(root, fn)
	if err := s.enqueue(ctx, j); err != nil {
		return err
	}
	return j.Wait(ctx)
}

func (s *Store) enqueue(ctx context.Context, j *table.Job) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case s.w.queue <- j:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// View implements store.Store.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.read(ctx, func(r *table.Reader) error { return fn(r) })
}

func (s *Store) read(ctx context.Context, fn func(*table.Reader) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-s.readers:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { s.readers <- struct{}{} }()
	if s.isClosed() {
		return ErrClosed
	}
	c := s.takeIdle()
	if c == nil {
		opened, err := connect(ctx, s.path, readerPragmas)
		if err != nil {
			return explain(s.path, "open the database to read", err)
		}
		c = opened
	}
	defer s.putIdle(c)
	if _, err := c.exec("BEGIN"); err != nil {
		return explain(s.path, "begin to read", err)
	}
	r := table.NewReader(onPath{c, s.path})
	defer func() {
		_ = r.End()               // the function has heard of it
		_, _ = c.exec("ROLLBACK") // nothing was written; a transaction SQLite ended itself is over as well
	}()
	return fn(r)
}

// takeIdle is the connection that was used last, or nil if all that are open are in use.
func (s *Store) takeIdle() (c *conn) {
	s.idleMu.Lock()
	defer s.idleMu.Unlock()
	if last := len(s.idle) - 1; last >= 0 {
		c, s.idle = s.idle[last], s.idle[:last]
	}
	return c
}

func (s *Store) putIdle(c *conn) {
	s.idleMu.Lock()
	defer s.idleMu.Unlock()
	s.idle = append(s.idle, c)
}

func (s *Store) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

// Close implements store.Store: what is queued is written first, and running Views end.
// Owners that were not released die with it.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.w.stopped
		return nil
	}
	s.closed = true
	close(s.w.queue)
	s.mu.Unlock()
	<-s.w.stopped

	var err error
	for range cap(s.readers) {
		<-s.readers
	}
	for c := s.takeIdle(); c != nil; c = s.takeIdle() {
		err = errors.Join(err, c.close())
	}
	for range cap(s.readers) {
		s.readers <- struct{}{} // late Views find the door, not a wall
	}
	// The last connection to go moves the write-ahead log into the file.
	err = errors.Join(err, s.w.c.close(), s.dropOwned())
	if err != nil {
		return fmt.Errorf("close the database %s: %w", s.path, err)
	}
	return nil
}

// Stats describes the database for people.
type Stats struct {
	Path    string
	Bytes   int64 // of the file and its write-ahead log
	Version int   // of the schema
}

// Stats looks at the file as it is now.
func (s *Store) Stats() (Stats, error) {
	st := Stats{Path: s.path, Version: schemaVersion}
	for _, name := range []string{s.path, s.path + "-wal"} {
		info, err := os.Stat(name)
		switch {
		case err == nil:
			st.Bytes += info.Size()
		case name == s.path || !errors.Is(err, os.ErrNotExist):
			return st, fmt.Errorf("measure the database: %w", err)
		}
	}
	return st, nil
}
