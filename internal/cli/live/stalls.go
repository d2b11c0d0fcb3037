package live

import (
	"fmt"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// A model that has sent nothing for stallAfter is told of once for each call. It is given up after stallEnd, the idle
// time of the providers.
const (
	stallAfter = 30 * time.Second
	stallEnd   = 5 * time.Minute
)

// Stalls tells of model calls that bring nothing. See is called for what happens, and Look now and then; both by any
// goroutine.
type Stalls struct {
	warn func(string)

	mu    sync.Mutex
	names map[troupe.SessionID]string
	since map[troupe.SessionID]time.Time // of calls that have brought nothing yet
}

// NewStalls makes a watch that tells by warn.
func NewStalls(warn func(string)) *Stalls {
	return &Stalls{warn: warn, names: make(map[troupe.SessionID]string), since: make(map[troupe.SessionID]time.Time)}
}

// See notes what has happened by now.
func (s *Stalls) See(b wire.Batch, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range b.Events {
		switch body := e.Body.(type) {
		case troupe.Created:
			s.names[e.Session] = body.Name
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
	}
}

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
		if who = s.names[stalled[0]]; who == "" {
			who = "main"
		}
	}
	s.warn(fmt.Sprintf("%s: waiting for the model: no answer for %s, given up at %d min", who,
		stallAfter, int(stallEnd.Minutes())))
}
