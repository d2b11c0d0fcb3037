// Package turn is the heart of an agent as pure functions: State is the fold of a session's
// log, Apply adds one event to it, and Next says what to do now. Nothing here does I/O,
// reads a clock or starts a goroutine, so that the same code drives a live session, rebuilds
// one after a crash, projects rows for lists and runs in the simulation.
//
// Apply refuses an event that cannot happen in the state it finds (docs/state.md has the
// table); an actor that gets that refusal has a bug or is not alone, and stops.
package turn

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// State is everything about a session that its next step depends on.
type State struct {
	Session   troupe.Session // the projection kept beside the log
	Profile   troupe.Profile
	Authority troupe.Authority
	ofBirth
	Generation int    // of the model context; begins at 1
	Chain      string // of the last seal

	Calls []Call // of the last reply
	counts
	Files    map[string]string // absolute path → content hash last read or written
	Evidence troupe.Evidence   // of this run: files written, commands run
	refused  refused           // replies in a row that got nothing done
	Tasks    []troupe.Task     // in order of their beginning; of those that ended the latest

	ofTree
	exchange
	base  troupe.Tally // at the start of the run
	clock clock        // when the time began to count that the run may take
	ending
	warned []string // limits the session was warned of
	window window
	asking
}

// asking is what the session has asked for.
type asking struct {
	changed *troupe.Request // the request that the last event opened or settled; nil if it did neither
	Shown   string          // the plan that was put before a person last
}

// ofBirth is how the session came into being.
type ofBirth struct {
	Background bool         // to work in the background
	Fork       *troupe.Fork // where its parent's conversation goes on as its own; nil: it is no fork
	Place      place        // what has become of its own folder
}

// counts is how far the calls of the last reply have come, without a look at each.
type counts struct {
	open  int // have no result yet
	begun int // are asked about or at work, as far as the log knows
}

// ofTree is what the log of a root says of its tree.
type ofTree struct {
	Caps     troupe.Caps
	Settings troupe.Settings
	Board    board
	Team     *troupe.Team // that it leads; nil: none
}

// exchange is how far the session has come in talking to its model.
type exchange struct {
	reply      int         // number of the last whole reply
	seal       seal        // the last model call
	fault      *modelFault // how it failed, until one succeeds or a run begins
	last       lastReply   // what the last reply was
	mail       []int64     // events whose content no seal has covered yet, besides the reply's
	asked      []int64     // events with words of people and agents that no reply has followed yet
	replied    int64       // event of the last reply if no seal has covered it yet, else 0
	told       string      // what the session was told holds for it
	instructed []string    // files of instructions it was told besides, since the last summary
	nudges     int         // replies in a row that said nothing or were cut
	spoken     int         // replies before it was last set to work by more than the ends of its tasks
	lostEnd    cut         // of the log, if a repair could not save it
	skills     following   // the skills that it uses
	heard      []time.Time // when it was told of its monitors
	mute       mute        // of its agents, the one whose model was silent for longest when it was ended in this run
	hooks      hooked
	forks      int // that people had it make
	// chat counts the messages between it and others since it last called another tool. The map is never changed, but
	// replaced.
	chat        map[troupe.SessionID]int
	Summarized  bool // a summary has taken the place of all that was said before it, of a fork's parent too
	compactOnly bool // the run was begun for a summary, and nobody has said anything since
}

// mute is an agent that was ended while it waited for its model.
type mute struct {
	name   string
	silent time.Duration
}

// ending is what is wanted of a run besides that it goes on.
type ending struct {
	halt   halt  // the last stop that was delivered
	again  *End  // that the run comes to once more, and does nothing else; nil: it works
	leave  leave // the last wish of the lead of its team that it comes to an end
	report report
	// Queued is the session that has to end before the next run begins; "": none.
	Queued  troupe.SessionID
	handed  handed
	checked checked
}

// halt is a stop as far as it has been heard of.
type halt struct {
	run      int // the run it ends; 0: none
	now      bool
	tree     bool // stops tasks in the background too
	quiet    bool // the end is nobody's news
	taskStop bool // its parent wants this very task to stop
	by       string
	at       time.Time // when the last one was sent; what is said later is meant for the next run
}

// window is what is known of how full the model's window is.
type window struct {
	context int64  // tokens of the last call and its reply, as the provider counted them
	pending int64  // bytes of content since
	wanted  bool   // somebody asked for a summary
	hint    string // and said what matters in it
	summary int64  // event of the last summary if no seal has covered it yet, else 0
	fresh   bool   // there has been no reply since the last summary
	failed  int    // summaries in a row that failed
}

