package sim_test

import (
	"bytes"
	"context"
	"regexp"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/workflow"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// Bugs of main agents that lead others: of workflows, of coordinators, of teams that begin with their lead, and of
// what members ask.

// onFlow changes what a workflow is told of how far it has come.
func onFlow(change func([]byte) []byte) func() func(*session.Deps) {
	return func() func(*session.Deps) {
		return func(d *session.Deps) { d.Models = flowModels{d.Models, change} }
	}
}

type flowModels struct {
	session.Models
	change func([]byte) []byte
}

func (m flowModels) Provider(full string) (model.Provider, string, error) {
	p, id, err := m.Models.Provider(full)
	if err == nil && workflow.Follows(full) {
		p = misled{p, m.change}
	}
	return p, id, err
}

type misled struct {
	model.Provider
	change func([]byte) []byte
}

func (m misled) Stream(ctx context.Context, r model.Request, sink func(model.Delta)) (troupe.Reply, error) {
	r.Messages = slices.Clone(r.Messages)
	for i, b := range r.Messages {
		r.Messages[i] = m.change(b)
	}
	return m.Provider.Stream(ctx, r, sink)
}

// needless has each step need nothing.
func needless(b []byte) []byte {
	return regexp.MustCompile(`needs: \[[^]]*\]`).ReplaceAll(b, []byte("needs: []"))
}

// misquoting tells steps something else than those reported that they need.
func misquoting(b []byte) []byte {
	return bytes.ReplaceAll(b, []byte("so it is ("), []byte("so it was ("))
}

// busybody is a take-over after which a coordinator has tools of its own.
type busybody struct{ store.Tx }

func (t busybody) Events(id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	return onRead(t.Tx, id, after, limit, func(b troupe.Body) troupe.Body {
		if b, ok := b.(troupe.Created); ok && b.Profile.Coordinates {
			b.Profile.Tools = append(slices.Clone(b.Profile.Tools), "Bash", "Read")
			return b
		}
		return b
	})
}

// attentive is a take-over after which a coordinator waits for its workers.
type attentive struct{ store.Tx }

func (t attentive) Events(id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	return onRead(t.Tx, id, after, limit, func(b troupe.Body) troupe.Body {
		if b, ok := b.(troupe.Created); ok {
			b.Profile.Coordinates = false
			return b
		}
		return b
	})
}

// shorthanded leaves a member out of what the lead's log says of its team.
type shorthanded struct{ store.Tx }

func (t shorthanded) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	return onAppend(t.Tx, l, s, events, shortened)
}

func shortened(b troupe.Body) troupe.Body {
	if b, ok := b.(troupe.TeamChanged); ok && len(b.Members) > 0 {
		b.Members = b.Members[1:]
		return b
	}
	return b
}

// unaffiliated has members be born of no team.
func unaffiliated() func(*session.Deps) {
	return func(d *session.Deps) { d.Profiles = loners{d.Profiles} }
}

type loners struct{ session.Profiles }

func (p loners) Open(text []byte) (session.Roles, error) {
	r, err := p.Profiles.Open(text)
	return loner{r}, err
}

type loner struct{ session.Roles }

func (r loner) Resolve(parent troupe.Session, sp troupe.Spawn) (troupe.Profile, error) {
	p, err := r.Roles.Resolve(parent, sp)
	p.Team = ""
	return p, err
}

// secretive does not tell the lead what its members ask.
type secretive struct{ store.Tx }

func (t secretive) Send(m troupe.Mail) (bool, error) {
	if m.ID.Asks() != "" {
		return true, nil
	}
	return t.Tx.Send(m)
}

// obliging takes the lead's no for a yes.
type obliging struct{ store.Tx }

func (t obliging) Send(m troupe.Mail) (bool, error) {
	if m.Answer != nil && m.Answer.Lead {
		yes(m.Answer)
	}
	return t.Tx.Send(m)
}
