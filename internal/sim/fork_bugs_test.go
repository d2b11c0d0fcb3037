package sim_test

import (
	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// otherPrompt has forks be told something else than their parents.
type otherPrompt struct{ session.Profiles }

func (p otherPrompt) Open(definitions []byte) (session.Roles, error) {
	r, err := p.Profiles.Open(definitions)
	return otherPromptRoles{r}, err
}

type otherPromptRoles struct{ session.Roles }

func (r otherPromptRoles) Fork(of troupe.Profile, sp troupe.Spawn) troupe.Profile {
	out := r.Roles.Fork(of, sp)
	out.Prompt += " You are a fork."
	return out
}

func forksToldMore() func(*session.Deps) {
	return func(d *session.Deps) { d.Profiles = otherPrompt{d.Profiles} }
}

// shifting writes another event down as where a fork goes on from.
type shifting struct{ store.Tx }

func (t shifting) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	for i, e := range events {
		if b, ok := e.Body.(troupe.Created); ok && b.Fork != nil {
			at := *b.Fork
			at.Seq--
			b.Fork = &at
			events[i].Body = b
		}
	}
	return t.Tx.Append(l, s, events)
}

// regrown gives forks a birth that says nothing of their being forks.
type regrown struct{ store.Tx }

func (t regrown) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	for i, e := range events {
		if b, ok := e.Body.(troupe.Created); ok && b.Fork != nil {
			b.Fork, b.Profile.Fork = nil, false
			events[i].Body = b
		}
	}
	return t.Tx.Append(l, s, events)
}

// uncounted leaves forks out of the number of births.
type uncounted struct {
	store.Tx
	forks int
}

func (t *uncounted) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	for _, e := range events {
		if b, ok := e.Body.(troupe.Created); ok && b.Fork != nil {
			t.forks++
		}
	}
	return t.Tx.Append(l, s, events)
}

func (t *uncounted) AddTree(root troupe.SessionID, d troupe.TreeDelta) error {
	n := min(t.forks, d.Total)
	d.Total -= n
	t.forks -= n
	return t.Tx.AddTree(root, d)
}
