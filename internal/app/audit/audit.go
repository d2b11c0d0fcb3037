// Package audit keeps who did what at a server: one record for each act, written before it is carried out, and once
// more with what came of it. What was said to agents stands in the logs of sessions, under the same names, and not
// here.
//
// What a user may not do, or asks of what is not there, has changed nothing: with the same verb and token it is listed
// once a minute, with how often it was tried.
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
	"sync"
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
	// page is how many are read at once at the most, and leastPage at the least.
	page, leastPage = 1000, 50
	// countsFor is how long what is refused is counted, and mostCounted for how many verbs and tokens at once.
	countsFor = time.Minute
	// countsWithin is how long a database may take for that.
	countsWithin = 5 * time.Second
	mostCounted  = 1000
)

// Log is the acts of one database. It may be used from several goroutines, and several processes.
type Log struct {
	records store.Records
	now     func() time.Time
	noted   atomic.Int64

	mu      sync.Mutex
	refused map[string]*entry // what is counted, by token and verb
}

// entry is an act, and its record.
type entry struct {
	wire.Act

	r store.Record
}

// New makes the log that records hold.
func New(records store.Records, now func() time.Time) *Log {
	return &Log{records: records, now: now, refused: make(map[string]*entry)}
}

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
	e := &entry{a, store.Record{Kind: kind, Key: key(a.At) + hex.EncodeToString(more[:])}}
	if err = l.put(ctx, e); err != nil {
		return nil, fmt.Errorf("note who does this: %w", err)
	}
	if l.noted.Add(1)%sweepEvery == 1 {
		if err := l.sweep(ctx); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, err error) {
		ctx = context.WithoutCancel(ctx)
		e.Outcome = wire.ActDone
		if err != nil {
			e.Outcome, e.Problem = wire.ActFailed, wire.Cut(wire.NewProblem(err).Detail)
		}
		if isRefusal(err) && l.count(ctx, e) {
			return
		}
		// it was carried out; who looks sees that its outcome is not known
		_ = l.put(ctx, e)
	}, nil
}

func (l *Log) put(ctx context.Context, e *entry) (err error) {
	if e.r.Value, err = json.Marshal(e.Act); err == nil {
		e.r.Version, err = l.records.PutRecord(ctx, e.r)
	}
	return err
}

// isRefusal reports whether what failed so was not begun.
func isRefusal(err error) bool {
	user, ok := errors.AsType[*troupe.UserError](err)
	return ok && user.Code == troupe.ExitPermission || errors.Is(err, troupe.ErrNotFound)
}

// count adds a refused act to the like of the last minute, in its place. It reports whether there is one; else this is
// the first.
func (l *Log) count(ctx context.Context, e *entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, countsWithin) // others who are refused wait meanwhile
	defer cancel()
	like := e.By + "\x00" + e.Token + "\x00" + e.Verb
	first := l.refused[like]
	if first == nil || first == e || e.At.Sub(first.At) >= countsFor {
		if len(l.refused) >= mostCounted {
			clear(l.refused)
		}
		l.refused[like] = e
		return false
	}
	first.Times = max(first.Times, 1) + 1
	if err := l.put(ctx, first); err != nil {
		return false
	}
	return l.records.DeleteRecord(ctx, e.r.Kind, e.r.Key, e.r.Version) == nil
}

// Acts lists the newest first.
func (l *Log) Acts(ctx context.Context, q wire.ActQuery) ([]wire.Act, error) {
	if store.Listable(kind, q.After) != nil {
		return nil, &troupe.UserError{Problem: fmt.Sprintf("%.80q is the id of no act", q.After),
			Hint: "Give the id of the last act of the page before.", Code: troupe.ExitUsage}
	}
	out, most := []wire.Act{}, page
	if q.Limit > 0 {
		most = min(page, max(q.Limit, leastPage))
	}
	for after := q.After; ; most = min(page, 2*most) {
		all, err := l.records.Records(ctx, kind, after, most)
		if err != nil {
			return nil, fmt.Errorf("list who did what: %w", err)
		}
		for _, r := range all {
			var a wire.Act
			if err := json.Unmarshal(r.Value, &a); err != nil { // the others are told of
				a = wire.Act{Problem: "its record cannot be read: " + err.Error()}
			}
			if a.ID = r.Key; q.By != "" && q.By != a.By || q.About != "" &&
				q.About != a.About && q.About != string(a.Session) {
				continue
			}
			if out = append(out, a); len(out) == q.Limit {
				return out, nil
			}
		}
		if len(all) < most {
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
