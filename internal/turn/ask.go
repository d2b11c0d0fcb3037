package turn

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// retry decides what follows a failed model call.
func (d *decision) retry() Action {
	f := d.s.fault
	lost := f.fault == troupe.FaultNoModel || f.fault == troupe.FaultAuth ||
		!f.retryAt.IsZero() && f.attempt >= d.in.Settings.Policy.FallbackAfter
	if lost && d.in.Settings.Fallback != "" && d.in.Settings.Fallback != d.s.Session.Model {
		return Switch{Model: d.in.Settings.Fallback, Why: f.message}
	}
	if !f.retryAt.IsZero() {
		if end, ok := d.gaveUp(); ok {
			return end
		}
		if early(d.in.Now, f.at, f.retryAt) {
			return Park{Until: f.retryAt}
		}
		return d.callModel()
	}
	switch f.fault {
	case troupe.FaultInterrupted:
		return d.callModel()
	case troupe.FaultTooLong:
		if end, ok := d.spent(); ok {
			return end
		}
		if !d.s.window.fresh && d.s.window.failed == 0 {
			return d.compact(true, "the conversation does not fit the model's window")
		}
	case troupe.FaultRetry, troupe.FaultNoModel, troupe.FaultAuth, troupe.FaultBad:
	}
	return d.fail(causeOf(f.fault), f.message)
}

// maxPaid is how many attempts for one reply may be billed. What fails so often after it was paid for fails again.
const maxPaid = 5

// gaveUp ends a run whose model call has failed too often, for too long, or at too high a price.
func (d *decision) gaveUp() (Action, bool) {
	f, p := d.s.fault, d.in.Settings.Policy
	since := f.since
	if f.seq <= d.in.Taken.Seq {
		since = d.in.Taken.At // while nobody was there, nobody tried
	}
	lasted := f.retryAt.Sub(since)
	switch {
	case f.paid >= maxPaid:
		return d.fail(causeOf(f.fault), fmt.Sprintf("%s (gave up after %d attempts that were billed)", f.message,
			f.paid)), true
	case d.dearer():
		return d.limited(limitCost, fmt.Sprintf("%s (no other attempt: one has cost %s, and %s of its limit of %s "+
			"are spent)",
			f.message, f.cost, d.s.Session.Tally.Cost, d.s.Profile.Limits.MaxCost)), true
	case p.MaxAttempts > 0 && f.attempt >= p.MaxAttempts:
		return d.fail(causeOf(f.fault), fmt.Sprintf("%s (gave up after %s)", f.message, attempts(f.attempt))), true
	case p.Patience > 0 && lasted > p.Patience:
		return d.fail(causeOf(f.fault), fmt.Sprintf("%s (gave up after %s: the next one would come more than %s "+
			"after the first failed, see retry_seconds)", f.message, attempts(f.attempt), p.Patience)), true
	}
	return nil, false
}

