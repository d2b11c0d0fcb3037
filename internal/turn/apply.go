package turn

import (
	"fmt"
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
	if err := s.apply(e); err != nil {
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
		s.mail = append(s.mail, e.Seq)
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
	case troupe.AuthorityChanged:
		s.Authority = b.Authority
	case troupe.ToolStarted:
		return s.toolStarted(e, b)
	case troupe.ToolFinished:
		return s.toolFinished(e, b)
	case troupe.RequestOpened:
		return s.requestOpened(e, b)
	case troupe.RequestAnswered:
		return s.requestAnswered(e, b)
	case troupe.Ended:
		return s.ended(e, b)
	default:
		return s.refuse(e, "this version does not know it")
	}
	return nil
}

func (s *State) created(e troupe.Event, b troupe.Created) {
	s.Profile, s.Authority, s.Generation = b.Profile, b.Authority, 1
	if b.Caps != nil {
		s.Caps = *b.Caps
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
	s.seal.attempt = 0 // what failed in the run before does not count against this one
	return nil
}

func (s *State) sealed(e troupe.Event, b troupe.CallSealed) error {
	if b.Reply != s.reply+1 {
		return s.refuse(e, "reply %d does not follow reply %d", b.Reply, s.reply)
	}
	if s.open > 0 {
		return s.refuse(e, "%d calls have no result", s.open)
	}
	attempt := 1
	if s.seal.reply == b.Reply {
		attempt = s.seal.attempt + 1
	}
	s.seal = seal{reply: b.Reply, attempt: attempt, open: true, unanswered: true}
	s.mail, s.replied = nil, 0
	s.Generation, s.Chain = b.Generation, b.Chain
	return nil
}

func (s *State) applyReply(e troupe.Event, b troupe.Replied) error {
	if !s.seal.open || b.Reply != s.seal.reply {
		return s.refuse(e, "reply %d was not asked for", b.Reply)
	}
	s.seal.open, s.seal.unanswered = false, false
	s.reply, s.fault, s.replied = b.Reply, nil, e.Seq
	s.last = lastReply{stop: b.Stop, text: troupe.JoinText(b.Blocks)}
	s.Calls = nil
	for _, block := range b.Blocks {
		if block.Type == troupe.CallBlock && block.Call != nil {
			s.Calls = append(s.Calls, Call{Call: *block.Call})
		}
	}
	s.open = len(s.Calls)
	t := &s.Session.Tally
	t.Usage, t.Cost, t.Turns = t.Usage.Add(b.Usage), t.Cost+b.Cost, t.Turns+1
	return nil
}

func (s *State) failed(e troupe.Event, b troupe.ModelFailed) error {
	if !s.seal.open {
		return s.refuse(e, "no model call is under way")
	}
	s.seal.open = false
	s.fault = &modelFault{b.Fault, b.Message, b.Attempt, b.RetryAt}
	t := &s.Session.Tally
	t.Usage, t.Cost = t.Usage.Add(b.Usage), t.Cost+b.Cost
	return nil
}

func (s *State) toolStarted(e troupe.Event, b troupe.ToolStarted) error {
	c, err := s.call(e, b.Reply, b.Call, CallPending)
	if err != nil {
		return err
	}
	c.Stage, c.Child = CallStarted, b.Child
	return nil
}

func (s *State) toolFinished(e troupe.Event, b troupe.ToolFinished) error {
	c, err := s.call(e, b.Result.Reply, b.Result.Call, CallPending, CallAsked, CallStarted)
	if err != nil {
		return err
	}
	c.Stage, c.seq, c.deny = CallDone, e.Seq, b.Denied != nil
	s.open--
	s.Session.Tally.ToolUses++
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
	s.noteDenials(b)
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

// noteDenials keeps the session's own denial, or those that an ended child reports.
func (s *State) noteDenials(b troupe.ToolFinished) {
	var denied []troupe.Denial
	if b.Denied != nil {
		denied = append(denied, troupe.Denial{Tool: b.Name, Why: b.Denied.Why, Grant: b.Denied.Grant})
	}
	if b.Outcome != nil {
		for _, d := range b.Outcome.Evidence.Denied {
			d.Agent = strings.TrimSuffix(b.Outcome.Name+"/"+d.Agent, "/")
			denied = append(denied, d)
		}
	}
	room := max(0, maxDenials-len(s.Evidence.Denied))
	s.Evidence.Denied = append(s.Evidence.Denied, denied[:min(room, len(denied))]...)
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
	c, err := s.call(e, b.Reply, b.Call, CallPending)
	if err != nil {
		return err
	}
	c.Stage = CallAsked
	s.Session.Waiting = b.Reason // kept by settle if nothing else is at work
	return nil
}

func (s *State) requestAnswered(e troupe.Event, b troupe.RequestAnswered) error {
	c, err := s.call(e, b.Reply, b.Call, CallAsked)
	if err != nil {
		return err
	}
	c.Stage = CallPending
	return nil
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
	reason := s.waitsFor()
	if reason == "" {
		p.Status, p.Waiting = troupe.Running, ""
		return
	}
	p.Status, p.Waiting = troupe.Waiting, reason
}

func (s *State) waitsFor() troupe.WaitReason {
	if s.seal.open || (s.fault != nil && !s.fault.retryAt.IsZero()) {
		return troupe.WaitModel
	}
	if s.open == 0 {
		return ""
	}
	asked, children := false, false
	for i := range s.Calls {
		switch c := &s.Calls[i]; c.Stage {
		case CallAsked:
			asked = true
		case CallStarted:
			if c.Child == "" {
				return "" // a tool is at work
			}
			children = true
		case CallPending, CallDone:
		}
	}
	switch {
	case asked && s.Session.Waiting == troupe.WaitQuestion:
		return troupe.WaitQuestion
	case asked:
		return troupe.WaitApproval
	case children:
		return troupe.WaitChildren
	}
	return ""
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
