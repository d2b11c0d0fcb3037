// Package turn is the heart of an agent as pure functions: State is the fold of a session's
// log, Apply adds one event to it, and Next says what to do now. Nothing here does I/O,
// reads a clock or starts a goroutine, so that the same code drives a live session, rebuilds
// one after a crash, projects rows for lists and runs in the simulation.
//
// Apply refuses an event that cannot happen in the state it finds (docs/state.md has the
// table); an actor that gets that refusal has a bug or is not alone, and stops.
package turn

import (
	"maps"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// State is everything about a session that its next step depends on.
type State struct {
	Session    troupe.Session // the projection kept beside the log
	Profile    troupe.Profile
	Authority  troupe.Authority
	Caps       troupe.Caps // roots only
	Generation int         // of the model context; begins at 1
	Chain      string      // of the last seal

	Calls    []Call            // of the last reply
	open     int               // how many of them have no result yet
	Files    map[string]string // absolute path → content hash last read or written
	Evidence troupe.Evidence   // of this run: files written, commands run
	Denials  int               // replies in a row all of whose calls were denied

	reply   int          // number of the last whole reply
	seal    seal         // the last model call
	fault   *modelFault  // how it failed, until one succeeds or a run begins
	last    lastReply    // what the last reply was
	mail    []int64      // events whose content no seal has covered yet, besides the reply's
	replied int64        // event of the last reply if no seal has covered it yet, else 0
	base    troupe.Tally // at the start of the run
}

// Call is one tool call of the last reply and how far it has come.
type Call struct {
	troupe.Call
	Stage CallStage
	Child troupe.SessionID // the session it gave birth to
	seq   int64            // event of its result
	deny  bool
}

// CallStage is how far a call has come.
type CallStage int

// Stages of a call.
const (
	// CallPending: not begun as far as the log knows. Read-only calls stay here until they
	// are done, so after a restart they run again.
	CallPending CallStage = iota
	// CallAsked: a request about it is open.
	CallAsked
	// CallStarted: it may have had effects, or its child is alive.
	CallStarted
	// CallDone: it has its result.
	CallDone
)

type seal struct {
	reply      int
	attempt    int
	open       bool // no reply and no failure yet
	unanswered bool // its content has had no whole reply yet
}

type modelFault struct {
	fault   troupe.ModelFault
	message string
	attempt int
	retryAt time.Time
}

type lastReply struct {
	stop troupe.StopReason
	text string
}

// Reply is the number of the last whole reply; the next one asked for is Reply()+1.
func (s *State) Reply() int { return s.reply }

// Calling reports whether the log has a model call without an end.
func (s *State) Calling() bool { return s.seal.open }

// Attempt is how many times the model has been asked for the current reply.
func (s *State) Attempt() int { return s.seal.attempt }

// RunTurns is how many replies this run has had.
func (s *State) RunTurns() int { return s.Session.Tally.Turns - s.base.Turns }

// RunTally is the bill of this run alone.
func (s *State) RunTally() troupe.Tally { return s.Session.Tally.Minus(s.base) }

// Refs lists the events whose content the next seal has to cover: the last reply, the
// results of its calls in the order of the calls, then mail as it came.
func (s *State) Refs() []int64 {
	var refs []int64
	if s.replied != 0 {
		refs = append(refs, s.replied)
		for i := range s.Calls {
			refs = append(refs, s.Calls[i].seq)
		}
	}
	return append(refs, s.mail...)
}

// Awaits reports whether the model has something to answer.
func (s *State) Awaits() bool {
	return s.seal.unanswered || len(s.mail) > 0 || (s.replied != 0 && len(s.Calls) > 0)
}

// Clone returns a copy that can take further events without changing s. Content that
// events only ever replace is shared.
func (s *State) Clone() State {
	c := *s
	c.Calls = slices.Clone(s.Calls)
	c.mail = slices.Clone(s.mail)
	c.Files = maps.Clone(s.Files)
	c.Evidence.Files = slices.Clone(s.Evidence.Files)
	c.Evidence.Commands = slices.Clip(s.Evidence.Commands)
	c.Evidence.Denied = slices.Clip(s.Evidence.Denied)
	return c
}
