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
	d := decision{s: s, in: &in}
	act := verify(&d, d.hook(d.next()))
	p, ok := act.(Park)
	if !ok {
		return act
	}
	if s.Session.Status.Live() {
		p.Until = earlier(p.Until, d.due())
	} else if deadline := s.Deadline(in.Taken); s.Session.Depth == 0 && in.Now.Before(deadline) {
		p.Look = deadline
	}
	return p
}

// decision is what Next goes by: the fold of the log, and the rest. It changes neither.
type decision struct {
	s  *State
	in *Inputs
}

func (d *decision) next() Action {
	ended := d.s.Session.Status.Ended()
	if mail := d.urgent(); len(mail) > 0 {
		return Deliver{mail}
	}
	if act, ok := d.stopTasks(); ok {
		return act
	}
	switch {
	case ended:
		return d.nextEnded()
	case d.late():
		return d.windDown(End{troupe.Failed, troupe.CauseLimit, d.s.last.text,
			fmt.Sprintf("reached its limit of %s", d.s.Profile.Limits.MaxTime) + d.stalled(), LimitTime})
	case d.s.halted() && (d.s.halt.now || d.s.Session.Status == troupe.Spawning):
		return d.windDown(d.cancelled())
	case dismissed(d):
		return d.windDown(End{Status: troupe.Cancelled, Cause: troupe.CauseInterrupt, Result: d.s.last.text,
			Error: "stopped: it was asked to come to an end and had not done so by " +
				leaveBy(d).UTC().Format(time.TimeOnly)})
	case d.in.Broken != "":
		return d.windDown(End{Status: troupe.Failed, Cause: troupe.CauseError, Result: d.s.last.text,
			Error: d.in.Broken})
	case d.s.Session.Status == troupe.Spawning:
		return Admit{Run: 1}
	case d.s.seal.open:
		return Park{}
	case d.s.open > 0:
		return d.work()
	case verifying(d.s):
		if mail := endOfCheck(d); len(mail) > 0 {
			return Deliver{mail}
		}
		return Park{} // words wait: the run has said what it has to say
	case d.in.Hold:
		return Park{}
	case d.s.report.over():
		return endReported(d)
	case len(d.ofThisRun()) > 0:
		if until := d.gathersUntil(); d.idle() && !until.IsZero() {
			return Park{Until: until}
		}
		return Deliver{d.ofThisRun()}
	case d.s.halted():
		return d.cancelled()
	case d.s.again != nil:
		return *d.s.again
	case d.s.fault != nil:
		return d.retry()
	case d.s.window.wanted, d.s.Awaits():
		if s, ok := d.forSkill(); ok {
			return s
		}
		return d.callModel()
	case d.s.hooks.no != "" && d.s.RunTally().Turns == 0:
		return d.refusedWords()
	case d.s.reply == 0:
		return Park{} // born without a word; its first mail is on the way
	case awaitsSteps(d.s):
		return Park{}
	default:
		return d.finish()
	}
}

// awaitsSteps reports whether a workflow that an agent began has nothing to do until one of its steps ends. A workflow
// that a person began ends its run meanwhile, as any main agent does: nobody is told of that.
func awaitsSteps(s *State) bool {
	return s.Profile.Workflow && s.Session.Depth > 0 && s.reply > 0 && !s.Awaits() && s.fault == nil &&
		slices.ContainsFunc(s.Tasks, func(t troupe.Task) bool {
			return t.Kind.OfSession() && t.Status == troupe.TaskRunning
		})
}

// stallAfter is how long a model has to be silent to be named as what the time was spent on.
const stallAfter = 10 * time.Second

// stalled says that the model did not answer the session, or an agent of it, if the run ends while it was waited for.
func (d *decision) stalled() string {
	silent := d.s.Silent()
	if silent < stallAfter {
		return ""
	}
	whose := "the model"
	if d.s.silent() < stallAfter {
		whose = fmt.Sprintf("the model of agent %q", d.s.mute.name)
	}
	return fmt.Sprintf("; %s had not answered for %s", whose, silent.Round(time.Second))
}

// silent is for how long its model had not answered when the call was given up.
func (s *State) silent() time.Duration {
	if f := s.fault; f != nil && f.fault == troupe.FaultInterrupted {
		return f.silent
	}
	return 0
}

// Silent is that of the session or, if it waited for agents that were ended, of theirs.
func (s *State) Silent() time.Duration { return max(s.silent(), s.mute.silent) }

func (d *decision) cancelled() Action {
	why := "stopped"
	if d.s.halt.by != "" {
		why += " by " + d.s.halt.by
	}
	return End{Status: troupe.Cancelled, Cause: troupe.CauseInterrupt, Result: d.s.last.text,
		Error: why + d.stalled()}
}

// ofThisRun picks the mail that the run there is can still answer, or must not outlive. What people and
// agents say after it was told to stop, or after the last reply it may have, begins the next one. What was
// completed with the last reply stays completed: nothing is told then that could not be answered.
func (d *decision) ofThisRun() []troupe.Mail {
	spent := d.s.spent()
	if spent && d.idle() {
		return nil
	}
	if !spent && !d.s.halted() {
		return d.in.Unread
	}
	var out []troupe.Mail
	for _, m := range d.in.Unread {
		if !m.Kind.Words() || d.s.halted() && !m.SentAt.After(d.s.halt.at) {
			out = append(out, m)
		}
	}
	return out
}

