package sim

import (
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// circle: whenever nothing can be done but to let time pass, no sessions of the tree wait for each other in a circle:
// for the end of an agent, for a task, for the lead of the team, for one that may change the same files. A wait that a
// person may end is none of these.
func (h *watch) circle(until time.Time) {
	waits := make(map[troupe.SessionID][]troupe.SessionID)
	for _, id := range h.order {
		if st := h.states[id]; st.Session.Status.Live() {
			if on := h.waitsFor(st); len(on) > 0 {
				waits[id] = on
			}
		}
	}
	for id := range waits {
		if path := around(waits, id, id, nil); path != nil {
			h.w.broken("%v wait for each other, and for nothing else until %s", path, until)
			return
		}
	}
}

// around finds a way from a session along what it waits for to another one; nil: there is none.
func around(waits map[troupe.SessionID][]troupe.SessionID, from, to troupe.SessionID, past []troupe.SessionID,
) []troupe.SessionID {
	past = append(past, from)
	for _, on := range waits[from] {
		if on == to {
			return past
		}
		seen := false
		for _, p := range past {
			seen = seen || p == on
		}
		if seen {
			continue
		}
		if path := around(waits, on, to, past); path != nil {
			return path
		}
	}
	return nil
}

// waitsFor are those of the tree that a session waits for, by its log.
func (h *watch) waitsFor(st *turn.State) (out []troupe.SessionID) {
	s := st.Session
	if s.Status == troupe.Spawning {
		for _, id := range h.order { // behind whoever is at work and may change the same files
			if o := h.states[id].Session; id != s.ID && o.Status.Live() && o.Status != troupe.Spawning &&
				h.law.meet(s.ID, id) {
				out = append(out, id)
			}
		}
		return out
	}
	if st.Calling() {
		return nil
	}
	if who := turn.Checker(st); who != "" && h.states[who].Session.Status.Live() {
		out = append(out, who)
	}
	for i := range st.Calls {
		c := &st.Calls[i]
		switch {
		case c.Stage == turn.CallStarted && c.Child != "":
			out = append(out, c.Child)
		case c.Stage == turn.CallStarted && c.Wait != nil && c.Wait.Board:
			out = append(out, s.Parent)
		case c.Stage == turn.CallStarted && c.Wait != nil && !strings.HasPrefix(string(c.Wait.Task), "b"):
			out = append(out, troupe.SessionID(c.Wait.Task))
		case c.Request != nil && c.Request.Lead == troupe.LeadMay && h.states[h.w.root].Settings.AskFor <= 0:
			out = append(out, s.Parent)
		case c.Stage == turn.CallStarted || c.Request != nil:
			// A tool is at work, or a person is asked: that goes on by itself.
		}
	}
	return out
}
