package app

import (
	"context"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// following implements api.Following.
type following struct{ use }

func (u following) Follow(_ context.Context, f wire.Follow) (api.Stream, error) {
	s := &stream{f: u.FollowFrom(f.Root, f.Only, f.From)}
	if f.Deltas {
		s.pieces, s.stop = u.Deltas()
	}
	return s, nil
}

// stream puts the pieces of replies between the events that they stand between.
type stream struct {
	f      *Follower
	pieces <-chan wire.Delta // nil: not asked for
	stop   func()
	ahead  []wire.Delta // of what comes behind the last batch
}

func (s *stream) Close() {
	s.f.Close()
	if s.stop != nil {
		s.stop()
	}
}

func (s *stream) Rest(ctx context.Context) ([]troupe.Event, error) { return s.f.All(ctx) }

func (s *stream) Next(ctx context.Context) (wire.Batch, error) {
	if b := s.split(nil); len(b.Deltas) > 0 {
		return b, nil
	}
	if s.pieces != nil {
		waiting, woken := context.WithCancel(ctx)
		defer woken()
		got := make(chan struct{})
		go func() {
			defer close(got)
			select {
			case d := <-s.pieces:
				s.ahead = append(s.ahead, d)
				woken()
			case <-waiting.Done():
			}
		}()
		events, err := s.f.Next(waiting)
		woken()
		<-got
		return s.split(events), err
	}
	events, err := s.f.Next(ctx)
	return s.split(events), err
}

// split makes a batch of events and of the pieces that came before them. What is behind them
// waits for the next one, and what they hold already is dropped.
func (s *stream) split(events []troupe.Event) wire.Batch {
	for len(s.pieces) > 0 {
		s.ahead = append(s.ahead, <-s.pieces)
	}
	first := make(map[troupe.SessionID]int64)
	for _, e := range events {
		if _, ok := first[e.Session]; !ok {
			first[e.Session] = e.Seq
		}
	}
	out, ahead := wire.Batch{Events: events}, s.ahead
	s.ahead = nil
	for _, d := range ahead {
		seen, ours := s.f.cursors[d.Session]
		begin, some := first[d.Session]
		switch {
		case !ours || s.f.only != "" && s.f.only != d.Session:
		case some && d.After >= begin-1 && d.After < seen, !some && d.After == seen:
			out.Deltas = append(out.Deltas, d)
		case d.After >= seen:
			s.ahead = append(s.ahead, d)
		}
	}
	return out
}
