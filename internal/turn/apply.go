package turn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// Fold applies events in order to an empty state.
func Fold(events []troupe.Event) (State, error) {
	var s State
	for _, e := range events {
		if err := s.Apply(e); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Apply adds one event. On an error the state is as it was before.
func (s *State) Apply(e troupe.Event) error {
	if e.Seq != s.Session.Seq+1 {
		return s.refuse(e, "its number does not follow %d", s.Session.Seq)
	}
	if !Allowed(s.Session.Status, s.Session.Waiting, e.Body.Kind()) {
		return s.refuse(e, "the session is %s", describe(s.Session.Status, s.Session.Waiting))
	}
	before := s.changed
	s.changed = nil
	if err := s.apply(e); err != nil {
		s.changed = before
		return err
	}
	s.Session.Seq = e.Seq
	s.settle()
	return nil
}

func (s *State) apply(e troupe.Event) error {
	switch b := e.Body.(type) {
	case troupe.Created:
		s.created(e, b)
	case troupe.Started:
		return s.started(e, b)
	case troupe.MailDelivered:
		return s.delivered(e, b)
	case troupe.CallSealed:
		return s.sealed(e, b)
	case troupe.Replied:
		return s.applyReply(e, b)
	case troupe.ModelFailed:
		return s.failed(e, b)
	case troupe.ModelChanged:
		if s.seal.open {
			return s.refuse(e, "a model call is under way")
		}
		s.Session.Model = b.Model
		s.Profile.Model = b.Model
		s.Generation++
		s.fault, s.seal.attempt = nil, 0
		s.window.context, s.window.failed = 0, 0
	case troupe.AuthorityChanged:
		s.Authority = b.Authority
	case troupe.ToolJudged:
		return s.toolJudged(e, b)
	case troupe.SettingsChanged:
		s.Settings = b.Settings
	case troupe.ToolStarted:
		return s.toolStarted(e, b)
	case troupe.ToolFinished:
		return s.toolFinished(e, b)
	case troupe.RequestOpened:
		return s.requestOpened(e, b)
	case troupe.RequestAnswered:
		return s.requestAnswered(e, b)
	case troupe.Compacted:
		return s.compacted(e, b)
	case troupe.BudgetWarned:
		s.warned = append(s.warned, b.Limit)
		s.mail = append(s.mail, e.Seq)
		s.window.pending += int64(len(b.Text))
	case troupe.Ended:
		return s.ended(e, b)
	default:
		return s.refuse(e, "this version does not know it")
	}
	return nil
}

func (s *State) created(e troupe.Event, b troupe.Created) {
	s.Profile, s.Authority, s.Generation, s.Background = b.Profile, b.Authority, 1, b.Background
	if b.Caps != nil {
		s.Caps = *b.Caps
	}
	s.Settings.Policy = troupe.DefaultPolicy()
	if b.Settings != nil {
		s.Settings = *b.Settings
	}
	s.Session = troupe.Session{
		ID: e.Session, Root: e.Root, Parent: b.Parent, Coord: b.Coord,
		Name: b.Name, Title: b.Title, Depth: b.Depth, Cwd: b.Cwd,
		Type: b.Profile.Type, Model: b.Profile.Model,
		Status: troupe.Spawning, CreatedAt: e.At,
	}
}

func (s *State) started(e troupe.Event, b troupe.Started) error {
	if b.Run != s.Session.Run+1 {
		return s.refuse(e, "run %d does not follow run %d", b.Run, s.Session.Run)
	}
	p := &s.Session
	p.Run, p.Status, p.Waiting, p.Cause, p.Error = b.Run, troupe.Running, "", "", ""
	p.StartedAt, p.EndedAt = e.At, time.Time{}
	s.base, s.fault, s.Denials, s.Evidence = p.Tally, nil, 0, troupe.Evidence{}
	s.startClock(e)
	s.seal.attempt = 0 // what failed in the run before does not count against this one
	s.nudges, s.window.failed = 0, 0
	s.compactOnly = s.window.wanted && s.reply > 0
	return nil
}

func (s *State) sealed(e troupe.Event, b troupe.CallSealed) error {
	if b.Reply != s.reply+1 {
		return s.refuse(e, "reply %d does not follow reply %d", b.Reply, s.reply)
	}
	if s.seal.open {
		return s.refuse(e, "a model call is under way")
	}
	if s.open > 0 {
		return s.refuse(e, "%d calls have no result", s.open)
	}
	attempt := 1
	if s.seal.reply == b.Reply {
		attempt = s.seal.attempt + 1
	}
	s.Session.Reserved = b.Reserved
	if b.Compact {
		// Nothing is settled by it: what it sends will be sent again, or stand in the summary.
		s.seal = seal{reply: b.Reply, attempt: attempt, open: true, unanswered: s.seal.unanswered, compact: true,
			seq: e.Seq}
		s.Generation = b.Generation
		return nil
	}
	s.seal = seal{reply: b.Reply, attempt: attempt, open: true, unanswered: true, seq: e.Seq}
	s.mail, s.replied, s.window.summary = nil, 0, 0
	s.Generation, s.Chain = b.Generation, b.Chain
	return nil
}

func (s *State) applyReply(e troupe.Event, b troupe.Replied) error {
	if !s.seal.open || s.seal.compact || b.Reply != s.seal.reply {
		return s.refuse(e, "reply %d was not asked for", b.Reply)
	}
	s.seal.open, s.seal.unanswered = false, false
	s.asked = slices.DeleteFunc(s.asked, func(seq int64) bool { return seq <= s.seal.seq })
	s.reply, s.fault, s.replied = b.Reply, nil, e.Seq
	s.Session.Error, s.Session.Reserved = "", troupe.Reservation{}
	s.last = lastReply{stop: b.Stop, text: troupe.JoinText(b.Blocks)}
	s.Calls = nil
	for _, block := range b.Blocks {
		if block.Type == troupe.CallBlock && block.Call != nil {
			s.Calls = append(s.Calls, Call{Call: *block.Call})
		}
	}
	s.open = len(s.Calls)
	s.last.said = s.last.text != "" || s.open > 0
	if s.last.said && b.Stop != troupe.StopMaxTokens {
		s.nudges = 0
	}
	s.window.context, s.window.pending = b.Usage.Total(), 0
	s.window.fresh, s.window.failed = false, 0
	t := &s.Session.Tally
	t.Usage, t.Cost, t.Turns = t.Usage.Add(b.Usage), t.Cost+b.Cost, t.Turns+1
	return nil
}

func (s *State) failed(e troupe.Event, b troupe.ModelFailed) error {
	if !s.seal.open {
		return s.refuse(e, "no model call is under way")
	}
	s.seal.open = false
	before := s.fault
	s.fault = &modelFault{b.Fault, b.Message, b.Attempt, e.At, b.RetryAt}
	s.Session.Reserved = troupe.Reservation{}
	if !b.RetryAt.IsZero() {
		s.Session.Error = b.Message
	}
	if s.seal.compact {
		s.summaryFailed(b, before)
	}
	t := &s.Session.Tally
	t.Usage, t.Cost = t.Usage.Add(b.Usage), t.Cost+b.Cost
	return nil
}

// summaryFailed notes a summary that did not come about. That is no loss: what was said is
// all there still. What the call sent is not the beginning of what the next one sends, so
// that one belongs to another generation.
func (s *State) summaryFailed(b troupe.ModelFailed, before *modelFault) {
	s.Generation++
	if b.Fault == troupe.FaultInterrupted || !b.RetryAt.IsZero() {
		return
	}
	s.window.failed++
	s.window.wanted = false
	s.fault = nil
	if before != nil && before.fault == troupe.FaultTooLong {
		s.fault = before // what it was to mend stays to be mended
	}
}

func (s *State) toolJudged(e troupe.Event, b troupe.ToolJudged) error {
	c, err := s.call(e, b.Reply, b.Call, CallPending)
	if err != nil {
		return err
	}
	if c.Judged != nil {
		return s.refuse(e, "call %d was judged before, by %s", b.Call, c.Judged.By)
	}
	c.Judged = &b.Judgement
	return nil
}

func (s *State) toolStarted(e troupe.Event, b troupe.ToolStarted) error {
	c, err := s.call(e, b.Reply, b.Call, CallPending)
	if err != nil {
		return err
	}
	c.Stage, c.Child, c.Since, c.Wait = CallStarted, b.Child, e.At, b.Wait
	if b.Task != nil {
		s.setTask(*b.Task)
	}
	return nil
}

func (s *State) toolFinished(e troupe.Event, b troupe.ToolFinished) error {
	c, err := s.call(e, b.Result.Reply, b.Result.Call, CallPending, CallAsked, CallStarted)
	if err != nil {
		return err
	}
	s.settleRequest(c, e.At, nil)
	c.Stage, c.seq = CallDone, e.Seq
	// A command that failed for what it was kept from got as little done as one that never ran.
	c.deny = b.Denied != nil || b.Outcome == nil && b.Result.IsError && len(b.Evidence.Denied) > 0
	for _, block := range b.Result.Blocks {
		s.window.pending += size(block)
	}
	switch {
	case b.Task != nil:
		s.setTask(*b.Task)
	case b.Outcome != nil:
		s.endTask(e, *b.Outcome, time.Time{})
	case c.Child != "":
		s.endTask(e, troupe.Outcome{Session: c.Child, Status: troupe.Cancelled}, time.Time{})
	}
	s.open--
	t := &s.Session.Tally
	t.ToolUses++
	t.Usage, t.Cost = t.Usage.Add(b.Usage), t.Cost+b.Cost
	for _, f := range b.Evidence.Files {
		if s.Files == nil {
			s.Files = make(map[string]string)
		}
		s.Files[f.Path] = f.Hash
		if f.Wrote {
			s.Evidence.Files = mergeTouch(s.Evidence.Files, f)
		}
	}
	for _, c := range b.Evidence.Commands {
		c.Command, _ = Cap(c.Command, maxCommand)
		s.Evidence.Commands = append(s.Evidence.Commands, c)
	}
	s.noteDenials(c, b)
	if s.open == 0 {
		s.countDenials()
	}
	return nil
}

// maxCommand bounds, in bytes, what of a command is kept as evidence: whole files are
// written by commands with here-documents. The call in the log has all of it.
const maxCommand = 1000

// maxDenials bounds the denials a session keeps for its report; the log has them all.
const maxDenials = 100

// noteDenials keeps the session's own denial, or those that an ended child reports. c is nil if no
// call waited for that child.
func (s *State) noteDenials(c *Call, b troupe.ToolFinished) {
	var denied []troupe.Denial
	if b.Outcome == nil {
		denied = append(denied, b.Evidence.Denied...)
	}
	if b.Denied != nil {
		denied = append(denied, troupe.Denial{Tool: b.Name, Why: b.Denied.Why, Grant: b.Denied.Grant})
	}
	if b.Outcome != nil {
		for _, d := range b.Outcome.Evidence.Denied {
			d.Agent = strings.TrimSuffix(b.Outcome.Name+"/"+d.Agent, "/")
			denied = append(denied, d)
		}
	}
	denied = denied[:min(max(0, maxDenials-len(s.Evidence.Denied)), len(denied))]
	// Calls are judged side by side. They are told in the order of the reply, and copies of the
	// state share what was there before.
	at := len(s.Evidence.Denied)
	if c != nil {
		for i := c.Index + 1; i < len(s.Calls); i++ {
			at = max(0, at-s.Calls[i].denials)
		}
		c.denials = len(denied)
	}
	s.Evidence.Denied = slices.Concat(s.Evidence.Denied[:at], denied, s.Evidence.Denied[at:])
}

func (s *State) countDenials() {
	for i := range s.Calls {
		if !s.Calls[i].deny {
			s.Denials = 0
			return
		}
	}
	s.Denials++
}

func mergeTouch(files []troupe.FileTouch, f troupe.FileTouch) []troupe.FileTouch {
	for i := range files {
		if files[i].Path == f.Path {
			f.Added += files[i].Added
			f.Removed += files[i].Removed
			files[i] = f
			return files
		}
	}
	return append(files, f)
}

func (s *State) requestOpened(e troupe.Event, b troupe.RequestOpened) error {
	// A command that ran confined and wanted more is asked about when that run is over.
	c, err := s.call(e, b.Reply, b.Call, CallPending, CallStarted)
	if err != nil {
		return err
	}
	if c.Stage == CallStarted && (c.Child != "" || c.Wait != nil || len(b.Wants) == 0) {
		return s.refuse(e, "call %d is under way", b.Call)
	}
	c.requests++
	r := troupe.Request{
		ID: b.ID, Root: e.Root, Session: e.Session, Coord: c.coord(), RequestBody: b.RequestBody, Opened: e.At,
	}
	if r.ID == "" { // a version before this one wrote it
		r.ID = troupe.NewRequestID(e.Session, r.Coord, c.requests)
	}
	c.Stage, c.Request, c.Answer, s.changed = CallAsked, &r, nil, &r
	return nil
}

func (s *State) requestAnswered(e troupe.Event, b troupe.RequestAnswered) error {
	c, err := s.call(e, b.Reply, b.Call, CallAsked)
	if err != nil {
		return err
	}
	if b.ID != "" && b.ID != c.Request.ID {
		return s.refuse(e, "the open request about call %d is %s", b.Call, c.Request.ID)
	}
	if len(c.Request.Wants) > 0 {
		c.Rounds++
		if b.Effect == troupe.Allow {
			c.Granted = append(slices.Clip(c.Granted), c.Request.Wants...)
		}
	}
	s.settleRequest(c, e.At, b.Answer())
	c.Stage, c.Asked, c.Answer = CallPending, s.changed, s.changed.Answer
	return nil
}

// settleRequest closes the open request about a call, if there is one. Requests are shared with
// whoever reads them, so they are replaced and not changed.
func (s *State) settleRequest(c *Call, at time.Time, ans *troupe.Answer) {
	if c.Request == nil {
		return
	}
	r := *c.Request
	r.Settled, r.Answer = at, ans
	c.Request, s.changed = nil, &r
}

func (s *State) ended(e troupe.Event, b troupe.Ended) error {
	if s.open > 0 || s.seal.open {
		return s.refuse(e, "%d calls and %v model call have no end", s.open, s.seal.open)
	}
	if b.Outcome.Status.Live() {
		return s.refuse(e, "%s is not an end", b.Outcome.Status)
	}
	p := &s.Session
	p.Status, p.Waiting, p.Cause = b.Outcome.Status, "", b.Outcome.Cause
	p.Result, p.Error, p.EndedAt = b.Outcome.Result, b.Outcome.Error, e.At
	p.Until, p.Reserved = time.Time{}, troupe.Reservation{}
	s.window.wanted = false // a run that could not shorten its conversation does not begin another
	if s.halt.run > p.Run {
		s.halt = halt{} // it was stopped before its first run; the next one is another matter
	}
	if p.Depth > 0 {
		s.endShells(e)
	}
	return nil
}

// call finds a call of the last reply that is in one of the stages.
func (s *State) call(e troupe.Event, reply, index int, stages ...CallStage) (*Call, error) {
	if reply != s.reply || index < 0 || index >= len(s.Calls) {
		return nil, s.refuse(e, "there is no call %d of reply %d", index, reply)
	}
	c := &s.Calls[index]
	for _, stage := range stages {
		if c.Stage == stage {
			return c, nil
		}
	}
	return nil, s.refuse(e, "call %d of reply %d is at stage %d", index, reply, c.Stage)
}

// settle derives the status of a live session from what is under way.
func (s *State) settle() {
	p := &s.Session
	if p.Status != troupe.Running && p.Status != troupe.Waiting {
		return
	}
	var reason troupe.WaitReason
	reason, p.Until = s.waitsFor()
	if reason == "" {
		p.Status, p.Waiting, p.Until = troupe.Running, "", time.Time{}
		return
	}
	p.Status, p.Waiting = troupe.Waiting, reason
}

// waitsFor says what keeps the session from going on by itself, and when it looks again
// whatever happens.
func (s *State) waitsFor() (troupe.WaitReason, time.Time) {
	if s.seal.open {
		return troupe.WaitModel, time.Time{}
	}
	if s.fault != nil && !s.fault.retryAt.IsZero() {
		return troupe.WaitModel, s.fault.retryAt
	}
	var asked, children bool
	var until time.Time
	reason := troupe.WaitApproval
	for i := range s.Calls {
		switch c := &s.Calls[i]; {
		case c.Stage == CallAsked:
			asked = true
			until = earlier(until, c.Request.Until)
			if c.Request.Reason == troupe.WaitQuestion {
				reason = troupe.WaitQuestion
			}
		case c.Stage == CallStarted && c.Wait != nil:
			children = true
			until = earlier(until, c.Wait.Until)
		case c.Stage == CallStarted && c.Child != "":
			children = true
		case c.Stage == CallStarted && !asked:
			return "", time.Time{} // a tool is at work
		}
	}
	switch {
	case asked:
		return reason, until
	case children:
		return troupe.WaitChildren, until
	}
	return "", time.Time{}
}

// earlier is the earlier of two times, of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

func (s *State) refuse(e troupe.Event, format string, args ...any) error {
	return &RefusedError{Session: e.Session, Seq: e.Seq, Kind: e.Body.Kind(), Why: fmt.Sprintf(format, args...)}
}

// RefusedError is an event that cannot follow the log it was offered to.
type RefusedError struct {
	Session troupe.SessionID
	Seq     int64
	Kind    troupe.Kind
	Why     string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("session %s: event %d (%s) cannot happen: %s", e.Session, e.Seq, e.Kind, e.Why)
}