// urgent picks the mail that does not wait for its turn: what is not words, and for a
// session that has ended whatever does not begin another run. What does stays in the mailbox
// until that run has begun, so that it is found there by whoever takes the tree over.
func (d *decision) urgent() []troupe.Mail {
	ended := d.s.Session.Status.Ended()
	var out []troupe.Mail
	for _, m := range d.in.Unread {
		if m.Kind == troupe.MailModel && d.s.seal.open {
			continue // the call under way is the old model's
		}
		if ended && !d.s.WokenBy(m) || !ended && m.Kind.Control() {
			out = append(out, m)
		}
	}
	return out
}

// stopTasks finds tasks that have to be told to stop. With the run, or the time for it, ends what its calls wait for; a
// stop of the whole tree, or the end of its time, ends the rest too. Commands end with the interruption of their calls,
// or with their owner; monitors that can set nobody to work end.
func (d *decision) stopTasks() (Action, bool) {
	live := d.s.Session.Status.Live()
	late := live && d.late()
	stop := live && d.s.halted()
	tree := d.s.halt.tree && d.s.halt.run == d.s.Session.Run // whether or not that run is over by now
	if live && !late && !stop && !tree {
		return nil, false
	}
	now := late || d.s.halt.now
	all := late && d.s.Session.Depth == 0
	var ids []troupe.TaskID
	for i := range d.s.Tasks {
		t := &d.s.Tasks[i]
		stops := (late || stop || tree) && (tree || !t.Background || all) || inVain(d, t)
		if t.Status == troupe.TaskRunning && stops && !d.in.Told(t.ID, now) {
			ids = append(ids, t.ID)
		}
	}
	all = all && d.in.Others
	return StopTasks{ids, now, all}, len(ids) > 0 || all
}

// nextEnded is the life of a session whose run has ended: mail that asks for something begins
// another run.
func (d *decision) nextEnded() Action {
	if d.overdue() {
		return Admit{Run: d.s.Session.Run + 1, Late: true, Again: true}
	}
	if d.s.window.wanted {
		return Admit{Run: d.s.Session.Run + 1}
	}
	if !slices.ContainsFunc(d.in.Unread, d.s.WokenBy) {
		// Once in each process: what kept the folder from being closed may be gone since.
		if at := d.s.Place.unkept; at > 0 && at <= d.in.Taken.Seq && d.s.Session.Depth > 0 {
			return Admit{Run: d.s.Session.Run + 1, Again: true, Keep: true}
		}
		return Park{}
	}
	if until := d.gathersUntil(); !until.IsZero() {
		return Park{Until: until}
	}
	asked := slices.ContainsFunc(d.in.Unread, func(m troupe.Mail) bool {
		return m.Wakes() && !m.Kind.OfTask()
	})
	return Admit{Run: d.s.Session.Run + 1, Again: !asked}
}

// gathersUntil is when a session that nothing else occupies is told of the tasks that have ended:
// a moment after the last one while others are still at work, so that many that end together cost
// one reply. It is zero where there is nothing to wait for: other mail came, or all have ended.
func (d *decision) gathersUntil() time.Time {
	ending := make(map[troupe.TaskID]bool)
	var first, last time.Time
	for _, m := range d.in.Unread {
		if !m.Wakes() {
			continue
		}
		if m.Kind != troupe.MailTaskEnded || m.Ended == nil {
			return time.Time{}
		}
		if !d.s.Earlier(m.Ended) {
			ending[m.Ended.TaskID()] = true
		}
		if first.IsZero() {
			first = m.SentAt
		}
		last = m.SentAt
	}
	until := earlier(last.Add(d.in.Settings.Policy.Gather), first.Add(maxGathers*d.in.Settings.Policy.Gather))
	for i := range d.s.Tasks {
		if t := &d.s.Tasks[i]; t.Status == troupe.TaskRunning && !ending[t.ID] && early(d.in.Now, last, until) {
			return until
		}
	}
	return time.Time{}
}

// idle reports whether a run that is not over has nothing to do but end.
func (d *decision) idle() bool {
	return d.s.reply > 0 && d.s.fault == nil && !d.s.halted() && !d.s.window.wanted && !d.s.Awaits()
}

// maxGathers bounds the wait for tasks that end one after the other.
const maxGathers = 5

// windDown stops what is under way, gives every call its result, and ends.
func (d *decision) windDown(end Action) Action {
	if mail := append(d.endsOfCalls(), endOfCheck(d)...); len(mail) > 0 {
		return Deliver{mail}
	}
	skip := d.notBegun()
	if waits := d.waits(); len(waits) > 0 {
		return Report{waits}
	}
	switch {
	case len(skip) > 0:
		return Skip{skip, "not run: the run was stopped before its turn came"}
	case d.s.seal.open || d.s.open > 0 || verifying(d.s):
		return Interrupt{}
	case len(d.ofThisRun()) > 0:
		return Deliver{d.ofThisRun()} // else it would begin the next run at once
	default:
		return end
	}
}
