package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

const (
	// beatEvery is how often a process writes that it lives, and deadAfter how long one is believed to that has not.
	beatEvery = time.Second
	deadAfter = 3 * time.Second
	// keepOwners is how many of the latest owners stay known after their death.
	keepOwners = 256
	// tellEvery is how soon others are told which trees have changed.
	tellEvery = 20 * time.Millisecond
	// mostTold is how many trees one message names: PostgreSQL takes 8,000 bytes.
	mostTold = 300
)

// life is what a process does beside its work, on a connection of its own: it beats, and tells others what has changed.
type life struct {
	s      *Store
	cancel context.CancelFunc
	ended  chan struct{}

	mu     sync.Mutex
	owners []troupe.OwnerID
	trees  map[troupe.SessionID]bool // that have changed and were not told
	told   chan struct{}             // something has changed
	// steady is since when its beats came without a gap: before that others may seem dead that only waited for the
	// database as this one did.
	steady, last time.Time
}

func begin(s *Store) *life {
	ctx, cancel := context.WithCancel(s.ctx)
	l := &life{s: s, cancel: cancel, ended: make(chan struct{}), trees: map[troupe.SessionID]bool{},
		told: make(chan struct{}, 1)}
	go l.run(ctx)
	return l
}

func (l *life) end() {
	l.cancel()
	<-l.ended
}

// changed has others told that a tree has.
func (l *life) changed(root troupe.SessionID) {
	l.mu.Lock()
	l.trees[root] = true
	l.mu.Unlock()
	select {
	case l.told <- struct{}{}:
	default:
	}
}

func (l *life) run(ctx context.Context) {
	defer close(l.ended)
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	var c *pgx.Conn
	defer func() {
		if c != nil {
			_ = c.Close(l.s.ctx) // it holds nothing
		}
	}()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			if c, err = l.connected(ctx, c); err == nil {
				err = l.beat(ctx, c)
			}
		case <-l.told:
			if c, err = l.connected(ctx, c); err == nil {
				err = l.tell(ctx, c)
			}
			select {
			case <-time.After(tellEvery):
			case <-ctx.Done():
				return
			}
		}
		if err != nil && c != nil { // the next beat makes another one
			_ = c.Close(ctx)
			c = nil
		}
	}
}

func (l *life) connected(ctx context.Context, c *pgx.Conn) (*pgx.Conn, error) {
	if c != nil && !c.IsClosed() {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	return pgx.ConnectConfig(ctx, l.s.pool.Config().ConnConfig)
}

func (l *life) beat(ctx context.Context, c *pgx.Conn) error {
	l.mu.Lock()
	ids := make([]string, len(l.owners))
	for i, id := range l.owners {
		ids[i] = string(id)
	}
	l.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, deadAfter)
	defer cancel()
	var now time.Time
	err := c.QueryRow(ctx, `WITH b AS (UPDATE owners SET beat = clock_timestamp() WHERE id = ANY($1))
		SELECT clock_timestamp()`, ids).Scan(&now)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.last.IsZero() && now.Sub(l.last) > deadAfter {
		l.steady = now
	}
	l.last = now
	return nil
}

func (l *life) tell(ctx context.Context, c *pgx.Conn) error {
	l.mu.Lock()
	text := ""
	for root := range l.trees {
		if len(l.trees) > mostTold {
			text = "" // more than a message names: everybody looks
			break
		}
		text += string(root) + " "
	}
	clear(l.trees)
	l.mu.Unlock()
	_, err := c.Exec(ctx, `SELECT pg_notify($1, $2)`, l.s.channel(), text)
	return err
}

// Register implements store.Store.
func (s *Store) Register(ctx context.Context, o troupe.Owner) (release func() error, err error) {
	doing := "register owner " + string(o.ID)
	if o.ID == "" {
		return nil, errors.New("register an owner: it has no id")
	}
	if s.isClosed() {
		return nil, ErrClosed
	}
	tag, err := s.pool.Exec(ctx, `INSERT INTO owners (id, pid, host, socket, started_at, beat)
		VALUES ($1, $2, $3, $4, $5, clock_timestamp()) ON CONFLICT DO NOTHING`,
		string(o.ID), o.PID, storable(o.Host), storable(o.Socket), table.WriteTime(o.StartedAt))
	if err != nil {
		return nil, explain(doing, err)
	}
	if tag.RowsAffected() == 0 {
		return nil, fmt.Errorf("%s: %w", doing, troupe.ErrExists)
	}
	s.life.mu.Lock()
	s.life.owners = append(s.life.owners, o.ID)
	s.life.mu.Unlock()
	for _, old := range []string{
		fmt.Sprintf(`DELETE FROM owners WHERE (released OR beat < clock_timestamp() - interval '1 hour')
			AND registered <= (SELECT max(registered) FROM owners) - %d`, keepOwners),
		`DELETE FROM commits WHERE at < clock_timestamp() - interval '1 hour'`,
		`DELETE FROM removed WHERE at < clock_timestamp() - interval '1 hour'`,
	} {
		if _, err := s.pool.Exec(ctx, old); err != nil {
			return nil, errors.Join(explain("forget what is old", err), s.release(o.ID))
		}
	}
	return sync.OnceValue(func() error { return s.release(o.ID) }), nil
}

func (s *Store) release(id troupe.OwnerID) error {
	s.life.mu.Lock()
	for i, o := range s.life.owners {
		if o == id {
			s.life.owners = append(s.life.owners[:i:i], s.life.owners[i+1:]...)
			break
		}
	}
	s.life.mu.Unlock()
	if s.isClosed() {
		return nil // Close came first
	}
	_, err := s.pool.Exec(s.ctx, `UPDATE owners SET released = true WHERE id = $1`, string(id))
	return explain("release owner "+string(id), err)
}

// releaseAll ends the lives of all owners that were not released.
func (s *Store) releaseAll() {
	s.life.mu.Lock()
	ids := s.life.owners
	s.life.owners = nil
	s.life.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.ctx, connectTime)
	defer cancel()
	for _, id := range ids {
		// If it fails they are dead in three seconds.
		_, _ = s.pool.Exec(ctx, `UPDATE owners SET released = true WHERE id = $1`, string(id))
	}
}

// Owner implements store.Store.
func (s *Store) Owner(ctx context.Context, id troupe.OwnerID) (o troupe.Owner, alive bool, err error) {
	if s.isClosed() {
		return o, false, ErrClosed
	}
	var started int64
	var released, fresh, young bool
	var now time.Time
	o.ID = id
	err = s.onPool(ctx, "read owner "+string(id), nil, true, func() error {
		return s.pool.QueryRow(ctx, `SELECT pid, host, socket, started_at, released,
			beat > clock_timestamp() - $2::interval, pg_postmaster_start_time() > clock_timestamp() - $2::interval,
			clock_timestamp() FROM owners WHERE id = $1`,
			string(id), deadAfter).Scan(&o.PID, &o.Host, &o.Socket, &started, &released, &fresh, &young, &now)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return o, false, fmt.Errorf("owner %q: %w", id, troupe.ErrNotFound)
	}
	if err != nil {
		return o, false, err
	}
	o.Host, o.Socket, o.StartedAt = restored(o.Host), restored(o.Socket), table.ReadTime(started)
	s.life.mu.Lock()
	shaken := !s.life.steady.IsZero() && now.Sub(s.life.steady) < deadAfter
	s.life.mu.Unlock()
	return o, !released && (fresh || young || shaken), nil
}
