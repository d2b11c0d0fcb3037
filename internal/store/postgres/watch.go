package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// lookEvery is how often Watch looks if nothing is told.
const lookEvery = time.Second

var _ store.Watcher = (*Store)(nil)

// Watch implements store.Watcher.
func (s *Store) Watch(ctx context.Context, fn func([]store.Commit)) error {
	w := watching{fn: fn}
	for {
		err := s.watch(ctx, &w)
		if ctx.Err() != nil {
			return nil
		}
		if !passes(err) {
			return explain("watch the database", err)
		}
		w = watching{fn: fn} // it begins anew, and says so
		select {
		case <-time.After(beatEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Store) watch(ctx context.Context, w *watching) (err error) {
	dial, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	c, err := pgx.ConnectConfig(dial, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }() // it holds nothing
	if _, err := c.Exec(ctx, `LISTEN `+pgx.Identifier{s.channel()}.Sanitize()); err != nil {
		return err
	}
	for {
		if err := w.look(ctx, c); err != nil {
			return err
		}
		wait, cancel := context.WithTimeout(ctx, lookEvery)
		_, err := c.WaitForNotification(wait)
		cancel()
		if err != nil && !(errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil) {
			return err
		}
	}
}

// watching is how far a Watch has got. Numbers of transactions are given in the order of their beginnings: all below
// horizon had ended when it was read, so that a later look finds what has changed since by asking from there on, and
// finds again what ended in between.
type watching struct {
	fn      func([]store.Commit)
	begun   bool
	horizon int64
	told    map[troupe.SessionID]int64 // of what changed at or behind the horizon
}

func (w *watching) look(ctx context.Context, c *pgx.Conn) error {
	t, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer t.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	var horizon, removed int64
	err = t.QueryRow(ctx, `SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
		(SELECT count(*) FROM removed WHERE changed >= $1)`, w.horizon).Scan(&horizon, &removed)
	if err != nil {
		return err
	}
	if !w.begun || removed > 0 {
		// What was removed is seen again until its transaction is below the horizon.
		w.begun, w.horizon, w.told = true, horizon, map[troupe.SessionID]int64{}
		if err := w.read(ctx, t, func(store.Commit) {}); err != nil {
			return err
		}
		w.fn(nil)
		return nil
	}
	var news []store.Commit
	if err := w.read(ctx, t, func(c store.Commit) { news = append(news, c) }); err != nil {
		return err
	}
	w.horizon = horizon
	if len(news) > 0 {
		w.fn(news)
	}
	return nil
}

// read hands on what has changed since the horizon and was not told.
func (w *watching) read(ctx context.Context, t pgx.Tx, news func(store.Commit)) error {
	rows, err := t.Query(ctx, `SELECT s.root, s.id, s.seq FROM trees t JOIN sessions s ON s.root = t.root
		WHERE t.changed >= $1 AND s.changed >= $1 AND s.seq > 0`, w.horizon)
	if err != nil {
		return err
	}
	told := make(map[troupe.SessionID]int64)
	for rows.Next() {
		var x store.Commit
		if err := rows.Scan(&x.Root, &x.Session, &x.Seq); err != nil {
			return err
		}
		if told[x.Session] = x.Seq; w.told[x.Session] < x.Seq {
			news(x)
		}
	}
	w.told = told
	return rows.Err()
}
