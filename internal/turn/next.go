package turn

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// Inputs is what a step depends on besides the log: the clock, the mailbox, what this
// process has in hand, and what others decided.
type Inputs struct {
	Now    time.Time
	Unread []troupe.Mail // in order of sending
	// Over says which limit of the tree has been reached; empty while none has.
	Over string
	// Near warns of a limit of the tree that is mostly used up; empty if none is. It is set
	// for roots.
	Near troupe.BudgetWarned
	// Working reports whether this process has a call of the last reply in hand.
	Working func(call int) bool
	// Told reports whether this process has told a task to stop, that strongly.
	Told func(id troupe.TaskID, now bool) bool
	// Taken is when this process took the session up from another one; zero if it did not.
	Taken Taken
	// Others: agents anywhere below a root are at work, or about to be, that were not told to
	// stop and began before the time of the root was up. It is set once that is up.
	Others bool
	// Late: the run was begun because the tree's time was up.
	Late bool
	// Answerable: somebody may answer requests. Without, they are denied at once.
	Answerable bool
	// Hold keeps the session from its next model call: a replay waits for mail.
	Hold bool
	// Ready and Cut, in a replay, say which calls may begin, and which go on without what they
	// wait for; nil: all may, and the clock says.
	Ready, Cut func(call troupe.Coord) bool
	// Fallback is the model to go on with when the session's is not to be had; "" is none.
	Fallback string
	// Window is how many tokens a call may send before the conversation is shortened; 0 if
	// that is not known.
	Window int64
	// Schedule says how calls of a tool may be arranged.
	Schedule func(tool string) Schedule
	Policy   Policy
}

// Policy holds the settings of the loop itself.
type Policy struct {
	MaxAttempts int // of one model call
	MaxDenials  int // replies in a row all of whose calls were denied
	// FallbackAfter is how many attempts of one call the session's own model gets if there is
	// another to fall back to.
	FallbackAfter int
	// AutoBackground is how long a call waits for its child before the child goes on in the
	// background; 0: for ever.
	AutoBackground time.Duration
	// Gather is how long a session that has ended waits for more tasks to end before the end
	// of one wakes it: what ends together is told together.
	Gather time.Duration
}

// Schedule is how calls of one tool may be arranged with others of the same reply.
type Schedule int

// Ways to arrange calls. Runs of Parallel calls, and runs of Birth calls, go side by side;
// each Alone call waits for all before it, and all after it wait for it. So a read never
// sees the state before an edit that stands before it in the reply, nor after one that
// stands behind it.
const (
	Alone Schedule = iota
	Parallel
	Birth
)

// Action is what to do next: one of the types below.
type Action interface{ action() }

type (
	// Admit begins a run, if the tree has a slot for it. One that is Late begins only to stop
	// what is at work past the tree's time, and to say so.
	Admit struct {
		Run  int
		Late bool
	}
	// Deliver logs this mail: ends of children as results of their calls, the rest as
	// words in the conversation.
	Deliver struct{ Mail []troupe.Mail }
	// CallModel seals a model call and makes it.
	CallModel struct{ Reply, Attempt int }
	// RunCalls takes these calls of the last reply to the gate and runs what may run.
	RunCalls struct{ Calls []int }
	// Skip gives these calls a result without running them.
	Skip struct {
		Calls []int
		Why   string
	}
	// Interrupt cancels the model call and the tools that are under way.
	Interrupt struct{}
	// StopTasks tells tasks to stop, or with Tree whoever is at work below the session.
	StopTasks struct {
		Tasks []troupe.TaskID
		Now   bool
		Tree  bool
	}
	// Answer settles open requests that nobody will answer.
	Answer struct {
		Calls []int
		By    string
	}
	// Background answers calls whose children take long; the children go on.
	Background struct{ Calls []int }
	// Report answers calls that have waited for a task for long enough.
	Report struct{ Calls []int }
	// Compact asks the model for a summary and begins a new generation with it. Clip leaves
	// out the bulk of old tool output, because the whole does not fit.
	Compact struct {
		Reply, Attempt int
		Clip           bool
		Why            string
	}
	// Nudge has the model go on after a reply that said nothing or was cut.
	Nudge struct{ Text string }
	// Switch moves the session to another model.
	Switch struct{ Model, Why string }
	// Warn tells the session of a limit that is mostly used up.
	Warn struct{ Warning troupe.BudgetWarned }
	// End ends the run.
	End struct {
		Status        troupe.Status
		Cause         troupe.Cause
		Result, Error string
	}
	// Park does nothing until something happens, or until then if a time is set. Look is a
	// time to look again that nobody waits for: the tree may be over before.
	Park struct{ Until, Look time.Time }
)

