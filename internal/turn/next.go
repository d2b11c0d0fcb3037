package turn

import (
	"fmt"
	"time"

	"github.com/troupe-dev/troupe"
)

// Inputs is what a step depends on besides the log: the clock, the mailbox, what this
// process has in hand, and what others decided.
type Inputs struct {
	Now    time.Time
	Unread []troupe.Mail // in order of sending
	// Stop: somebody with authority ended the run. What is under way is to be cancelled.
	Stop bool
	// Over says which limit of the tree has been reached; empty while none has.
	Over string
	// Working reports whether this process has a call of the last reply in hand.
	Working func(call int) bool
	// Schedule says how calls of a tool may be arranged.
	Schedule func(tool string) Schedule
	Policy   Policy
}

// Policy holds the settings of the loop itself.
type Policy struct {
	MaxAttempts int // of one model call
	MaxDenials  int // replies in a row all of whose calls were denied
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
	// Admit begins a run, if the tree has a slot for it.
	Admit struct{ Run int }
	// Deliver logs this mail: ends of children as results of their calls, the rest as
	// words in the conversation.
	Deliver struct{ Mail []troupe.Mail }
	// CallModel seals a model call and makes it.
	CallModel struct{ Reply, Attempt int }
	// Backoff waits until then before it asks the model again.
	Backoff struct{ Until time.Time }
	// RunCalls takes these calls of the last reply to the gate and runs what may run.
	RunCalls struct{ Calls []int }
	// Skip gives these calls a result without running them.
	Skip struct {
		Calls []int
		Why   string
	}
	// Interrupt cancels the model call, tools and children that are under way.
	Interrupt struct{}
	// End ends the run.
	End struct {
		Status        troupe.Status
		Cause         troupe.Cause
		Result, Error string
	}
	// Park does nothing until something happens.
	Park struct{}
)

func (Admit) action()     {}
func (Deliver) action()   {}
func (CallModel) action() {}
func (Backoff) action()   {}
func (RunCalls) action()  {}
func (Skip) action()      {}
func (Interrupt) action() {}
func (End) action()       {}
func (Park) action()      {}

// Next decides the next step of a session. It is called again after every event and every
// input; the same state and inputs always give the same action.
func Next(s *State, in Inputs) Action {
	switch {
	case s.Session.Status.Ended():
		if in.Stop || !hasPrompt(in.Unread) {
			return Park{}
		}
		return Admit{s.Session.Run + 1}
	case in.Stop:
		return s.wind(in)
	case s.Session.Status == troupe.Spawning:
		return Admit{1}
	case s.seal.open:
		return Park{}
	case s.open > 0:
		return s.work(in)
	case len(in.Unread) > 0:
		return Deliver{in.Unread}
	case s.fault != nil:
		return s.retry(in)
	case s.Awaits():
		return s.ask(in)
	case s.reply == 0:
		return Park{} // born without a word; its first mail is on the way
	default:
		return s.finish()
	}
}

func hasPrompt(mail []troupe.Mail) bool {
	for _, m := range mail {
		if m.Kind == troupe.MailPrompt {
			return true
		}
	}
	return false
}

// wind stops what is under way, gives every call its result, and ends.
func (s *State) wind(in Inputs) Action {
	if mail := s.endsOfCalls(in.Unread); len(mail) > 0 {
		return Deliver{mail}
	}
	var skip []int
	for i := range s.Calls {
		if st := s.Calls[i].Stage; (st == CallPending || st == CallAsked) && !in.Working(i) {
			skip = append(skip, i)
		}
	}
	switch {
	case len(skip) > 0:
		return Skip{skip, "not run: the run was stopped before its turn came"}
	case s.seal.open || s.open > 0:
		return Interrupt{}
	default:
		return End{Status: troupe.Cancelled, Cause: troupe.CauseInterrupt, Result: s.last.text, Error: "stopped"}
	}
}

// work settles calls whose children have ended and starts those whose turn has come.
func (s *State) work(in Inputs) Action {
	if mail := s.endsOfCalls(in.Unread); len(mail) > 0 {
		return Deliver{mail}
	}
	if calls := s.startable(in); len(calls) > 0 {
		return RunCalls{calls}
	}
	return Park{}
}

// endsOfCalls picks the mail that brings the result of an open call.
func (s *State) endsOfCalls(mail []troupe.Mail) []troupe.Mail {
	var out []troupe.Mail
	for _, m := range mail {
		if m.Kind == troupe.MailTaskEnded && s.Answers(m.Ended) {
			out = append(out, m)
		}
	}
	return out
}

