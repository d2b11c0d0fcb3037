package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// Store is one process's hold on a database.
type Store struct {
	pool *pgxpool.Pool
	// process is this one's name in commits, and commits how many it has begun.
	process string
	commits atomic.Int64
	ctx     context.Context //nolint:containedctx // it never ends: a commit is waited for whoever asked for it
	batch   int
	texts   statements
	life    *life

	mu     sync.Mutex
	closed bool
	// lanes are the trees that functions wait for here.
	lanes map[troupe.SessionID]*lane
	// memory is where sessions stood when a transaction of this process was the last to change their tree.
	memory map[troupe.SessionID]remembered
	room   int            // how many more sessions are remembered
	busy   sync.WaitGroup // lanes and Views
}

var _ store.Store = (*Store)(nil)

type remembered struct {
	xact     int64
	sessions map[troupe.SessionID]standing
}

// mostRemembered is of how many sessions it is remembered where they stand: some 10 MB.
const mostRemembered = 100_000

// lane is where the functions for one tree wait.
type lane struct {
	s     *Store
	root  troupe.SessionID
	group table.Group
	queue []*table.Job // guarded by the store's mutex

	// Of the open transaction; nil: there is none.
	held *pgxpool.Conn
	c    *conn
	xact int64
}

// Update implements store.Store. It must not be called from a function that is given to Update: the one would wait for
// the other for ever.
func (s *Store) Update(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	j := table.NewJob(root, func(t *table.Tx) error { return fn(tx{t}) })
	if err := s.enqueue(root, j); err != nil {
		return err
	}
	return j.Wait(ctx)
}

func (s *Store) enqueue(root troupe.SessionID, j *table.Job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if l := s.lanes[root]; l != nil {
		l.queue = append(l.queue, j)
		return nil
	}
	l := &lane{s: s, root: root, queue: []*table.Job{j}}
	l.group.Transactions = l
	s.lanes[root] = l
	s.busy.Add(1)
	go l.run()
	return nil
}

// run works until nothing waits for the tree any more.
func (l *lane) run() {
	clean := false
	defer func() {
		if clean {
			l.s.busy.Done()
			return
		}
		l.group.Abandon() // a function ended this goroutine; another takes its place
		go l.run()
	}()
	for j := l.next(0, true); j != nil; j = l.next(0, true) {
		l.group.Round(j, func(size int) *table.Job { return l.next(size, false) })
	}
	clean = true
}

// next is the next function that waits, or nil if there is none, or the group is full. At the end the lane goes.
func (l *lane) next(size int, ends bool) *table.Job {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if len(l.queue) == 0 {
		if ends {
			delete(l.s.lanes, l.root)
		}
		return nil
	}
	if size >= l.s.batch {
		return nil
	}
	j := l.queue[0]
	l.queue = l.queue[1:]
	return j
}

// Begin implements table.Transactions. A database that cannot be reached is waited for, for as long as a caller does.
func (l *lane) Begin(first *table.Job) error {
	left := func() bool { return first != nil && first.Left() }
	return l.s.patiently("begin to write", left, func() (err error) {
		if l.held, err = l.s.pool.Acquire(l.s.ctx); err != nil {
			return err
		}
		l.c = l.s.on(l.held.Conn())
		var changed int64
		if l.xact, changed, err = l.c.begin(l.root); err != nil {
			l.Rollback()
			return err
		}
		l.c.known = l.s.recall(l.root, changed)
		return nil
	})
}

// patience is how long a database is waited for that cannot be reached.
const patience = 30 * time.Second

// patiently tries until it goes well, or will not by waiting, or nobody waits any more.
func (s *Store) patiently(doing string, left func() bool, try func() error) error {
	for began, pause := time.Now(), 10*time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := try()
		if !passes(err) || time.Since(began) > patience || left() || s.isClosed() {
			return explain(doing, err)
		}
		<-time.After(pause) // it waits for the database and not for the caller, who may have left
	}
}

// Conn implements table.Transactions.
func (l *lane) Conn() table.Conn { return l.c }

// Commit implements table.Transactions.
func (l *lane) Commit() error {
	number := l.s.commits.Add(1)
	err := l.c.commit(l.root, l.s.process, number)
	if err == nil {
		if l.c.wrote {
			l.s.remember(l.root, l.xact, l.c.known, l.c.moved)
			l.s.life.changed(l.root)
		}
		l.held.Release()
		l.held, l.c = nil, nil
		return nil
	}
	lost, xact := l.c.c.IsClosed(), l.xact
	l.Rollback()
	if lost {
		return l.s.outcome(l.root, number, xact, err)
	}
	return explain("commit", err)
}