// Call is one tool call of the last reply and how far it has come.
type Call struct {
	troupe.Call
	ofAuto
	Stage CallStage
	Child troupe.SessionID // the session it gave birth to
	// Judged is what something else than rules said about it; nil: it was not asked.
	Judged *troupe.Judgement
	// Since is when it was started, if it was.
	Since time.Time
	// Wait is what it waits for, if that is all it does.
	Wait *troupe.Wait
	// Absent: the file that it writes was not there before it was started.
	Absent bool
	// Request is the open request about it, Asked the last one that was answered, and Answer what
	// was said to it.
	Request *troupe.Request
	Asked   *troupe.Request
	Answer  *troupe.Answer
	// AnsweredBy is who sent that answer; nil: no person did, but a rule or a deadline.
	AnsweredBy *troupe.Caller
	// Granted is what was allowed of what a confined run of the command wanted, and Rounds counts
	// the requests about such.
	Granted  []troupe.Attempt
	Rounds   int
	requests int   // of any kind, so far
	denials  int   // that it has brought to the evidence
	seq      int64 // event of its result
	deny     bool  // it got nothing done, for it was denied
	held     bool  // it ran, and failed for what the sandbox kept it from
	came
}

// came is what came of a call, until the next seal covers it.
type came struct {
	result *troupe.ToolFinished
	took   time.Duration
	looked bool // hooks were told of it
}

// Result is that of a call of which no hook was told and which no model has read; nil: it has none.
func (c *Call) Result() (result *troupe.ToolFinished, took time.Duration) {
	if c.looked {
		return nil, 0
	}
	return c.result, c.took
}

// refused counts replies in a row.
type refused struct {
	answered bool    // a person has answered a request of the last one: a no that was said here is no loop
	denied   int     // all of whose calls were denied
	held     int     // the same, where some may have been commands that the sandbox held back
	auto     int     // what the model of mode auto did not allow, in a row
	repeats  repeats // those that did what was done before
}

func (c *Call) coord() troupe.Coord { return troupe.Coord{Reply: c.Reply, Call: c.Index} }

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
	compact    bool // it asks for a summary
	seq        int64
	at         time.Time
}

type modelFault struct {
	fault   troupe.ModelFault
	message string
	attempt int
	at      time.Time     // when it failed
	silent  time.Duration // how long it had brought nothing
	retryAt time.Time
	since   time.Time // when the first attempt failed of those for the same reply
	seq     int64     // of that event
	row
}

// row is what the attempts for one reply that failed one after the other have cost.
type row struct {
	paid   int // how many were billed
	tokens int64
	cost   troupe.Money // of the dearest
}

type lastReply struct {
	stop troupe.StopReason
	text string
	said bool // it holds text or calls
	seq  int64
	// generation that it belongs to
	generation int
}

// Reply is the number of the last whole reply; the next one asked for is Reply()+1.
func (s *State) Reply() int { return s.reply }

// Calling reports whether the log has a model call without an end.
func (s *State) Calling() bool { return s.seal.open }

// Attempt is how many times the model has been asked for the current reply.
func (s *State) Attempt() int { return s.seal.attempt }

// RunTurns is how many replies the session has had since it was last set to work by words: in this run, and in
// those before it that the end of a task has led to.
func (s *State) RunTurns() int { return s.Session.Tally.Turns - s.spoken }

// spent reports whether the session has had all the replies it may have before it is set to work by words.
func (s *State) spent() bool {
	most := s.Profile.Limits.MaxTurns
	return most > 0 && s.RunTurns() >= most
}

// WokenBy is Session.WokenBy, and knows the limit of replies too: what a task tells begins no run that may not have
// one.
func (s *State) WokenBy(m troupe.Mail) bool {
	return s.Session.WokenBy(m) && !(m.Kind.OfTask() && s.spent())
}

// RunTally is the bill of this run alone.
func (s *State) RunTally() troupe.Tally { return s.Session.Tally.Minus(s.base) }

// Changed is the request that the last event opened or settled; nil if it did neither. It is what
// its row in the tree says from now on.
func (s *State) Changed() *troupe.Request { return s.changed }

// NextRequest is the id of the next request about a call.
func (s *State) NextRequest(i int) troupe.RequestID {
	c := &s.Calls[i]
	return troupe.NewRequestID(s.Session.ID, c.coord(), c.requests+1)
}

// Compacting reports whether the model call under way asks for a summary.
func (s *State) Compacting() bool { return s.seal.open && s.seal.compact }

// Dearest is what the dearest of the attempts used that have failed for the reply that is asked for: another
// one may cost as much. ok is false if none was billed.
func (s *State) Dearest() (r troupe.Reservation, ok bool) {
	if s.fault == nil || s.fault.paid == 0 {
		return r, false
	}
	return troupe.Reservation{Tokens: s.fault.tokens, Cost: s.fault.cost}, true
}

