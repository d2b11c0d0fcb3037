package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"

	"modernc.org/sqlite"

	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// conn is one connection with the statements it has prepared so far. It speaks to the
// driver without database/sql, whose pool, locks and conversions cost as much per
// statement as SQLite does; one goroutine at a time uses it.
type conn struct {
	dc driver.Conn
	// ctx never ends: a statement is not cancelled half way, and the driver starts a
	// goroutine per statement for a context that can end.
	ctx   context.Context //nolint:containedctx // see above; made by connect with WithoutCancel
	stmts map[string]statement
	args  []driver.NamedValue
}

// statement is what the driver's prepared statements can do.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// busyMillis is how long SQLite itself waits for another process before it reports that
// the database is busy. The writer then asks again, so it is also how soon a function
// whose context has ended leaves the queue.
const busyMillis = 250

// connect opens the file at path, which must exist.
func connect(ctx context.Context, path, pragmas string) (*conn, error) {
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: "mode=rw&_error_rc=1"}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	dc, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{dc: dc, ctx: ctx, stmts: map[string]statement{}}
	if err := c.script(fmt.Sprintf("PRAGMA busy_timeout = %d; %s", busyMillis, pragmas)); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *conn) close() error {
	var err error
	for _, s := range c.stmts {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, c.dc.Close())
}

// script runs statements that are not worth keeping prepared.
func (c *conn) script(sql string) error {
	ex, ok := c.dc.(driver.ExecerContext)
	if !ok {
		return fmt.Errorf("the SQLite driver's %T cannot execute", c.dc)
	}
	_, err := ex.ExecContext(c.ctx, sql, nil)
	return err
}

func (c *conn) prepared(sql string) (statement, error) {
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	p, ok := c.dc.(driver.ConnPrepareContext)
	if !ok {
		return nil, fmt.Errorf("the SQLite driver's %T cannot prepare", c.dc)
	}
	st, err := p.PrepareContext(c.ctx, sql)
	if err != nil {
		return nil, err
	}
	s, ok := st.(statement)
	if !ok {
		return nil, fmt.Errorf("the SQLite driver's %T is not a statement with a context", st)
	}
	c.stmts[sql] = s
	return s, nil
}

// bind makes the driver's form of args in c's buffer.
func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		if n, ok := a.(int); ok {
			a = int64(n)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs one statement and returns how many rows it changed.
func (c *conn) exec(sql string, args ...any) (int64, error) {
	s, err := c.prepared(sql)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(c.ctx, c.bind(args))
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// query calls each for every row of the result.
func (c *conn) query(each func(table.Row) error, sql string, args ...any) (err error) {
	s, err := c.prepared(sql)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(c.ctx, c.bind(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	r := make(table.Row, len(rows.Columns()))
	for {
		if err := rows.Next(r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := each(r); err != nil {
			return err
		}
	}
}

// number runs a query whose result is one integer; no row at all is 0.
func (c *conn) number(sql string, args ...any) (n int64, err error) {
	err = c.query(func(r table.Row) error { n = r.Int64(0); return nil }, sql, args...)
	return n, err
}
