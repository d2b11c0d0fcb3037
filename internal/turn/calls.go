package turn

import "github.com/troupe-dev/troupe"

// waits lists the calls that only wait for a task.
func (s *State) waits() []int {
	var out []int
	for i := range s.Calls {
		if c := &s.Calls[i]; c.Stage == CallStarted && c.Wait != nil {
			out = append(out, i)
		}
	}
	return out
}

// work settles calls whose tasks have ended or have had their time, and starts those whose
// turn has come.
func (s *State) work(in Inputs) Action {
	if mail := s.endsOfCalls(in.Unread); len(mail) > 0 {
		return Deliver{mail}
	}
	if act, ok := s.unanswered(in); ok {
		return act
	}
	if s.halted() {
		if skip := s.notBegun(in); len(skip) > 0 {
			return Skip{skip, "not run: the run was told to stop after the step before"}
		}
	}
	if calls := s.expiredWaits(in); len(calls) > 0 {
		return Report{calls}
	}
	if calls := s.overdueChildren(in); len(calls) > 0 {
		return Background{calls}
	}
	if calls := s.startable(in); len(calls) > 0 {
		return RunCalls{calls}
	}
	return Park{}
}

// unanswered finds requests that nobody will answer: there is nobody, or it took too long.
func (s *State) unanswered(in Inputs) (Action, bool) {
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.Stage != CallAsked || in.Working(i) {
			continue // while it is judged anew, an answer that came in time is held back for it
		}
		calls := append([]int{i}, c.Request.With...)
		switch {
		case in.Settings.AskFor <= 0:
			return Answer{calls, "nobody is there to be asked"}, true
		case !c.Request.Until.IsZero() && !in.Now.Before(c.Request.Until):
			return Answer{calls, "nobody answered in time"}, true
		}
	}
	return nil, false
}

func (s *State) notBegun(in Inputs) []int {
	var out []int
	for i := range s.Calls {
		if st := s.Calls[i].Stage; (st == CallPending || st == CallAsked) && !in.begun(i) {
			out = append(out, i)
		}
	}
	return out
}

// expiredWaits lists the waits that are over without the task's end: their time has come, or
// somebody wants the session's attention.
func (s *State) expiredWaits(in Inputs) []int {
	wanted := s.halted()
	for _, m := range in.Unread {
		wanted = wanted || m.Kind == troupe.MailPrompt
	}
	var out []int
	for _, i := range s.waits() {
		if in.cut(&s.Calls[i]) || wanted || !in.Now.Before(s.Calls[i].Wait.Until) {
			out = append(out, i)
		}
	}
	return out
}

// overdueChildren lists the calls whose children have kept them waiting for too long.
func (s *State) overdueChildren(in Inputs) []int {
	after := in.Settings.Policy.AutoBackground
	var out []int
	for i := range s.Calls {
		c := &s.Calls[i]
		late := in.Cut == nil && after > 0 && !in.Now.Before(c.Since.Add(after))
		if c.Stage == CallStarted && c.Child != "" && (late || in.cut(c)) {
			out = append(out, i)
		}
	}
	return out
}

// endsOfCalls picks the mail that brings the result of an open call.
func (s *State) endsOfCalls(mail []troupe.Mail) []troupe.Mail {
	var out []troupe.Mail
	for _, m := range mail {
		if m.Kind == troupe.MailTaskEnded && s.Answers(m.Ended) >= 0 {
			out = append(out, m)
		}
	}
	return out
}

// Answers finds the open call that waits for this outcome, as its own child's or as a task
// it was told to wait for; -1 if none does.
func (s *State) Answers(o *troupe.Outcome) int {
	if o == nil {
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

// startable lists the calls of the first group that is not done and not yet begun.
func (s *State) startable(in Inputs) []int {
	for i := 0; i < len(s.Calls); {
		kind := in.Schedule(s.Calls[i].Name)
		end := i + 1
		if kind != troupe.Alone {
			for end < len(s.Calls) && in.Schedule(s.Calls[end].Name) == kind {
				end++
			}
		}
		var ready []int
		done := true
		for j := i; j < end; j++ {
			st := s.Calls[j].Stage
			done = done && st == CallDone
			if st == CallPending && !in.Working(j) && (in.Ready == nil || in.Ready(s.Calls[j].coord())) {
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