func (Admit) action()      {}
func (Deliver) action()    {}
func (CallModel) action()  {}
func (RunCalls) action()   {}
func (Skip) action()       {}
func (Interrupt) action()  {}
func (StopTasks) action()  {}
func (Answer) action()     {}
func (Background) action() {}
func (Report) action()     {}
func (Compact) action()    {}
func (Nudge) action()      {}
func (Switch) action()     {}
func (Warn) action()       {}
func (End) action()        {}
func (Park) action()       {}

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
		return s.rest(in)
	case s.late(in):
		return s.wind(in, End{troupe.Failed, troupe.CauseLimit, s.last.text, fmt.Sprintf("reached its limit of %s", s.Profile.Limits.MaxTime)})
	case s.halted() && (s.halt.now || s.Session.Status == troupe.Spawning):
		return s.wind(in, s.cancelled())
	case s.Session.Status == troupe.Spawning:
		return Admit{Run: 1}
	case s.seal.open:
		return Park{}
	case s.open > 0:
		return s.work(in)
	case in.Hold:
		return Park{}
	case len(in.Unread) > 0:
		return Deliver{in.Unread}
	case s.halted():
		return s.cancelled()
	case s.fault != nil:
		return s.retry(in)
	case s.window.wanted, s.Awaits():
		return s.again(in)
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
		case c.Stage == CallStarted && c.Child != "" && in.Policy.AutoBackground > 0:
			at = earlier(at, c.Since.Add(in.Policy.AutoBackground))
		}
	}
	return at
}

// rest is the life of a session whose run has ended: mail that asks for something begins
// another run. The ends of tasks are gathered for a moment while others are still at work.
func (s *State) rest(in Inputs) Action {
	if s.overdue(in) {
		return Admit{Run: s.Session.Run + 1, Late: true}
	}
	if s.window.wanted {
		return Admit{Run: s.Session.Run + 1}
	}
	ending := make(map[troupe.TaskID]bool)
	var first, last time.Time
	for _, m := range in.Unread {
		if !m.Wakes() {
			continue
		}
		if m.Kind != troupe.MailTaskEnded || m.Ended == nil {
			return Admit{Run: s.Session.Run + 1}
		}
		ending[m.Ended.TaskID()] = true
		if first.IsZero() {
			first = m.SentAt
		}
		last = m.SentAt
	}
	if len(ending) == 0 {
		return Park{}
	}
	until := earlier(last.Add(in.Policy.Gather), first.Add(maxGathers*in.Policy.Gather))
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Status == troupe.TaskRunning && !ending[t.ID] && early(in.Now, last, until) {
			return Park{Until: until}
		}
	}
	return Admit{Run: s.Session.Run + 1}
}

// maxGathers bounds the wait for tasks that end one after the other.
const maxGathers = 5

// wind stops what is under way, gives every call its result, and ends.
func (s *State) wind(in Inputs, end Action) Action {
	if mail := s.endsOfCalls(in.Unread); len(mail) > 0 {
		return Deliver{mail}
	}
	var skip []int
	for i := range s.Calls {
		if st := s.Calls[i].Stage; (st == CallPending || st == CallAsked) && !in.Working(i) {
			skip = append(skip, i)
		}
	}
	if waits := s.waits(); len(waits) > 0 {
		return Report{waits}
	}
	switch {
	case len(skip) > 0:
		return Skip{skip, "not run: the run was stopped before its turn came"}
	case s.seal.open || s.open > 0:
		return Interrupt{}
	case len(in.Unread) > 0:
		return Deliver{in.Unread} // else it would begin the next run at once
	default:
		return end
	}
}

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
	if calls := s.waited(in); len(calls) > 0 {
		return Report{calls}
	}
	if calls := s.long(in); len(calls) > 0 {
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
		if c.Stage != CallAsked {
			continue
		}
		calls := append([]int{i}, c.Request.With...)
		switch {
		case !in.Answerable:
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
		if st := s.Calls[i].Stage; (st == CallPending || st == CallAsked) && !in.Working(i) {
			out = append(out, i)
		}
	}
	return out
}

