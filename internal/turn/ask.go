package turn

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// retry decides what follows a failed model call.
func (s *State) retry(in Inputs) Action {
	f := s.fault
	lost := f.fault == troupe.FaultNoModel || f.fault == troupe.FaultAuth ||
		!f.retryAt.IsZero() && f.attempt >= in.Settings.Policy.FallbackAfter
	if lost && in.Settings.Fallback != "" && in.Settings.Fallback != s.Session.Model {
		return Switch{in.Settings.Fallback, f.message}
	}
	if !f.retryAt.IsZero() {
		if f.attempt >= in.Settings.Policy.MaxAttempts {
			return s.fail(causeOf(f.fault), fmt.Sprintf("%s (gave up after %d attempts)", f.message, f.attempt))
		}
		if early(in.Now, f.at, f.retryAt) {
			return Park{Until: f.retryAt}
		}
		return s.callModel(in)
	}
	switch f.fault {
	case troupe.FaultInterrupted:
		return s.callModel(in)
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

// callModel makes the next model call: for a summary if the conversation has grown too long or
// somebody wants one, else for the reply.
func (s *State) callModel(in Inputs) Action {
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
	case in.Settings.Policy.MaxDenials > 0 && s.Denials >= in.Settings.Policy.MaxDenials:
		why := fmt.Sprintf("stopped after %d replies in a row whose every tool call was denied", s.Denials)
		if n := len(s.Evidence.Denied); n > 0 && s.Evidence.Denied[n-1].Grant != "" {
			why += "; the last one needs the rule " + s.Evidence.Denied[n-1].Grant
		}
		return s.fail(troupe.CausePermission, why), true
	case limits.MaxTurns > 0 && s.RunTurns() >= limits.MaxTurns:
		return End{troupe.MaxTurns, troupe.CauseLimit, s.last.text,
			fmt.Sprintf("reached its limit of %d model replies", limits.MaxTurns)}, true
	case limits.MaxTokens > 0 && s.Session.Tally.Usage.Total() >= limits.MaxTokens:
		return s.fail(troupe.CauseLimit, fmt.Sprintf("reached its limit of %d tokens", limits.MaxTokens)), true
	case limits.MaxCost > 0 && s.Session.Tally.Cost >= limits.MaxCost:
		return s.fail(troupe.CauseLimit, fmt.Sprintf("reached its limit of %s", limits.MaxCost)), true
	case in.Over != "":
		return s.fail(troupe.CauseLimit, in.Over), true
	}
	return nil, false
}

// Bound is a limit, how much of it is used up, and that in words.
type Bound struct {
	Limit    string
	Used, Of float64
	Words    string
}

// Near reports whether most of a limit is used up, so that sessions are told.
func (b Bound) Near() bool { return b.Of > 0 && b.Used >= 0.8*b.Of }

// Warning is what they are told.
func (b Bound) Warning() troupe.BudgetWarned {
	return troupe.BudgetWarned{Limit: b.Limit, Text: b.Words +
		"; bring the work to an end, or to a state that can be picked up later"}
}

// warning finds a limit of which most is used up and which the session was not told of yet.
func (s *State) warning(in Inputs) (troupe.BudgetWarned, bool) {
	l, t, passed := s.Profile.Limits, s.Session.Tally, in.Now.Sub(s.since(in))
	for _, b := range [...]Bound{
		{"turns", float64(s.RunTurns()), float64(l.MaxTurns),
			fmt.Sprintf("%d of %d model replies are used up", s.RunTurns(), l.MaxTurns)},
		{"tokens", float64(t.Usage.Total()), float64(l.MaxTokens),
			fmt.Sprintf("%d of %d tokens are used up", t.Usage.Total(), l.MaxTokens)},
		{"cost", float64(t.Cost), float64(l.MaxCost), fmt.Sprintf("%s of %s are spent", t.Cost, l.MaxCost)},
		{"time", float64(passed), float64(l.MaxTime), fmt.Sprintf("%s of %s have passed",
			passed.Truncate(100*time.Millisecond), l.MaxTime)},
	} {
		if b.Near() && b.Used < b.Of && !slices.Contains(s.warned, b.Limit) {
			return b.Warning(), true
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
	if s.compactOnly {
		return End{Status: troupe.Completed, Result: s.last.text}
	}
	switch s.last.stop {
	case troupe.StopRefusal:
		return s.fail(troupe.CauseRefusal, "the model declined to go on")
	case troupe.StopMaxTokens:
		if s.nudges < maxNudges {
			return Nudge{"Your reply was cut at the limit of its length. Go on exactly where it ended, in smaller " +
				"steps."}
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
