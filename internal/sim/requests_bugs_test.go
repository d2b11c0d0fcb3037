package sim_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

type undead struct{ store.Tx }

func (t undead) PutRequest(r troupe.Request) error {
	if !r.Settled.IsZero() {
		return nil
	}
	return t.Tx.PutRequest(r)
}

type rowless struct{ store.Tx }

func (t rowless) PutRequest(r troupe.Request) error {
	if r.Settled.IsZero() {
		return nil
	}
	return t.Tx.PutRequest(r)
}

// nextQuestion forgets which of the requests about a call was answered.
func nextQuestion(m troupe.Mail) {
	if m.Answer == nil {
		return
	}
	at := &m.Answer.Coord
	if _, err := fmt.Sscanf(strings.TrimPrefix(string(m.Answer.Request), string(m.To)), ".%d.%d", &at.Reply,
		&at.Call); err == nil {
		m.Answer.Request = ""
	}
}

// sluggish says about each call what was to be said about the one before.
func sluggish() func(*session.Deps) {
	return func(d *session.Deps) {
		if d.Judge != nil {
			d.Judge = &late{real: d.Judge}
		}
	}
}

type late struct {
	real session.Judge
	last troupe.Judgement
}

// Judge implements session.Judge.
func (l *late) Judge(ctx context.Context, q session.Judging) (troupe.Judgement, error) {
	said, err := l.real.Judge(ctx, q)
	said, l.last = l.last, said
	return said, err
}

type oblivious struct{ store.Tx }

func (t oblivious) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	for i, e := range events {
		if b, ok := e.Body.(troupe.ToolJudged); ok && b.Effect == troupe.Deny {
			b.Effect = ""
			events[i].Body = b
		}
	}
	return t.Tx.Append(l, s, events)
}