// waited lists the waits that are over without the task's end: their time has come, or
// somebody wants the session's attention.
func (s *State) waited(in Inputs) []int {
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

// long lists the calls whose children have kept them waiting for too long.
func (s *State) long(in Inputs) []int {
	after := in.Policy.AutoBackground
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

// cut reports whether a replay has the call go on without what it waits for.
func (in Inputs) cut(c *Call) bool { return in.Cut != nil && in.Cut(c.coord()) }

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
		if c.Stage == CallStarted && (c.Child != "" && c.Child == o.Session || c.Wait != nil && c.Wait.Task == o.TaskID()) {
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
		if kind != Alone {
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

// retry decides what follows a failed model call.
func (s *State) retry(in Inputs) Action {
	f := s.fault
	lost := f.fault == troupe.FaultNoModel || f.fault == troupe.FaultAuth || !f.retryAt.IsZero() && f.attempt >= in.Policy.FallbackAfter
	if lost && in.Fallback != "" && in.Fallback != s.Session.Model {
		return Switch{in.Fallback, f.message}
	}
	if !f.retryAt.IsZero() {
		if f.attempt >= in.Policy.MaxAttempts {
			return s.fail(causeOf(f.fault), fmt.Sprintf("%s (gave up after %d attempts)", f.message, f.attempt))
		}
		if early(in.Now, f.at, f.retryAt) {
			return Park{Until: f.retryAt}
		}
		return s.again(in)
	}
	switch f.fault {
	case troupe.FaultInterrupted:
		return s.again(in)
	case troupe.FaultTooLong:
		if end, ok := s.spent(in); ok {
			return end
		}
		if !s.window.fresh && s.window.failed == 0 {
			return s.compact(true, "the conversation does not fit the model's window")
		}
	case troupe.FaultRetry, troupe.FaultNoModel, troupe.FaultAuth, troupe.FaultBad:
	}
	return s.fail(causeOf(f.fault), f.message)
}

func causeOf(f troupe.ModelFault) troupe.Cause {
	switch f {
	case troupe.FaultNoModel, troupe.FaultAuth:
		return troupe.CauseNoModel
	case troupe.FaultRetry, troupe.FaultInterrupted, troupe.FaultTooLong, troupe.FaultBad:
	}
	return troupe.CauseError
}

// again makes the next model call: for a summary if the conversation has grown too long or
// somebody wants one, else for the reply.
func (s *State) again(in Inputs) Action {
	if end, ok := s.spent(in); ok {
		return end // a summary is a call like any other
	}
	full := in.Window > 0 && !s.window.fresh && s.Context() >= in.Window
	switch {
	case s.window.wanted && s.reply > 0:
		return s.compact(s.window.failed > 0, "somebody asked for it")
	case full && s.window.failed < maxSummaries:
		return s.compact(s.window.failed > 0, "the model's window is nearly full")
	case s.window.wanted && !s.Awaits():
		return s.finish() // there is nothing to sum up
	}
	if w, ok := s.warning(in); ok {
		return Warn{w}
	}
	return CallModel{Reply: s.reply + 1, Attempt: s.attempt()}
}

// maxSummaries is how many attempts to shorten a conversation may fail before it goes on as
// it is: one of the whole, one of what fits.
const maxSummaries = 2

func (s *State) compact(clip bool, why string) Action {
	return Compact{Reply: s.reply + 1, Attempt: s.attempt(), Clip: clip, Why: why}
}

func (s *State) attempt() int {
	if s.seal.reply == s.reply+1 {
		return s.seal.attempt + 1
	}
	return 1
}

// spent finds a limit or a wall that stands in the way of the next model call.
func (s *State) spent(in Inputs) (end Action, ok bool) {
	limits := s.Profile.Limits
	switch {
	case in.Policy.MaxDenials > 0 && s.Denials >= in.Policy.MaxDenials:
		why := fmt.Sprintf("stopped after %d replies in a row whose every tool call was denied", s.Denials)
		if n := len(s.Evidence.Denied); n > 0 && s.Evidence.Denied[n-1].Grant != "" {
			why += "; the last one needs the rule " + s.Evidence.Denied[n-1].Grant
		}
		return s.fail(troupe.CausePermission, why), true
	case limits.MaxTurns > 0 && s.RunTurns() >= limits.MaxTurns:
		return End{troupe.MaxTurns, troupe.CauseLimit, s.last.text, fmt.Sprintf("reached its limit of %d model replies", limits.MaxTurns)}, true
	case limits.MaxTokens > 0 && s.Session.Tally.Usage.Total() >= limits.MaxTokens:
		return s.fail(troupe.CauseLimit, fmt.Sprintf("reached its limit of %d tokens", limits.MaxTokens)), true
	case limits.MaxCost > 0 && s.Session.Tally.Cost >= limits.MaxCost:
		return s.fail(troupe.CauseLimit, fmt.Sprintf("reached its limit of %s", limits.MaxCost)), true
	case in.Over != "":
		return s.fail(troupe.CauseLimit, in.Over), true
	}
	return nil, false
}

// warnAt is how much of a limit may be used before the session is told.
const warnAt = 0.8

// warning finds a limit of which most is used up and which the session was not told of yet.
func (s *State) warning(in Inputs) (troupe.BudgetWarned, bool) {
	l, t, passed := s.Profile.Limits, s.Session.Tally, in.Now.Sub(s.since(in))
	for _, w := range [...]struct {
		limit       string
		used, of    float64
		description string
	}{
		{"turns", float64(s.RunTurns()), float64(l.MaxTurns), fmt.Sprintf("%d of %d model replies are used up", s.RunTurns(), l.MaxTurns)},
		{"tokens", float64(t.Usage.Total()), float64(l.MaxTokens), fmt.Sprintf("%d of %d tokens are used up", t.Usage.Total(), l.MaxTokens)},
		{"cost", float64(t.Cost), float64(l.MaxCost), fmt.Sprintf("%s of %s are spent", t.Cost, l.MaxCost)},
		{"time", float64(passed), float64(l.MaxTime), fmt.Sprintf("%s of %s have passed", passed.Round(time.Second), l.MaxTime)},
	} {
		if w.of > 0 && w.used >= warnAt*w.of && w.used < w.of && !slices.Contains(s.warned, w.limit) {
			return troupe.BudgetWarned{Limit: w.limit, Text: w.description + "; bring the work to an end, or to a state that can be picked up later"}, true
		}
	}
	if s.Unwarned(in.Near) {
		return in.Near, true
	}
	return troupe.BudgetWarned{}, false
}

// Unwarned reports whether the session was not told of this yet.
func (s *State) Unwarned(w troupe.BudgetWarned) bool {
	return w.Limit != "" && !slices.Contains(s.warned, w.Limit)
}

// maxNudges bounds how often in a row a model is told to go on.
const maxNudges = 2

// finish ends a run whose last reply asked for nothing. A reply that said nothing, or was cut
// at its limit, is not taken for an answer at once.
func (s *State) finish() Action {
	switch s.last.stop {
	case troupe.StopRefusal:
		return s.fail(troupe.CauseRefusal, "the model declined to go on")
	case troupe.StopMaxTokens:
		if s.nudges < maxNudges {
			return Nudge{"Your reply was cut at the limit of its length. Go on exactly where it ended, in smaller steps."}
		}
		return s.fail(troupe.CauseLimit, "the last replies were cut at the model's output limit")
	case troupe.StopEndTurn, troupe.StopToolUse, troupe.StopOther:
	}
	if !s.last.said && s.replied != 0 {
		if s.nudges < maxNudges {
			return Nudge{"Your reply was empty. If the work is done, say what came of it; else go on."}
		}
		return s.fail(troupe.CauseError, fmt.Sprintf("the model has given %d empty replies in a row", s.nudges+1))
	}
	return End{Status: troupe.Completed, Result: s.last.text}
}

func (s *State) fail(cause troupe.Cause, why string) Action {
	return End{troupe.Failed, cause, s.last.text, why}
}