func attempts(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
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
func (d *decision) callModel() Action {
	if end, ok := d.spent(); ok {
		return end // a summary is a call like any other
	}
	full := d.in.Window > 0 && !d.s.window.fresh && d.s.Context() >= d.in.Window
	switch {
	case d.s.window.wanted && d.s.reply > 0:
		return d.compact(d.s.window.failed > 0, requested)
	case full && d.s.window.failed < maxSummaries:
		return d.compact(d.s.window.failed > 0, "the model's window is nearly full")
	case d.s.window.wanted && !d.s.Awaits():
		return d.finish() // there is nothing to sum up
	}
	if w, ok := d.warning(); ok {
		return Warn{w}
	}
	return CallModel{Reply: d.s.reply + 1, Attempt: d.attempt()}
}

// requested is why a summary is made that somebody wants.
const requested = "it was requested"

// maxSummaries is how many attempts to shorten a conversation may fail before it goes on as
// it is: one of the whole, one of what fits.
const maxSummaries = 2

func (d *decision) compact(clip bool, why string) Action {
	return Compact{Reply: d.s.reply + 1, Attempt: d.attempt(), Clip: clip, Why: why}
}

func (d *decision) attempt() int {
	if d.s.seal.reply == d.s.reply+1 {
		return d.s.seal.attempt + 1
	}
	return 1
}

// heldFactor is how many times as many replies a session gets whose commands the sandbox held back. Nobody has told
// it no: who looks around tries what it may.
const heldFactor = 4

// denied is how many replies in a row got nothing done but denials, if they are too many.
func (d *decision) denied() int {
	most := d.in.Settings.Policy.MaxDenials
	switch {
	case most == 0:
		return 0
	case d.s.refused.denied >= most:
		return d.s.refused.denied
	case d.s.refused.held >= heldFactor*most:
		return d.s.refused.held
	}
	return 0
}

// spent finds a limit or a wall that stands in the way of the next model call.
func (d *decision) spent() (end Action, ok bool) {
	limits := d.s.Profile.Limits
	switch {
	case d.denied() > 0:
		why := fmt.Sprintf("stopped after %d replies in a row whose every tool call was denied", d.denied())
		return d.fail(troupe.CausePermission, why+needs(d.s)), true
	case d.s.spent():
		return End{troupe.MaxTurns, troupe.CauseLimit, d.s.last.text,
			"reached its limit of " + replies(limits.MaxTurns), LimitTurns}, true
	case limits.MaxTokens > 0 && d.s.Session.Tally.Usage.Total() >= limits.MaxTokens:
		return d.limited(limitTokens, fmt.Sprintf("reached its limit of %d tokens", limits.MaxTokens)), true
	case limits.MaxCost > 0 && d.s.Session.Tally.Cost >= limits.MaxCost:
		return d.limited(limitCost, fmt.Sprintf("reached its limit of %s", limits.MaxCost)), true
	case d.in.Over.Limit != "":
		return d.limited(d.in.Over.Limit, d.in.Over.Words), true
	}
	return circling(d)
}

// needs is the rule that would have allowed what was denied last.
func needs(s *State) string {
	if n := len(s.Evidence.Denied); n > 0 && s.Evidence.Denied[n-1].Grant != "" {
		return "; the last one needs the rule " + s.Evidence.Denied[n-1].Grant
	}
	return ""
}

// dearer reports whether another attempt would go beyond the session's own limit of money if it cost what the
// dearest one has that failed.
func (d *decision) dearer() bool {
	most := d.s.Profile.Limits.MaxCost
	r, ok := d.s.Dearest()
	return ok && most > 0 && d.s.Session.Tally.Cost+r.Cost > most
}

// Names of limits in the log. Those of one session:
const (
	LimitTurns  = "turns"
	LimitTime   = "time"
	limitTokens = "tokens"
	limitCost   = "cost"
)

// Those of all sessions of a tree together:
const (
	TreeTurns  = "tree turns"
	TreeTokens = "tree tokens"
	TreeCost   = "tree cost"
)

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
func (d *decision) warning() (troupe.BudgetWarned, bool) {
	l, t, passed := d.s.Profile.Limits, d.s.Session.Tally, d.in.Now.Sub(d.s.since(d.in.Taken))
	for _, b := range [...]Bound{
		{LimitTurns, float64(d.s.RunTurns()), float64(l.MaxTurns),
			fmt.Sprintf("%d of %s are used up", d.s.RunTurns(), replies(l.MaxTurns))},
		{limitTokens, float64(t.Usage.Total()), float64(l.MaxTokens),
			fmt.Sprintf("%d of %d tokens are used up", t.Usage.Total(), l.MaxTokens)},
		{limitCost, float64(t.Cost), float64(l.MaxCost), fmt.Sprintf("%s of %s are spent", t.Cost, l.MaxCost)},
		{LimitTime, float64(passed), float64(l.MaxTime), fmt.Sprintf("%s of %s have passed",
			passed.Truncate(100*time.Millisecond), l.MaxTime)},
	} {
		if b.Near() && b.Used < b.Of && !slices.Contains(d.s.warned, b.Limit) {
			return b.Warning(), true
		}
	}
	if d.s.Unwarned(d.in.Near) {
		return d.in.Near, true
	}
	return warnsOfCircle(d)
}

// Unwarned reports whether the session was not told of this yet.
func (s *State) Unwarned(w troupe.BudgetWarned) bool {
	return w.Limit != "" && !slices.Contains(s.warned, w.Limit)
}

// maxNudges bounds how often in a row a model is told to go on.
const maxNudges = 2

// finish ends a run whose last reply asked for nothing. A reply that said nothing, or was cut
// at its limit, is not taken for an answer at once.
func (d *decision) finish() Action {
	if d.s.compactOnly {
		return End{Status: troupe.Completed, Result: d.s.last.text}
	}
	switch d.s.last.stop {
	case troupe.StopRefusal:
		return d.fail(troupe.CauseRefusal, "the model declined to go on")
	case troupe.StopMaxTokens:
		if d.s.nudges < maxNudges {
			return Nudge{"Your reply was cut at the limit of its length. Go on exactly where it ended, in smaller " +
				"steps."}
		}
		return d.fail(troupe.CauseLimit, "the last replies were cut at the model's output limit")
	case troupe.StopEndTurn, troupe.StopToolUse, troupe.StopOther:
	}
	if !d.s.last.said && d.s.replied != 0 {
		if d.s.nudges < maxNudges {
			return Nudge{"Your reply was empty. If the work is done, say what came of it; else go on."}
		}
		return d.fail(troupe.CauseError, fmt.Sprintf("the model has given %d empty replies in a row", d.s.nudges+1))
	}
	if len(d.s.Profile.Schema) > 0 {
		return Nudge{askAgain()}
	}
	return End{Status: troupe.Completed, Result: d.s.last.text}
}

// limited ends a run whose money or tokens are used up. A root's commands in the background end with it: no reply
// will tell what came of them, and whoever waits for the tree would wait for them.
func (d *decision) limited(limit, why string) Action {
	if d.s.Session.Depth > 0 {
		return End{troupe.Failed, troupe.CauseLimit, d.s.last.text, why, limit}
	}
	var untold []troupe.TaskID
	own := d.s.OwnTasks()
	for _, t := range own {
		if !d.in.Told(t.ID, true) {
			untold = append(untold, t.ID)
		}
	}
	switch {
	case len(untold) > 0:
		return StopTasks{Tasks: untold, Now: true}
	case len(own) == 1:
		why += "; the command in the background was stopped with it"
	case len(own) > 1:
		why += fmt.Sprintf("; %d commands in the background were stopped with it", len(own))
	}
	return End{troupe.Failed, troupe.CauseLimit, d.s.last.text, why, limit}
}

func (d *decision) fail(cause troupe.Cause, why string) Action {
	return End{Status: troupe.Failed, Cause: cause, Result: d.s.last.text, Error: why}
}
