package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

var _ store.Records = (*Store)(nil)

// name is the key of a record.
type name struct{ kind, key string }

// Record implements store.Records, as do the methods below.
func (s *Store) Record(ctx context.Context, kind, key string) (r store.Record, err error) {
	err = s.withRecords(ctx, store.Findable(kind, key), func() error {
		var ok bool
		if r, ok = s.db.records[name{kind, key}]; !ok {
			return fmt.Errorf("record %s of kind %s: %w", key, kind, troupe.ErrNotFound)
		}
		r.Value = slices.Clone(r.Value)
		return nil
	})
	return r, err
}

// Records implements store.Records.
func (s *Store) Records(ctx context.Context, kind, after string, limit int) (out []store.Record, err error) {
	err = s.withRecords(ctx, store.Listable(kind, after), func() error {
		for n, r := range s.db.records {
			if n.kind == kind && n.key > after {
				r.Value = slices.Clone(r.Value)
				out = append(out, r)
			}
		}
		return nil
	})
	slices.SortFunc(out, func(a, b store.Record) int { return cmp.Compare(a.Key, b.Key) })
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out, err
}

// PutRecord implements store.Records.
func (s *Store) PutRecord(ctx context.Context, r store.Record) (version int64, err error) {
	err = s.withRecords(ctx, r.Check(), func() error {
		n := name{r.Kind, r.Key}
		if s.db.records[n].Version != r.Version {
			return fmt.Errorf("record %s of kind %s: %w", r.Key, r.Kind, troupe.ErrChanged)
		}
		s.db.version++
		version = s.db.version
		r.Version, r.Value = version, slices.Clone(r.Value)
		s.db.records[n] = r
		return nil
	})
	return version, err
}

// DeleteRecord implements store.Records.
func (s *Store) DeleteRecord(ctx context.Context, kind, key string, version int64) error {
	return s.withRecords(ctx, store.Findable(kind, key), func() error {
		n := name{kind, key}
		r, ok := s.db.records[n]
		switch {
		case !ok:
			return fmt.Errorf("record %s of kind %s: %w", key, kind, troupe.ErrNotFound)
		case r.Version != version:
			return fmt.Errorf("record %s of kind %s: %w", key, kind, troupe.ErrChanged)
		}
		delete(s.db.records, n)
		return nil
	})
}

// withRecords runs fn under the lock, unless something is wrong already.
func (s *Store) withRecords(ctx context.Context, wrong error, fn func() error) error {
	if wrong != nil {
		return wrong
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fn()
}
