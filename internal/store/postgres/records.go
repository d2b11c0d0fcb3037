package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

var _ store.Records = (*Store)(nil)

// Record implements store.Records, as do the methods below.
func (s *Store) Record(ctx context.Context, kind, key string) (r store.Record, err error) {
	doing := "read record " + key + " of kind " + kind
	err = s.onPool(ctx, doing, store.Findable(kind, key), true, func() error {
		r = store.Record{Kind: kind, Key: key}
		return s.pool.QueryRow(ctx, `SELECT version, value FROM records WHERE kind = $1 AND key = $2`, kind,
			key).Scan(&r.Version, &r.Value)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Record{}, fmt.Errorf("%s: %w", doing, troupe.ErrNotFound)
	}
	return r, err
}

// Records implements store.Records.
func (s *Store) Records(ctx context.Context, kind, after string, limit int) (out []store.Record, err error) {
	doing := "list records of kind " + kind
	var most any // NULL is no limit
	if limit > 0 {
		most = limit
	}
	err = s.onPool(ctx, doing, store.Listable(kind, after), true, func() error {
		rows, err := s.pool.Query(ctx, `SELECT key, version, value FROM records WHERE kind = $1 AND key > $2
			ORDER BY key LIMIT $3`, kind, after, most)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Record, error) {
			r := store.Record{Kind: kind}
			return r, row.Scan(&r.Key, &r.Version, &r.Value)
		})
		return err
	})
	return out, err
}

// PutRecord implements store.Records. Where the connection breaks before the answer, it is not tried again, and the
// error says that it may have been written: who reads the record knows.
func (s *Store) PutRecord(ctx context.Context, r store.Record) (version int64, err error) {
	doing := "put record " + r.Key + " of kind " + r.Kind
	value := r.Value
	if value == nil {
		value = []byte{} // nil is NULL
	}
	err = s.onPool(ctx, doing, r.Check(), false, func() error {
		if r.Version == 0 {
			return s.pool.QueryRow(ctx, `INSERT INTO records (kind, key, version, value)
				VALUES ($1, $2, nextval('record_versions'), $3) ON CONFLICT (kind, key) DO NOTHING RETURNING version`,
				r.Kind, r.Key, value).Scan(&version)
		}
		return s.pool.QueryRow(ctx, `UPDATE records SET version = nextval('record_versions'), value = $3
			WHERE kind = $1 AND key = $2 AND version = $4 RETURNING version`, r.Kind, r.Key, value,
			r.Version).Scan(&version)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("%s: %w", doing, troupe.ErrChanged)
	}
	return version, err
}

// DeleteRecord implements store.Records. A connection that breaks is as for PutRecord.
func (s *Store) DeleteRecord(ctx context.Context, kind, key string, version int64) error {
	doing := "delete record " + key + " of kind " + kind
	var gone, there bool
	err := s.onPool(ctx, doing, store.Findable(kind, key), false, func() error {
		return s.pool.QueryRow(ctx, `WITH d AS (DELETE FROM records WHERE kind = $1 AND key = $2 AND version = $3
			RETURNING 1) SELECT EXISTS (SELECT FROM d), EXISTS (SELECT FROM records WHERE kind = $1 AND key = $2)`, kind,
			key, version).Scan(&gone, &there)
	})
	switch {
	case err != nil || gone:
		return err
	case there:
		return fmt.Errorf("%s: %w", doing, troupe.ErrChanged)
	}
	return fmt.Errorf("%s: %w", doing, troupe.ErrNotFound)
}

// onPool runs a statement by itself, on any connection, unless something is wrong already. What fails before it was
// sent is tried again,
// for as long as a server that starts anew may take; of what was sent that alone which only reads.
func (s *Store) onPool(ctx context.Context, doing string, wrong error, reads bool, fn func() error) error {
	if wrong != nil {
		return wrong
	}
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
	err := s.patiently(doing, func() bool { return ctx.Err() != nil }, func() error {
		err := fn()
		switch {
		case errors.Is(err, pgx.ErrNoRows):
		case err == nil || reads || pgconn.SafeToRetry(err) || errors.As(err, new(*pgconn.ConnectError)):
			return err
		case code(err) == "", strings.HasPrefix(code(err), classConnection),
			strings.HasPrefix(code(err), classShutdown):
			err = fmt.Errorf("%s: %w: %w", doing, table.ErrOutcome, err)
		}
		answer = err
		return nil
	})
	if err == nil {
		err = answer
	}
	switch {
	case err == nil || errors.Is(err, pgx.ErrNoRows):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, table.ErrOutcome):
		return err
	}
	return explain(doing, err)
}
