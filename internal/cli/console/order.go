package console

import (
	"sort"
	"time"

	"github.com/troupe-dev/troupe"
)

// Arrange puts events of several sessions into one line, for the eye: by their times, as far
// as those can be believed. Events of one session must come in order and stay so: where the
// clock was set back, an event counts as late as the one before it.
func Arrange(events []troupe.Event) {
	latest := make(map[troupe.SessionID]time.Time)
	line := byTime{events, make([]time.Time, len(events))}
	for i, e := range events {
		if e.At.After(latest[e.Session]) {
			latest[e.Session] = e.At
		}
		line.at[i] = latest[e.Session]
	}
	sort.Stable(line)
}

type byTime struct {
	events []troupe.Event
	at     []time.Time
}

func (b byTime) Len() int           { return len(b.events) }
func (b byTime) Less(i, j int) bool { return b.at[i].Before(b.at[j]) }
func (b byTime) Swap(i, j int) {
	b.events[i], b.events[j] = b.events[j], b.events[i]
	b.at[i], b.at[j] = b.at[j], b.at[i]
}