// Answers reports whether an outcome is the result that an open call waits for.
func (s *State) Answers(o *troupe.Outcome) bool {
	if o == nil || o.Coord.Reply != s.reply || o.Coord.Call < 0 || o.Coord.Call >= len(s.Calls) {
		return false
	}
	c := &s.Calls[o.Coord.Call]
	return c.Stage == CallStarted && c.Child == o.Session
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
			if st == CallPending && !in.Working(j) {
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
	switch f.fault {
	case troupe.FaultInterrupted:
		return s.ask(in)
	case troupe.FaultRetry:
		if f.attempt >= in.Policy.MaxAttempts || f.retryAt.IsZero() {
			return s.fail(troupe.CauseError, fmt.Sprintf("%s (gave up after %d attempts)", f.message, f.attempt))
		}
		if in.Now.Before(f.retryAt) {
			return Backoff{f.retryAt}
		}
		return s.ask(in)
	case troupe.FaultNoModel, troupe.FaultAuth:
		return s.fail(troupe.CauseNoModel, f.message)
	case troupe.FaultTooLong, troupe.FaultBad:
		return s.fail(troupe.CauseError, f.message)
	}
	return s.fail(troupe.CauseError, f.message)
}

// ask makes the next model call, unless a limit or a wall stands in the way.
func (s *State) ask(in Inputs) Action {
	limits := s.Profile.Limits
	switch {
	case in.Policy.MaxDenials > 0 && s.Denials >= in.Policy.MaxDenials:
		why := fmt.Sprintf("stopped after %d replies in a row whose every tool call was denied", s.Denials)
		if n := len(s.Evidence.Denied); n > 0 && s.Evidence.Denied[n-1].Grant != "" {
			why += "; the last one needs the rule " + s.Evidence.Denied[n-1].Grant
		}
		return s.fail(troupe.CausePermission, why)
	case limits.MaxTurns > 0 && s.RunTurns() >= limits.MaxTurns:
		return End{troupe.MaxTurns, troupe.CauseLimit, s.last.text, fmt.Sprintf("reached its limit of %d model replies", limits.MaxTurns)}
	case limits.MaxTokens > 0 && s.Session.Tally.Usage.Total() >= limits.MaxTokens:
		return s.fail(troupe.CauseLimit, fmt.Sprintf("reached its limit of %d tokens", limits.MaxTokens))
	case limits.MaxCost > 0 && s.Session.Tally.Cost >= limits.MaxCost:
		return s.fail(troupe.CauseLimit, fmt.Sprintf("reached its limit of %s", limits.MaxCost))
	case in.Over != "":
		return s.fail(troupe.CauseLimit, in.Over)
	}
	attempt := 1
	if s.seal.reply == s.reply+1 {
		attempt = s.seal.attempt + 1
	}
	return CallModel{Reply: s.reply + 1, Attempt: attempt}
}

// finish ends a run whose last reply asked for nothing.
func (s *State) finish() Action {
	switch s.last.stop {
	case troupe.StopRefusal:
		return s.fail(troupe.CauseRefusal, "the model declined to go on")
	case troupe.StopMaxTokens:
		return s.fail(troupe.CauseLimit, "the last reply was cut at the model's output limit")
	case troupe.StopEndTurn, troupe.StopToolUse, troupe.StopOther:
	}
	return End{Status: troupe.Completed, Result: s.last.text}
}

func (s *State) fail(cause troupe.Cause, why string) Action {
	return End{troupe.Failed, cause, s.last.text, why}
}

// Recover lists what has to be logged before a session that another process left goes on:
// a model call that nobody will finish, and effects of which nobody knows whether they
// happened. Read-only calls and queued births need nothing: they are still pending. A call
// with a child needs nothing either: the child's end will come as mail.
func Recover(s *State) []troupe.Body {
	var out []troupe.Body
	if s.seal.open {
		out = append(out, troupe.ModelFailed{
			Reply: s.seal.reply, Attempt: s.seal.attempt, Fault: troupe.FaultInterrupted,
			Message: "the process that made the call is gone",
		})
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.Stage != CallStarted || c.Child != "" {
			continue
		}
		out = append(out, troupe.ToolFinished{
			Name: c.Name, Interrupt: true,
			Result: troupe.Result{
				Reply: c.Reply, Call: c.Index, ProviderID: c.ProviderID, IsError: true,
				Blocks: []troupe.Block{troupe.Text("interrupted: the process running this call was ended; it may or may not have taken effect. Check before you try again.")},
			},
		})
	}
	return out
}
