package apitest

import (
	"context"
	"maps"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// stream follows a World.
type stream struct {
	world  *World
	follow wire.Follow
	seen   map[troupe.SessionID]int64
	said   int // deltas
}

func (w *World) Follow(_ context.Context, f wire.Follow) (api.Stream, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &stream{world: w, follow: f, seen: maps.Clone(f.From), said: len(w.deltas)}
	if s.seen == nil {
		s.seen = make(map[troupe.SessionID]int64)
	}
	return s, nil
}

func (s *stream) Next(ctx context.Context) (wire.Batch, error) {
	for {
		b, changed := s.take()
		if len(b.Events)+len(b.Deltas) > 0 {
			return b, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return b, nil
		}
	}
}

func (s *stream) Rest(context.Context) ([]troupe.Event, error) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	return s.events(), nil
}

func (s *stream) Close() {}

func (s *stream) take() (b wire.Batch, changed <-chan struct{}) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	if s.follow.Deltas {
		b.Deltas = slices.Clone(s.world.deltas[s.said:])
		s.said = len(s.world.deltas)
	}
	b.Events = s.events()
	return b, s.world.changed
}

// events is called with the World's mutex held.
func (s *stream) events() []troupe.Event {
	var out []troupe.Event
	for _, id := range []troupe.SessionID{Root, Child} {
		if s.follow.Only != "" && s.follow.Only != id {
			continue
		}
		for _, e := range s.world.events[id] {
			if e.Seq > s.seen[id] {
				s.seen[id] = e.Seq
				out = append(out, e)
			}
		}
	}
	return out
}
