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
func (f *fold) startClock() {
	f.s.clock.begun = f.e.Seq
	if f.s.Session.Depth > 0 || f.s.clock.at.IsZero() || f.s.window.wanted || !f.s.working() {
		f.s.clock.at, f.s.clock.seq = f.e.At, f.e.Seq
	}
}

// restartClock begins to count anew if a root's run begins with something that a person wants.
func (f *fold) restartClock(m troupe.Mail) {
	if m.From == "" && f.s.Session.Depth == 0 && f.s.Session.Status.Live() && f.s.seal.seq < f.s.clock.begun {
		f.s.clock.at, f.s.clock.seq = f.e.At, f.e.Seq
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
func (s *State) since(taken Taken) time.Time {
	if s.clock.seq <= taken.Seq {
		return taken.At
	}
	return s.clock.at
}

// Deadline is when the session's time is up, and for a root its whole tree's; zero is never.
func (s *State) Deadline(taken Taken) time.Time {
	if limit := s.Profile.Limits.MaxTime; limit > 0 && !s.clock.at.IsZero() {
		return s.since(taken).Add(limit)
	}
	return time.Time{}
}

// late reports whether a run has used up its time.
func (d *decision) late() bool {
	deadline := d.s.Deadline(d.in.Taken)
	if d.in.Late && d.s.Session.Status.Live() {
		return true
	}
	return !deadline.IsZero() && d.s.Session.Status.Live() && !d.s.Session.StartedAt.IsZero() &&
		!d.in.Now.Before(deadline)
}

// overdue reports whether the tree's time is up although the root's own run was over before,
// and something is at work still. Then another run begins, to stop that and to say so: its end
// is past the deadline, and so it is the only one.
func (d *decision) overdue() bool {
	deadline := d.s.Deadline(d.in.Taken)
	return !deadline.IsZero() && d.s.Session.Depth == 0 && d.s.Session.EndedAt.Before(deadline) &&
		!d.in.Now.Before(deadline) && (d.s.working() || d.in.Others)
}

// early reports whether it is too soon for what was put off at one time until another. Before
// the first of them it is not: the clock was set back, and how long is left is not known.
func early(now, from, until time.Time) bool { return now.Before(until) && !now.Before(from) }

// Due is when a session that is not over has to look again although nothing has happened: zero is never.
// It holds whatever the session waits for.
func Due(s *State, in Inputs) time.Time {
	d := decision{s: s, in: &in}
	if !s.Session.Status.Live() {
		return time.Time{}
	}
	return d.due()
}

// due is Due of a session that is not over.
func (d *decision) due() time.Time {
	var at time.Time
	if deadline := d.s.Deadline(d.in.Taken); d.in.Now.Before(deadline) {
		at = deadline
	}
	if by := leaveBy(d); d.in.Now.Before(by) {
		at = earlier(at, by)
	}
	for i := range d.s.Calls {
		switch c := &d.s.Calls[i]; {
		case c.Stage == CallAsked:
			at = earlier(at, c.Request.Until)
		case c.Stage == CallStarted && c.Wait != nil:
			at = earlier(at, c.Wait.Until)
		case c.Stage == CallStarted && c.Child != "" && d.in.Settings.Policy.AutoBackground > 0:
			at = earlier(at, c.Since.Add(d.in.Settings.Policy.AutoBackground))
		}
	}
	return at
}
