package turn

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// Next decides the next step of a session. It is called again after every event and every
// input; the same state and inputs always give the same action.
func Next(s *State, in Inputs) Action {
	act := s.next(in)
	p, ok := act.(Park)
	if !ok {
		return act
	}
	if s.Session.Status.Live() {
		p.Until = earlier(p.Until, s.due(in))
	} else if d := s.Deadline(in); s.Session.Depth == 0 && in.Now.Before(d) {
		p.Look = d
	}
	return p
}

func (s *State) next(in Inputs) Action {
	ended := s.Session.Status.Ended()
	if mail := s.urgent(in.Unread); len(mail) > 0 {
		return Deliver{mail}
	}
	if act, ok := s.stopTasks(in); ok {
		return act
	}
	switch {
	case ended:
		return s.nextEnded(in)
	case s.late(in):
		return s.windDown(in, End{troupe.Failed, troupe.CauseLimit, s.last.text,
			fmt.Sprintf("reached its limit of %s", s.Profile.Limits.MaxTime)})
	case s.halted() && (s.halt.now || s.Session.Status == troupe.Spawning):
		return s.windDown(in, s.cancelled())
	case s.Session.Status == troupe.Spawning:
		return Admit{Run: 1}
	case s.seal.open:
		return Park{}
	case s.open > 0:
		return s.work(in)
	case in.Hold:
		return Park{}
	case len(s.ofThisRun(in.Unread)) > 0:
		if until := s.gathersUntil(in); s.idle() && !until.IsZero() {
			return Park{Until: until}
		}
		return Deliver{s.ofThisRun(in.Unread)}
	case s.halted():
		return s.cancelled()
	case s.fault != nil:
		return s.retry(in)
	case s.window.wanted, s.Awaits():
		return s.callModel(in)
	case s.reply == 0:
		return Park{} // born without a word; its first mail is on the way
	default:
		return s.finish()
	}
}

func (s *State) cancelled() Action {
	why := "stopped"
	if s.halt.by != "" {
		why += " by " + s.halt.by
	}
	return End{Status: troupe.Cancelled, Cause: troupe.CauseInterrupt, Result: s.last.text, Error: why}
}

// ofThisRun picks the mail that the run there is can still answer, or must not outlive. What people and
// agents say after it was told to stop, or after the last reply it may have, begins the next one.
func (s *State) ofThisRun(unread []troupe.Mail) []troupe.Mail {
	most := s.Profile.Limits.MaxTurns
	spent := most > 0 && s.RunTurns() >= most
	if !spent && !s.halted() {
		return unread
	}
	var out []troupe.Mail
	for _, m := range unread {
		if m.Kind != troupe.MailPrompt || s.halted() && !m.SentAt.After(s.halt.at) {
			out = append(out, m)
		}
	}
	return out
}

// urgent picks the mail that does not wait for its turn: what is not words, and for a
// session that has ended whatever does not begin another run. What does stays in the mailbox
// until that run has begun, so that it is found there by whoever takes the tree over.
func (s *State) urgent(mail []troupe.Mail) []troupe.Mail {
	ended := s.Session.Status.Ended()
	var out []troupe.Mail
	for _, m := range mail {
		if m.Kind == troupe.MailModel && s.seal.open {
			continue // the call under way is the old model's
		}
		if ended && !m.Wakes() || !ended && m.Kind.Control() {
			out = append(out, m)
		}
	}
	return out
}

// stopTasks finds tasks that have to be told to stop. With the run, or the time for it, ends
// what its calls wait for; a stop of the whole tree, or the end of its time, ends the rest
// too. Commands end with the interruption of their calls, or with their owner.
func (s *State) stopTasks(in Inputs) (Action, bool) {
	live := s.Session.Status.Live()
	late := live && s.late(in)
	stop := live && s.halted()
	tree := s.halt.tree && s.halt.run == s.Session.Run // whether or not that run is over by now
	if !late && !stop && !tree {
		return nil, false
	}
	now := late || s.halt.now
	all := late && s.Session.Depth == 0
	var ids []troupe.TaskID
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if t.Status == troupe.TaskRunning && (tree || !t.Background || all) && !in.Told(t.ID, now) {
			ids = append(ids, t.ID)
		}
	}
	all = all && in.Others
	return StopTasks{ids, now, all}, len(ids) > 0 || all
}

// nextEnded is the life of a session whose run has ended: mail that asks for something begins
// another run.
func (s *State) nextEnded(in Inputs) Action {
	if s.overdue(in) {
		return Admit{Run: s.Session.Run + 1, Late: true}
	}
	if s.window.wanted {
		return Admit{Run: s.Session.Run + 1}
	}
	if !slices.ContainsFunc(in.Unread, troupe.Mail.Wakes) {
		return Park{}
	}
	if until := s.gathersUntil(in); !until.IsZero() {
		return Park{Until: until}
	}
	return Admit{Run: s.Session.Run + 1}
}

// gathersUntil is when a session that nothing else occupies is told of the tasks that have ended:
// a moment after the last one while others are still at work, so that many that end together cost
// one reply. It is zero where there is nothing to wait for: other mail came, or all have ended.
func (s *State) gathersUntil(in Inputs) time.Time {
	ending := make(map[troupe.TaskID]bool)
	var first, last time.Time
	for _, m := range in.Unread {
		if !m.Wakes() {
			continue
		}
		if m.Kind != troupe.MailTaskEnded || m.Ended == nil {
			return time.Time{}
		}
		ending[m.Ended.TaskID()] = true
		if first.IsZero() {
			first = m.SentAt
		}
		last = m.SentAt
	}
	until := earlier(last.Add(in.Settings.Policy.Gather), first.Add(maxGathers*in.Settings.Policy.Gather))
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Status == troupe.TaskRunning && !ending[t.ID] && early(in.Now, last, until) {
			return until
		}
	}
	return time.Time{}
}

// idle reports whether a run that is not over has nothing to do but end.
func (s *State) idle() bool {
	return s.reply > 0 && s.fault == nil && !s.halted() && !s.window.wanted && !s.Awaits()
}

// maxGathers bounds the wait for tasks that end one after the other.
const maxGathers = 5

// windDown stops what is under way, gives every call its result, and ends.
func (s *State) windDown(in Inputs, end Action) Action {
	if mail := s.endsOfCalls(in.Unread); len(mail) > 0 {
		return Deliver{mail}
	}
	skip := s.notBegun(in)
	if waits := s.waits(); len(waits) > 0 {
		return Report{waits}
	}
	switch {
	case len(skip) > 0:
		return Skip{skip, "not run: the run was stopped before its turn came"}
	case s.seal.open || s.open > 0:
		return Interrupt{}
	case len(s.ofThisRun(in.Unread)) > 0:
		return Deliver{s.ofThisRun(in.Unread)} // else it would begin the next run at once
	default:
		return end
	}
}
