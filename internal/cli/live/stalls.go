package live

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// A model that has sent nothing for stallAfter is told of once for each call. It is given up after stallEnd, the idle
// time of the providers.
const (
	stallAfter = 30 * time.Second
	stallEnd   = 5 * time.Minute
)

// How far the making of a folder has come is told after madeAfter, and every madeAgain from then on.
const (
	madeAfter = 3 * time.Second
	madeAgain = 10 * time.Second
)

// Stalls tells of what keeps agents waiting: model calls that bring nothing, and folders that take long to make. See is
// called for what happens, and Look now and then; both by any goroutine.
type Stalls struct {
	warn func(string)

	mu    sync.Mutex
	names map[troupe.SessionID]string
	since map[troupe.SessionID]time.Time // of calls that have brought nothing yet
	made  map[troupe.SessionID]time.Time // when it is told next how far a folder has come
}

// NewStalls makes a watch that tells by warn.
func NewStalls(warn func(string)) *Stalls {
	return &Stalls{warn: warn, names: make(map[troupe.SessionID]string), since: make(map[troupe.SessionID]time.Time),
		made: make(map[troupe.SessionID]time.Time)}
}

// Know tells the names of sessions whose beginning will not be seen.
func (s *Stalls) Know(sessions []wire.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	know(s.names, sessions)
}

func know(names map[troupe.SessionID]string, sessions []wire.Session) {
	for _, s := range sessions {
		names[s.ID] = s.Name
	}
}

// See notes what has happened by now.
func (s *Stalls) See(b wire.Batch, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range b.Events {
		switch body := e.Body.(type) {
		case troupe.Created:
			s.names[e.Session] = body.Name
		case troupe.WorkspaceReady:
			delete(s.made, e.Session)
		case troupe.CallSealed:
			s.since[e.Session] = now
		case troupe.Replied, troupe.ModelFailed, troupe.Compacted, troupe.Ended:
			delete(s.since, e.Session)
		}
	}
	for _, d := range b.Deltas {
		if d.Text != "" || d.Thinking != "" || d.Tool != "" {
			delete(s.since, d.Session)
		}
		if d.All > 0 {
			s.making(d, now)
		}
	}
}

// making tells of a folder that is in the making, if it takes long.
func (s *Stalls) making(d wire.Delta, now time.Time) {
	next, begun := s.made[d.Session]
	switch {
	case !begun:
		s.made[d.Session] = now.Add(madeAfter)
	case !now.Before(next):
		s.made[d.Session] = now.Add(madeAgain)
		s.warn(s.name(d.Session) + ": " + console.Making(d.Done, d.All))
	}
}

func (s *Stalls) name(id troupe.SessionID) string { return cmp.Or(s.names[id], "main") }

// Look tells of what has stalled since it looked last: one line, however many agents wait.
func (s *Stalls) Look(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var stalled []troupe.SessionID
	for id, since := range s.since {
		if now.Sub(since) >= stallAfter {
			stalled = append(stalled, id)
			delete(s.since, id)
		}
	}
	who := fmt.Sprintf("%d agents", len(stalled))
	switch len(stalled) {
	case 0:
		return
	case 1:
		who = s.name(stalled[0])
	}
	s.warn(fmt.Sprintf("%s: waiting for the model: no answer for %s, given up at %d min", who,
		stallAfter, int(stallEnd.Minutes())))
}
