package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// lookEvery bounds how late Watch tells of a commit. A look at an unchanged database costs microseconds.
const lookEvery = 200 * time.Millisecond

var _ store.Watcher = (*Store)(nil)

// Watch implements store.Watcher. SQLite tells of no commit, but a connection can ask
// whether another one has committed anything, without a query. If so, the new rows of the
// events are read by their row numbers, whatever tree they are of.
func (s *Store) Watch(ctx context.Context, fn func([]store.Commit)) (err error) {
	c, err := connect(ctx, s.path, readerPragmas)
	if err != nil {
		return explain(s.path, "open the database to watch it", err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	var w watching
	for {
		if err := w.look(c, fn); err != nil {
			return explain(s.path, "watch the database", err)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// watching is how far a Watch has got.
type watching struct {
	begun   bool
	version int64 // of the database, as the connection sees it
	row     int64 // the newest row of the events; 0: there was none
	last    store.Commit
}

func (w *watching) look(c *conn, fn func([]store.Commit)) error {
	v, err := c.number("PRAGMA data_version")
	if err != nil || w.begun && v == w.version {
		return err
	}
	w.version = v
	news, ok, err := w.since(c)
	if err != nil {
		return err
	}
	if !ok {
		w.begun, w.row = true, 0
		err := c.query(func(r table.Row) error { w.take(r); return nil },
			`SELECT rowid, root, session, seq FROM events ORDER BY rowid DESC LIMIT 1`)
		if err != nil {
			return err
		}
		fn(nil)
	} else if len(news) > 0 {
		fn(news)
	}
	return nil
}

// since reads what was appended behind the newest row it knows. If that row is gone, its tree was
// removed and its number may have been given out again: ok is false.
func (w *watching) since(c *conn) (news []store.Commit, ok bool, err error) {
	if !w.begun {
		return nil, false, nil
	}
	from, known := w.row, w.last
	ok = from == 0
	at := map[troupe.SessionID]int{} // where in news a session stands
	err = c.query(func(r table.Row) error {
		w.take(r)
		if w.row == from && w.last == known {
			ok = true
			return nil
		}
		i, seen := at[w.last.Session]
		if !seen {
			i = len(news)
			at[w.last.Session], news = i, append(news, w.last)
		}
		news[i] = w.last
		return nil
	}, `SELECT rowid, root, session, seq FROM events WHERE rowid >= ? ORDER BY rowid`, from)
	return news, ok, err
}

func (w *watching) take(r table.Row) {
	w.row = r.Int64(0)
	w.last = store.Commit{Root: troupe.SessionID(r.Text(1)), Session: troupe.SessionID(r.Text(2)), Seq: r.Int64(3)}
}
