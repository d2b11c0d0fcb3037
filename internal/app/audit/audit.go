// Package audit keeps who did what at a server: one record for each act, written before it is carried out, and once
// more with what came of it. What was said to agents stands in the logs of sessions, under the same names, and not
// here.
//
// An act that cannot be noted is not carried out. One whose process was killed is there without an outcome.
package audit

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

const (
	kind = "act"
	// keeps is how long acts are kept, and sweepEvery after how many of its own a process looks for older ones.
	keeps      = 400 * 24 * time.Hour
	sweepEvery = 1000
	page       = 1000
)

// Log is the acts of one database. It may be used from several goroutines, and several processes.
type Log struct {
	records store.Records
	now     func() time.Time
	noted   atomic.Int64
}

// New makes the log that records hold.
func New(records store.Records, now func() time.Time) *Log { return &Log{records: records, now: now} }

// key has the newest acts first: records are listed in the order of their keys.
func key(at time.Time) string { return fmt.Sprintf("%016x", math.MaxInt64-at.UnixNano()) }

// Begin notes an act that is about to be carried out, and end what came of it. If that cannot be noted, the act stands
// there without an outcome.
func (l *Log) Begin(ctx context.Context, a wire.Act) (end func(ctx context.Context, err error), err error) {
	a.At = l.now().UTC()
	var more [4]byte
	if _, err := rand.Read(more[:]); err != nil {
		return nil, err
	}
	r := store.Record{Kind: kind, Key: key(a.At) + hex.EncodeToString(more[:])}
	if r.Version, err = l.put(ctx, r, a); err != nil {
		return nil, fmt.Errorf("note who does this: %w", err)
	}
	if l.noted.Add(1)%sweepEvery == 1 {
		if err := l.sweep(ctx); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, err error) {
		a.Outcome = wire.ActDone
		if err != nil {
			a.Outcome, a.Problem = wire.ActFailed, wire.NewProblem(err).Detail
		}
		// it was carried out; who looks sees that its outcome is not known
		_, _ = l.put(context.WithoutCancel(ctx), r, a)
	}, nil
}

func (l *Log) put(ctx context.Context, r store.Record, a wire.Act) (version int64, err error) {
	if r.Value, err = json.Marshal(a); err == nil {
		version, err = l.records.PutRecord(ctx, r)
	}
	return version, err
}

// Acts lists the newest first.
func (l *Log) Acts(ctx context.Context, q wire.ActQuery) ([]wire.Act, error) {
	out := []wire.Act{}
	for after := q.After; ; {
		all, err := l.records.Records(ctx, kind, after, page)
		if err != nil {
			return nil, fmt.Errorf("list who did what: %w", err)
		}
		for _, r := range all {
			var a wire.Act
			if err := json.Unmarshal(r.Value, &a); err != nil {
				return nil, fmt.Errorf("read act %s: %w", r.Key, err)
			}
			if a.ID = r.Key; q.By != "" && q.By != a.By || q.About != "" && q.About != a.About {
				continue
			}
			if out = append(out, a); len(out) == q.Limit {
				return out, nil
			}
		}
		if len(all) < page {
			return out, nil
		}
		after = all[len(all)-1].Key
	}
}

// sweep removes what is old.
func (l *Log) sweep(ctx context.Context) error {
	old, err := l.records.Records(ctx, kind, key(l.now().Add(-keeps)), page)
	for _, r := range old {
		if err == nil {
			err = l.records.DeleteRecord(ctx, r.Kind, r.Key, r.Version)
		}
		if errors.Is(err, troupe.ErrNotFound) || errors.Is(err, troupe.ErrChanged) {
			err = nil // another process was faster
		}
	}
	if err != nil {
		return fmt.Errorf("remove old acts: %w", err)
	}
	return nil
}