// SealedAt is the number of the event that sealed the last model call.
func (s *State) SealedAt() int64 { return s.seal.seq }

// Told is what the session was told last of what holds for it (troupe.Brief.Holds); "" if that is not known.
func (s *State) Told() string { return s.told }

// Instructed reports whether the session was told of a file of instructions because of something that it has read,
// and no summary has taken that away.
func (s *State) Instructed(file string) bool { return slices.Contains(s.instructed, file) }

// told notes what a session is told of what holds for it, and of instructions.
func (f *fold) told(b *troupe.Brief) {
	before := f.s.told
	if b != nil {
		if f.s.told = b.Holds; len(b.About) > 0 {
			f.s.told = before
		}
		f.s.instructed = append(f.s.instructed, b.About...)
		f.s.window.pending += int64(len(b.String()))
	}
}

// CompactHint is what somebody said that a summary should keep.
func (s *State) CompactHint() string { return s.window.hint }

// Asked lists the events with words of people and agents that no reply has followed yet.
func (s *State) Asked() []int64 { return s.asked }

// CompactFailures is how many summaries in a row have failed.
func (s *State) CompactFailures() int { return s.window.failed }

// Context estimates the tokens that the next call sends: what the provider counted for the
// last one, and what has come since.
func (s *State) Context() int64 { return s.window.context + s.window.pending/bytesPerToken }

// bytesPerToken is on the careful side: English prose has some four bytes to a token, code
// some three.
const bytesPerToken = 3

// Quiet reports whether the end of the run is nobody's news: whoever would be told has
// caused it on its own way down.
func (s *State) Quiet() bool { return s.halted() && s.halt.quiet }

// Resume takes back the stops that had not ended the run yet when its process went away: who
// resumes it wants it to go on. A stop that its parent meant for this very task stands. ok is
// false if there is nothing to take back.
func (s *State) Resume(unread []troupe.Mail, now time.Time) (out troupe.MailDelivered, ok bool) {
	run := s.Session.Run
	if s.Session.Status == troupe.Spawning {
		run++
	}
	for _, m := range unread {
		if m.Kind == troupe.MailStop && m.Stop.Task == "" && (m.From == "" || m.Quiet) {
			m.Stop = &troupe.Stop{Run: run, Void: true, By: m.Stop.By}
			out.Mail = append(out.Mail, m)
		}
	}
	over := s.Session.Status.Ended() && !s.working() // then the stop has done all there was to do
	if s.halted() && !over && !s.halt.taskStop && len(out.Mail) == 0 {
		out.Mail = append(out.Mail, troupe.Mail{
			ID: troupe.MailID(fmt.Sprintf("resume:%s:%d", s.Session.ID, s.Session.Seq)), Root: s.Session.Root,
			To:   s.Session.ID,
			Kind: troupe.MailStop, SentAt: now, Stop: &troupe.Stop{Run: run, Void: true, By: "the resuming"},
		})
	}
	return out, len(out.Mail) > 0
}

// halted reports whether a stop is meant for the run there is, or for the one to come.
func (s *State) halted() bool {
	run := s.Session.Run
	if s.Session.Status == troupe.Spawning {
		run++
	}
	return s.halt.run != 0 && s.halt.run == run
}

// Task finds a task by its id, or an agent by its name, without regard to case.
func (s *State) Task(ref string) (troupe.Task, bool) {
	for i := range s.Tasks {
		if string(s.Tasks[i].ID) == ref {
			return s.Tasks[i], true
		}
	}
	for i := len(s.Tasks) - 1; i >= 0; i-- {
		if t := s.Tasks[i]; t.Kind.OfSession() && strings.EqualFold(t.Name, ref) {
			return t, true
		}
	}
	return troupe.Task{}, false
}

// Refs lists the events whose content the next seal has to cover: a summary, the last
// reply, the results of its calls in the order of the calls, then mail as it came.
func (s *State) Refs() []int64 {
	var refs []int64
	if s.window.summary != 0 {
		refs = append(refs, s.window.summary)
	}
	if s.replied != 0 {
		refs = append(refs, s.replied)
		for i := range s.Calls {
			refs = append(refs, s.Calls[i].seq)
		}
	}
	return append(append(refs, s.hooks.held...), s.mail...)
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
	c.asked = slices.Clone(s.asked)
	c.instructed = slices.Clip(s.instructed)
	c.Tasks = slices.Clone(s.Tasks)
	c.warned = slices.Clip(s.warned)
	c.Files = maps.Clone(s.Files)
	c.Evidence.Files = slices.Clone(s.Evidence.Files)
	c.Evidence.Commands = slices.Clip(s.Evidence.Commands)
	c.Evidence.Denied = slices.Clip(s.Evidence.Denied)
	return c
}
