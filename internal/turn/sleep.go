package turn

import (
	"cmp"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// slept has a session stand still until it is woken. What it had under way was recovered before, as after a crash.
func slept(f *fold) error {
	f.s.Session.AsleepAt = f.e.At
	return nil
}

// woke has the session go on as if no time had passed: requests had no answer meanwhile, nothing that it waited for
// came, and it was not at work.
func woke(f *fold) error {
	if f.s.Session.AsleepAt.IsZero() {
		return f.refuse("it is not asleep")
	}
	passed := max(0, f.e.At.Sub(f.s.Session.AsleepAt))
	f.s.Session.AsleepAt = time.Time{}
	later := func(t time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		return t.Add(passed)
	}
	if f.s.Session.Status.Live() {
		f.s.Session.StartedAt = later(f.s.Session.StartedAt)
	}
	for i := range f.s.Tasks {
		if t := &f.s.Tasks[i]; t.Status == troupe.TaskRunning {
			t.StartedAt = later(t.StartedAt)
		}
	}
	for i := range f.s.Calls {
		c := &f.s.Calls[i]
		c.Since = later(c.Since)
		if c.Request != nil {
			r := *c.Request
			r.Until = later(r.Until)
			c.Request = &r
		}
		if c.Wait != nil {
			w := *c.Wait
			w.Until = later(w.Until)
			c.Wait = &w
		}
	}
	if f.s.fault != nil {
		fault := *f.s.fault
		fault.at, fault.retryAt = later(fault.at), later(fault.retryAt)
		f.s.fault = &fault
	}
	f.s.leave.until = later(f.s.leave.until)
	return nil
}

// sessionChanged has a main agent be called and listed as a person says.
func sessionChanged(f *fold, b troupe.SessionChanged) error {
	s := &f.s.Session
	switch {
	case s.Parent != "":
		return f.refuse("it is a sub-agent")
	case b.Archived && s.Status.Live() && s.AsleepAt.IsZero():
		return f.refuse("it is at work")
	}
	s.Name, s.Title = cmp.Or(b.Name, s.Name), cmp.Or(b.Title, s.Title)
	s.Archived = b.Archived || s.Archived && !b.Unarchived
	return nil
}

// imported has a session that came from another home know nothing of the files here, and nobody's leave for anything:
// no file from elsewhere says what was seen, asked or answered here.
func imported(f *fold) {
	f.s.Files, f.s.instructed = nil, nil
	f.s.Authority.Rules = slices.DeleteFunc(slices.Clone(f.s.Authority.Rules), func(r troupe.Rule) bool {
		return r.Effect != troupe.Deny || r.Managed
	})
}

// Open are the requests of the session that wait for an answer.
func Open(s *State) (out []troupe.Request) {
	for i := range s.Calls {
		if r := s.Calls[i].Request; r != nil && s.Calls[i].Stage == CallAsked {
			out = append(out, *r)
		}
	}
	return out
}
