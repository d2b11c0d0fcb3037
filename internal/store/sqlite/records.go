package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

var _ store.Records = (*Store)(nil)

var errNoVersion = errors.New("the last version that was given is missing")

// Record implements store.Records, as do the methods below.
func (s *Store) Record(ctx context.Context, kind, key string) (r store.Record, err error) {
	if err := store.Findable(kind, key); err != nil {
		return r, err
	}
	found := false
	doing := "read record " + key + " of kind " + kind
	err = s.read(ctx, func(t *table.Reader) error {
		return t.Query(doing, func(row table.Row) error {
			found, r = true, store.Record{Kind: kind, Key: key, Version: row.Int64(0), Value: row.Bytes(1)}
			return nil
		}, `SELECT version, value FROM records WHERE kind = ? AND key = ?`, kind, key)
	})
	if err == nil && !found {
		err = fmt.Errorf("%s: %w", doing, troupe.ErrNotFound)
	}
	return r, err
}

// Records implements store.Records.
func (s *Store) Records(ctx context.Context, kind, after string, limit int) (out []store.Record, err error) {
	if err := store.Listable(kind, after); err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = -1
	}
	err = s.read(ctx, func(t *table.Reader) error {
		return t.Query("list records of kind "+kind, func(row table.Row) error {
			out = append(out, store.Record{Kind: kind, Key: row.Text(0), Version: row.Int64(1), Value: row.Bytes(2)})
			return nil
		}, `SELECT key, version, value FROM records WHERE kind = ? AND key > ? ORDER BY key LIMIT ? + 0`, kind, after,
			limit)
	})
	return out, err
}

// PutRecord implements store.Records.
func (s *Store) PutRecord(ctx context.Context, r store.Record) (version int64, err error) {
	if err := r.Check(); err != nil {
		return 0, err
	}
	doing := "put record " + r.Key + " of kind " + r.Kind
	value := r.Value
	if value == nil {
		value = []byte{} // nil is NULL
	}
	err = s.write(ctx, "", func(t *table.Tx) error {
		version = 0
		err := t.Query(doing, func(row table.Row) error { version = row.Int64(0) + 1; return nil },
			`SELECT version FROM records WHERE kind = '' AND key = ''`)
		if err == nil && version == 0 {
			err = explain(s.path, doing, &table.Undecodable{Err: errNoVersion})
		}
		if err != nil {
			return err
		}
		var n int64
		if r.Version == 0 {
			n, err = t.Exec(doing, `INSERT INTO records (kind, key, version, value) VALUES (?,?,?,?)
				ON CONFLICT (kind, key) DO NOTHING`, r.Kind, r.Key, version, value)
		} else {
			n, err = t.Exec(doing, `UPDATE records SET version = ?, value = ?
				WHERE kind = ? AND key = ? AND version = ?`, version, value, r.Kind, r.Key, r.Version)
		}
		if err == nil && n == 0 {
			err = fmt.Errorf("%s: %w", doing, troupe.ErrChanged)
		}
		if err != nil {
			return err
		}
		_, err = t.Exec(doing, `UPDATE records SET version = ? WHERE kind = '' AND key = ''`, version)
		return err
	})
	if err != nil {
		return 0, err
	}
	return version, nil
}

// DeleteRecord implements store.Records.
func (s *Store) DeleteRecord(ctx context.Context, kind, key string, version int64) error {
	if err := store.Findable(kind, key); err != nil {
		return err
	}
	doing := "delete record " + key + " of kind " + kind
	return s.write(ctx, "", func(t *table.Tx) error {
		n, err := t.Exec(doing, `DELETE FROM records WHERE kind = ? AND key = ? AND version = ?`, kind, key, version)
		if err != nil || n > 0 {
			return err
		}
		why := troupe.ErrNotFound
		err = t.Query(doing, func(table.Row) error { why = troupe.ErrChanged; return nil },
			`SELECT 1 FROM records WHERE kind = ? AND key = ?`, kind, key)
		if err == nil {
			err = fmt.Errorf("%s: %w", doing, why)
		}
		return err
	})
}
