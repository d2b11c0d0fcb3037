package turn

import "github.com/troupe-dev/troupe"

// waits lists the calls that only wait for a task.
func (d *decision) waits() []int {
	var out []int
	for i := range d.s.Calls {
		if c := &d.s.Calls[i]; c.Stage == CallStarted && c.Wait != nil {
			out = append(out, i)
		}
	}
	return out
}

// work settles calls whose tasks have ended or have had their time, and starts those whose
// turn has come.
func (d *decision) work() Action {
	if mail := d.endsOfCalls(); len(mail) > 0 {
		return Deliver{mail}
	}
	if act, ok := d.unanswered(); ok {
		return act
	}
	if d.s.halted() {
		if skip := d.notBegun(); len(skip) > 0 {
			return Skip{skip, "not run: the run was told to stop after the step before"}
		}
	}
	if calls := d.expiredWaits(); len(calls) > 0 {
		return Report{calls}
	}
	if calls := d.overdueChildren(); len(calls) > 0 {
		return Background{calls}
	}
	if calls := d.startable(); len(calls) > 0 {
		return RunCalls{calls}
	}
	return Park{}
}

// unanswered finds requests that nobody will answer: there is nobody, or it took too long.
func (d *decision) unanswered() (Action, bool) {
	for i := range d.s.Calls {
		c := &d.s.Calls[i]
		if c.Stage != CallAsked || d.in.Working(i) && !c.Request.Midway() {
			continue // while it is judged anew, an answer that came in time is held back for it
		}
		calls := append([]int{i}, c.Request.With...)
		switch {
		case d.in.Settings.AskFor <= 0 && c.Request.Lead != troupe.LeadMay && c.Request.Kind != troupe.RequestTool:
			return Answer{calls, "this run cannot ask for permission"}, true
		case !c.Request.Until.IsZero() && !d.in.Now.Before(c.Request.Until):
			return Answer{calls, "there was no answer in time"}, true
		}
	}
	return nil, false
}

func (d *decision) notBegun() []int {
	var out []int
	for i := range d.s.Calls {
		if st := d.s.Calls[i].Stage; (st == CallPending || st == CallAsked) && !d.in.begun(i) {
			out = append(out, i)
		}
	}
	return out
}

// expiredWaits lists the waits that are over without the task's end: their time has come, or
// somebody wants the session's attention.
func (d *decision) expiredWaits() []int {
	wanted := d.s.halted()
	for _, m := range d.in.Unread {
		wanted = wanted || m.Kind.Words() || m.Kind == troupe.MailMonitor
	}
	var out []int
	for _, i := range d.waits() {
		wanted := wanted && (!d.s.Calls[i].Wait.Board || d.s.halted())
		if d.in.cut(&d.s.Calls[i]) || wanted || !d.in.Now.Before(d.s.Calls[i].Wait.Until) {
			out = append(out, i)
		}
	}
	return out
}

// overdueChildren lists the calls whose children have kept them waiting for too long.
func (d *decision) overdueChildren() []int {
	after := d.in.Settings.Policy.AutoBackground
	var out []int
	for i := range d.s.Calls {
		c := &d.s.Calls[i]
		late := d.in.Cut == nil && after > 0 && !d.in.Now.Before(c.Since.Add(after))
		if c.Stage == CallStarted && c.Child != "" && (late || d.in.cut(c)) {
			out = append(out, i)
		}
	}
	return out
}

// endsOfCalls picks the mail that brings the result of an open call.
func (d *decision) endsOfCalls() []troupe.Mail {
	var out []troupe.Mail
	for _, m := range d.in.Unread {
		if m.Kind == troupe.MailTaskEnded && d.s.Answers(m.Ended) >= 0 {
			out = append(out, m)
		}
	}
	return out
}

// Answers finds the open call that waits for this outcome, as its own child's or as a task
// it was told to wait for; -1 if none does. None waits for the end of an earlier run.
func (s *State) Answers(o *troupe.Outcome) int {
	if o == nil || s.Earlier(o) {
		return -1
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.Stage == CallStarted && (c.Child != "" && c.Child == o.Session ||
			c.Wait != nil && c.Wait.Task == o.TaskID()) {
			return i
		}
	}
	return -1
}

// AnswersBoard finds the call that an answer about the board is for; -1 if none waits for it any more.
func AnswersBoard(s *State, b troupe.BoardMail) int {
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.Stage == CallStarted && c.Wait != nil && c.Wait.Board && c.Reply == b.Coord.Reply &&
			c.Index == b.Coord.Call {
			return i
		}
	}
	return -1
}

// startable lists the calls of the first group that is not done and not yet begun.
func (d *decision) startable() []int {
	for i := 0; i < len(d.s.Calls); {
		kind := d.in.Schedule(d.s.Calls[i].Name)
		end := i + 1
		if kind != troupe.Alone {
			for end < len(d.s.Calls) && d.in.Schedule(d.s.Calls[end].Name) == kind {
				end++
			}
		}
		var ready []int
		done := true
		for j := i; j < end; j++ {
			st := d.s.Calls[j].Stage
			done = done && st == CallDone
			if st == CallPending && !d.in.Working(j) && (d.in.Ready == nil || d.in.Ready(d.s.Calls[j].coord())) {
				ready = append(ready, j)
			}
		}
		if !done {
			return ready
		}
		i = end
	}
	return nil
}
