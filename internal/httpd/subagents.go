package httpd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// progressEvery is how often a stream tells how far one sub-agent is, at the most.
const progressEvery = time.Second

// subagents makes the messages about the sub-agents of one session, beside the events of its stream. Births and ends
// follow from the session's own log, so that a reader which comes back with the id of one of them misses none and gets
// none twice. Progress is a state and no event: it has no id, and who comes back is told the newest.
type subagents struct {
	api  api.API
	of   troupe.SessionID
	tree bool // events of the whole tree were asked for
	// seen is the last event of the session that the reader has, and told how many messages of the next one.
	seen  int64
	told  int
	known map[troupe.SessionID]*progress // the session's own
	err   error                          // what kept it from making a message
}

// progress is how far a sub-agent is.
type progress struct {
	wire.Subagent

	news bool      // that the reader has not been told
	next time.Time // it may be told then
	over int       // the last run whose end the reader was told
}

// sends reports whether events of a session are sent themselves.
func (x *subagents) sends(id troupe.SessionID) bool { return x == nil || x.tree || id == x.of }

// failed is why a message could not be made; nil if all could.
func (x *subagents) failed() error {
	if x == nil {
		return nil
	}
	return x.err
}

// beside writes the messages that come before an event.
func (x *subagents) beside(ctx context.Context, out *flusher, e troupe.Event) error {
	if x == nil {
		return nil
	}
	all, err := x.take(ctx, e)
	if x.err = err; err != nil {
		return err
	}
	for i, m := range all {
		if e.Seq == x.seen+1 && i < x.told {
			continue
		}
		at := cursor{e.Session, e.Seq - 1, i + 1}
		if err := out.add("event: "+m.Type+"\nid: "+at.String(), m); err != nil {
			return err
		}
	}
	return nil
}

// behind writes the messages that come after all events there are.
func (x *subagents) behind(out *flusher) error {
	if x == nil {
		return nil
	}
	for _, m := range x.due(time.Now()) {
		if err := out.add("event: "+m.Type, m); err != nil {
			return err
		}
	}
	return nil
}

// begin has a stream follow the whole tree: the session from where the reader was, its sub-agents from now on.
func (x *subagents) begin(ctx context.Context, f *wire.Follow) error {
	x.seen, x.known = f.From[x.of], make(map[troupe.SessionID]*progress)
	t, err := x.api.Tree(ctx, x.of)
	if err != nil {
		return err
	}
	for _, s := range t.Sessions {
		if _, given := f.From[s.ID]; s.ID != x.of && !given && !x.tree {
			f.From[s.ID] = s.Seq
		}
		if s.Parent == x.of {
			x.known[s.ID] = &progress{news: s.Status.Live(), Subagent: wire.Subagent{Type: wire.SubagentProgress,
				ID: s.ID, Name: s.Name, Status: s.Status.OfSubagent(), Iterations: s.Turns}}
		}
	}
	f.Only = ""
	return nil
}

// take makes the messages of an event, and notes what it says of how far somebody is.
func (x *subagents) take(ctx context.Context, e troupe.Event) (out []wire.Subagent, err error) {
	if e.Session != x.of {
		x.step(e)
		return nil, nil
	}
	out = wire.SubagentsIn(e.Body)
	for i := range out {
		if out[i].Type != wire.SubagentSpawned {
			if p := x.known[out[i].ID]; p != nil {
				p.news, p.over = false, max(p.over, out[i].Run)
			}
			continue
		}
		if out[i].Mode, err = x.modeOf(ctx, out[i].ID); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// modeOf is the mode in which a sub-agent of the session was born.
func (x *subagents) modeOf(ctx context.Context, id troupe.SessionID) (string, error) {
	if p := x.known[id]; p != nil && p.Mode != "" {
		return p.Mode, nil
	}
	events, err := x.api.Events(ctx, id, 0, 1)
	for _, e := range events {
		if b, ok := e.Body.(troupe.Created); ok {
			x.born(id, b)
		}
	}
	if p := x.known[id]; p != nil {
		return p.Mode, err
	}
	return "", err
}

// born notes a sub-agent of the session.
func (x *subagents) born(id troupe.SessionID, b troupe.Created) {
	p := x.known[id]
	if p == nil {
		p = &progress{Subagent: wire.Subagent{Type: wire.SubagentProgress, ID: id,
			Status: troupe.Spawning.OfSubagent()}}
		x.known[id] = p
	}
	if p.Name, p.Mode = b.Name, wire.Foreground; b.Background {
		p.Mode = wire.Background
	}
}

// step takes in an event of another session of the tree.
func (x *subagents) step(e troupe.Event) {
	if b, ok := e.Body.(troupe.Created); ok && b.Parent == x.of {
		x.born(e.Session, b)
	}
	if p := x.known[e.Session]; p != nil && wire.SubagentStep(e.Body, &p.Subagent) {
		b, end := e.Body.(troupe.Ended)
		p.news = !end || b.Outcome.Run > p.over
	}
}

// due are the messages about progress that may be told now.
func (x *subagents) due(now time.Time) (out []wire.Subagent) {
	for _, p := range x.known {
		if p == nil || !p.news || now.Before(p.next) {
			continue
		}
		p.news, p.next = false, now.Add(progressEvery)
		s := p.Subagent
		s.Mode = ""
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b wire.Subagent) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return out
}

// wait is how long the stream may wait for events; most if there is nothing to tell before.
func (x *subagents) wait(now time.Time, most time.Duration) time.Duration {
	if x != nil {
		for _, p := range x.known {
			if p != nil && p.news {
				most = min(most, max(0, p.next.Sub(now)))
			}
		}
	}
	return most
}
