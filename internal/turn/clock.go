package turn

import (
	"time"

	"github.com/troupe-dev/troupe"
)

// clock is when the time began to count that a session may take. A sub-agent's counts from the
// start of its run. A root's is the whole tree's: it counts from when somebody set the tree to
// work, and goes on while anything is at work, whether or not the root's own run is over; what
// wakes the root meanwhile does not prolong it.
type clock struct {
	at    time.Time
	seq   int64 // of the event that set it
	begun int64 // of the event that began the run
}

// Taken is when a process took a session up that another one had left: the time that nobody
// was there does not count.
type Taken struct {
	At  time.Time
	Seq int64 // of the last event of the process before
}

// startClock begins to count with a run, unless the run is one of several that somebody set
// going together: as long as the end of a task was not told, that is not over.
func (s *State) startClock(e troupe.Event) {
	s.clock.begun = e.Seq
	if s.Session.Depth > 0 || s.clock.at.IsZero() || s.window.wanted || !s.working() {
		s.clock.at, s.clock.seq = e.At, e.Seq
	}
}

// restartClock begins to count anew if a root's run begins with something that a person wants.
func (s *State) restartClock(e troupe.Event, m troupe.Mail) {
	if m.From == "" && s.Session.Depth == 0 && s.Session.Status.Live() && s.seal.seq < s.clock.begun {
		s.clock.at, s.clock.seq = e.At, e.Seq
	}
}

// working reports whether a task is at work, or has ended and was not told of yet.
func (s *State) working() bool {
	for i := range s.Tasks {
		if s.Tasks[i].Status == troupe.TaskRunning {
			return true
		}
	}
	return false
}

// since is when the time began to count.
func (s *State) since(in Inputs) time.Time {
	if s.clock.seq <= in.Taken.Seq {
		return in.Taken.At
	}
	return s.clock.at
}

// Deadline is when the session's time is up, and for a root its whole tree's; zero is never.
func (s *State) Deadline(in Inputs) time.Time {
	if limit := s.Profile.Limits.MaxTime; limit > 0 && !s.clock.at.IsZero() {
		return s.since(in).Add(limit)
	}
	return time.Time{}
}

// late reports whether a run has used up its time.
func (s *State) late(in Inputs) bool {
	d := s.Deadline(in)
	if in.Late && s.Session.Status.Live() {
		return true
	}
	return !d.IsZero() && s.Session.Status.Live() && !s.Session.StartedAt.IsZero() && !in.Now.Before(d)
}

// overdue reports whether the tree's time is up although the root's own run was over before,
// and something is at work still. Then another run begins, to stop that and to say so: its end
// is past the deadline, and so it is the only one.
func (s *State) overdue(in Inputs) bool {
	d := s.Deadline(in)
	return !d.IsZero() && s.Session.Depth == 0 && s.Session.EndedAt.Before(d) && !in.Now.Before(d) &&
		(s.working() || in.Others)
}

// early reports whether it is too soon for what was put off at one time until another. Before
// the first of them it is not: the clock was set back, and how long is left is not known.
func early(now, from, until time.Time) bool { return now.Before(until) && !now.Before(from) }

// due is when a session has to look again although nothing has happened.
func (s *State) due(in Inputs) time.Time {
	var at time.Time
	if d := s.Deadline(in); in.Now.Before(d) {
		at = d
	}
	for i := range s.Calls {
		switch c := &s.Calls[i]; {
		case c.Stage == CallAsked:
			at = earlier(at, c.Request.Until)
		case c.Stage == CallStarted && c.Wait != nil:
			at = earlier(at, c.Wait.Until)
		case c.Stage == CallStarted && c.Child != "" && in.Settings.Policy.AutoBackground > 0:
			at = earlier(at, c.Since.Add(in.Settings.Policy.AutoBackground))
		}
	}
	return at
}