// Broke implements table.Transactions.
func (l *lane) Broke() bool { return l.c != nil && l.c.c.IsClosed() }

// Rollback implements table.Transactions.
func (l *lane) Rollback() {
	if l.held == nil {
		return
	}
	l.s.forget(l.root)
	l.c.waiting, l.c.must, l.c.events = &pgx.Batch{}, nil, eventRows{}
	if !l.c.c.IsClosed() {
		_, _ = l.c.c.Exec(l.c.ctx, "ROLLBACK") // else the pool closes it, which ends it as well
	}
	l.held.Release()
	l.held, l.c = nil, nil
}

// recall is where the sessions of a tree stand, if nobody else has changed it since that was remembered.
func (s *Store) recall(root troupe.SessionID, changed int64) map[troupe.SessionID]standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.memory[root]; m.xact == changed {
		return m.sessions
	}
	return nil
}

// remember is called by the lane of the tree, which alone has its sessions.
func (s *Store) remember(root troupe.SessionID, xact int64, known, moved map[troupe.SessionID]standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.memory[root].sessions)
	if known == nil {
		known = moved
	} else {
		maps.Copy(known, moved)
	}
	if s.room += before - len(known); s.room < 0 {
		clear(s.memory)
		s.room = mostRemembered
		return
	}
	s.memory[root] = remembered{xact, known}
}

func (s *Store) forget(root troupe.SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room += len(s.memory[root].sessions)
	delete(s.memory, root)
}

// outcome asks whether a commit was made of which no answer came. Nil: it was.
func (s *Store) outcome(root troupe.SessionID, number, xact int64, cause error) error {
	var made, ended bool
	err := s.patiently("commit", func() bool { return false }, func() (err error) {
		if made, ended, err = s.made(root, number, xact); err == nil && !made && !ended {
			err = errUnderWay
		}
		return err
	})
	switch {
	case err == nil && made:
		return nil
	case err == nil:
		return explain("commit", cause)
	}
	return fmt.Errorf("commit: %w: %w", table.ErrOutcome, cause)
}

// errUnderWay is the error of a look at a transaction that has not ended.
var errUnderWay = errors.New("the transaction has not ended")

func (s *Store) made(root troupe.SessionID, number, xact int64) (made, ended bool, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, connectTime)
	defer cancel()
	// That it has ended is asked first: what it has written is there by then.
	err = s.pool.QueryRow(ctx, `SELECT coalesce(pg_xact_status($1::text::xid8), '') <> 'in progress'`,
		fmt.Sprint(xact)).Scan(&ended)
	if code(err) == codeParameter { // a number that is yet to be given: the server has crashed, and knows nothing of it
		ended, err = true, nil
	}
	if err == nil {
		err = s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM commits
			WHERE root = $1 AND process = $2 AND number = $3)`, string(root), s.process, number).Scan(&made)
	}
	return made, ended, err
}

// View implements store.Store.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.busy.Add(1)
	s.mu.Unlock()
	defer s.busy.Done()
	var answer error
	err = s.patiently("read", func() bool { return ctx.Err() != nil }, func() (err error) {
		answer, err = s.view(ctx, fn)
		return err
	})
	switch {
	case err == nil:
		return answer
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// view runs a function once. The error is that of a connection that was not to be had, or that broke.
func (s *Store) view(ctx context.Context, fn func(store.Reader) error) (answer, err error) {
	held, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	if _, err := held.Exec(s.ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"); err != nil {
		return nil, err
	}
	c := s.on(held.Conn())
	r := table.NewReader(c)
	over := false
	defer func() {
		if !over { // the function has ended this goroutine, or panics
			_ = r.End()
		}
		if !c.c.IsClosed() {
			_, _ = c.c.Exec(c.ctx, "ROLLBACK") // nothing was written; else the pool closes it
		}
	}()
	answer = fn(r)
	failed := r.End() // the function has heard of it
	if over = true; failed != nil && c.c.IsClosed() && passes(failed) {
		return answer, failed
	}
	return answer, nil
}

func (s *Store) on(c *pgx.Conn) *conn {
	return &conn{c: c, ctx: s.ctx, texts: &s.texts, waiting: &pgx.Batch{}, moved: map[troupe.SessionID]standing{}}
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close implements store.Store: what waits is written first, and running Views end. Owners that were not released die.
func (s *Store) Close() error {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	s.busy.Wait()
	if !was {
		s.releaseAll()
		s.life.end()
		s.pool.Close()
	}
	return nil
}
