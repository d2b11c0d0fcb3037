package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/metrics"
	"github.com/troupe-dev/troupe/internal/model/governor"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// measured is a store of which it is counted what this process has written to it: what agents did, and how long the
// database took. It tells the log of the trees that began and ended.
type measured struct {
	store.Store

	log  *slog.Logger
	news atomic.Pointer[func(root troupe.SessionID)] // is called when something happened that may be told elsewhere

	took, failed                       *metrics.Family
	begun, ended, opened, settled      *metrics.Family
	replied, modelFailed, tokens, cost *metrics.Family
}

// measure counts what is written to a store, if anything is counted.
func measure(env Env, s store.Store) store.Store {
	m := env.Metrics
	if m == nil {
		return s
	}
	return &measured{Store: s, log: env.Log,
		took: m.Histogram("troupe_database_update_duration_seconds",
			"How long transactions that write took, with the wait for their turn."),
		failed: m.Counter("troupe_database_errors_total",
			"Transactions that the database did not carry out, by what they were to do.", "op"),
		begun:   m.Counter("troupe_sessions_started_total", "Runs of sessions that began in this process."),
		ended:   m.Counter("troupe_sessions_ended_total", "Runs of sessions that ended in this process.", "status"),
		opened:  m.Counter("troupe_requests_opened_total", "Requests that sessions of this process have opened."),
		settled: m.Counter("troupe_requests_settled_total", "Requests of them that were settled."),
		replied: m.Histogram("troupe_model_call_duration_seconds", "How long model calls took that brought a reply."),
		modelFailed: m.Counter("troupe_model_errors_total",
			"Model calls that failed or were cut off, by what became of them.", "fault"),
		tokens: m.Counter("troupe_model_tokens_total", "Tokens, as model providers count them.", "kind"),
		cost:   m.Counter("troupe_model_cost_dollars_total", "What model calls cost, where the price is known."),
	}
}

// Update implements store.Store.
func (m *measured) Update(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
	var t *measuredTx
	from := time.Now()
	err := m.Store.Update(ctx, root, func(tx store.Tx) error {
		t = &measuredTx{Tx: tx} // what an earlier try has written does not count
		return fn(t)
	})
	m.took.Observe(time.Since(from).Seconds())
	if m.fails("update", err); err == nil && t != nil {
		m.count(ctx, t)
	}
	return err
}

// View implements store.Store.
func (m *measured) View(ctx context.Context, fn func(store.Reader) error) error {
	err := m.Store.View(ctx, fn)
	m.fails("view", err)
	return err
}

// fails counts an error, unless it is the answer to what was asked.
func (m *measured) fails(op string, err error) {
	for _, answer := range []error{nil, troupe.ErrNotFound, troupe.ErrExists, troupe.ErrAmbiguous, troupe.ErrBlocked,
		troupe.ErrFenced, troupe.ErrAsleep, troupe.ErrArchived, troupe.ErrChanged, troupe.ErrCap, context.Canceled} {
		if errors.Is(err, answer) {
			return
		}
	}
	if _, ours := errors.AsType[*troupe.UserError](err); !ours {
		m.failed.Add(1, op)
	}
}

func (m *measured) count(ctx context.Context, t *measuredTx) {
	for kind, n := range map[string]int64{"input": t.sum.Usage.Input, "output": t.sum.Usage.Output,
		"cache_read": t.sum.Usage.CacheRead, "cache_write": t.sum.Usage.CacheWrite} {
		if n > 0 {
			m.tokens.Add(float64(n), kind)
		}
	}
	m.cost.Add(t.sum.Cost.Dollars())
	for _, w := range t.wrote {
		for _, e := range w.events {
			m.event(ctx, w.s, e.Body)
		}
	}
	if news := m.news.Load(); news != nil && t.tells() {
		(*news)(t.wrote[0].s.Root)
	}
}

func (m *measured) event(ctx context.Context, s troupe.Session, body troupe.Body) {
	switch b := body.(type) {
	case troupe.Started:
		m.begun.Add(1)
		if s.ID == s.Root {
			m.log.InfoContext(ctx, "session begins", "session", s.ID, "run", b.Run, "by", s.By, "folder", s.Cwd)
		}
	case troupe.Ended:
		m.ended.Add(1, string(b.Outcome.Status))
		if s.ID == s.Root {
			m.log.InfoContext(ctx, "session ends", "session", s.ID, "run", b.Outcome.Run, "status", b.Outcome.Status,
				"cause", b.Outcome.Cause, "ms", b.Outcome.DurationMS, "tokens", b.Outcome.Tally.Usage.Total(),
				"dollars", b.Outcome.Tally.Cost.Dollars())
		}
	case troupe.Replied:
		m.replied.Observe(float64(b.DurationMS) / 1000)
	case troupe.ModelFailed:
		m.modelFailed.Add(1, string(b.Fault))
	case troupe.RequestOpened:
		m.opened.Add(1)
	case troupe.RequestAnswered:
		m.settled.Add(1)
	}
}

// measuredTx remembers what was written.
type measuredTx struct {
	store.Tx

	sum   troupe.Tally
	wrote []written
}

type written struct {
	s      troupe.Session
	events []troupe.Event
}

// tells reports whether a run has ended, or a request was opened.
func (t *measuredTx) tells() bool {
	return slices.ContainsFunc(t.wrote, func(w written) bool {
		return slices.ContainsFunc(w.events, func(e troupe.Event) bool {
			switch e.Body.(type) {
			case troupe.Ended, troupe.RequestOpened:
				return true
			}
			return false
		})
	})
}

// Append implements store.Tx.
func (t *measuredTx) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	err := t.Tx.Append(l, s, events)
	if err == nil {
		t.wrote = append(t.wrote, written{s, events})
	}
	return err
}

// AddTree implements store.Tx.
func (t *measuredTx) AddTree(root troupe.SessionID, d troupe.TreeDelta) error {
	err := t.Tx.AddTree(root, d)
	if err == nil {
		t.sum = t.sum.Add(d.Tally)
	}
	return err
}

// observe tells of what the engine has in hand.
func observe(m *metrics.Set, h *session.Hub, g *governor.Governor) {
	at := m.Gauge("troupe_sessions", "Sessions that this process has in memory, by what they are at.", "status",
		"waits_for")
	work := m.Gauge("troupe_agents_at_work", "Sessions of them that run, or wait for a model alone.")
	open := m.Gauge("troupe_requests_open", "Requests of theirs that wait for an answer.")
	active := m.Gauge("troupe_model_calls_active", "Model calls that are under way.")
	waiting := m.Gauge("troupe_model_calls_waiting", "Model calls that wait for their provider to take more.")
	m.Ask(func(context.Context) {
		c := session.Count(h)
		metrics.Reset(at, c.Sessions, func(p session.Phase) []string {
			return []string{string(p.Status), string(p.Waiting)}
		})
		work.Set(float64(c.Sessions[session.Phase{Status: troupe.Running}] +
			c.Sessions[session.Phase{Status: troupe.Waiting, Waiting: troupe.WaitModel}]))
		open.Set(float64(c.Requests))
		a, w := g.Load()
		active.Set(float64(a))
		waiting.Set(float64(w))
	})
}
