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

// unminding takes a judge that failed for one that says nothing.
func unminding() func(*session.Deps) {
	return func(d *session.Deps) {
		if d.Judge != nil {
			d.Judge = forgiving{d.Judge}
		}
	}
}

type forgiving struct{ real session.Judge }

// Judge implements session.Judge.
func (f forgiving) Judge(ctx context.Context, q session.Judging) (troupe.Judgement, error) {
	said, _ := f.real.Judge(ctx, q)
	return said, nil
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

// unticked forgets that an item was completed.
type unticked struct{ store.Tx }

func (t unticked) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	for _, e := range events {
		if b, ok := e.Body.(troupe.BoardChanged); ok {
			for i := range b.Items {
				if b.Items[i].Status == troupe.BoardCompleted {
					b.Items[i].Status = troupe.BoardPending
				}
			}
		}
	}
	return t.Tx.Append(l, s, events)
}

// lavish ends plan mode in the mode in which nothing is asked about.
type lavish struct{ store.Tx }

func (t lavish) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	for i, e := range events {
		if b, ok := e.Body.(troupe.AuthorityChanged); ok && strings.HasPrefix(b.By, "the approval") {
			b.Authority.Mode = "yolo"
			events[i].Body = b
		}
	}
	return t.Tx.Append(l, s, events)
}

// misheard takes one option for another.
type misheard struct{ store.Tx }

func (t misheard) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	for i, e := range events {
		if b, ok := e.Body.(troupe.RequestAnswered); ok && len(b.Said) > 0 {
			b.Said = []troupe.Said{{Choices: []string{"neither"}}}
			events[i].Body = b
		}
	}
	return t.Tx.Append(l, s, events)
}
