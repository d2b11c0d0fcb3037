package turn

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// Fold applies the events of a log in order to an empty state. They were all applied before they were
// written: one that cannot follow is damaged.
func Fold(events []troupe.Event) (State, error) {
	var s State
	for _, e := range events {
		if err := s.Apply(e); err != nil {
			return s, fmt.Errorf("%w: %w", troupe.ErrDamaged, err)
		}
	}
	return s, nil
}

// Apply adds one event. On an error the state is as it was before.
func (s *State) Apply(e troupe.Event) error {
	f := fold{s: s, e: &e}
	if e.Seq != s.Session.Seq+1 {
		return f.refuse("its number does not follow %d", s.Session.Seq)
	}
	if !Allowed(s.Session.Status, s.Session.Waiting, e.Body.Kind()) {
		return f.refuse("the session is %s", describe(s.Session.Status, s.Session.Waiting))
	}
	if k := e.Body.Kind(); k != troupe.KindSessionChanged {
		switch {
		case s.Session.Archived:
			return f.refuse("it is archived")
		case k != troupe.KindWoke && !s.Session.AsleepAt.IsZero():
			return f.refuse("it is asleep")
		}
	}
	before := s.changed
	s.changed = nil
	if err := f.apply(); err != nil {
		s.changed = before
		return err
	}
	s.Session.Seq = e.Seq
	f.settle()
	return nil
}

// fold is the step that Apply takes: a state, and the event that comes to it. It points to both: what
// the state keeps of an event that lies in here by value moves the whole state to the heap.
type fold struct {
	s *State
	e *troupe.Event
}

func (f *fold) apply() error {
	switch b := f.e.Body.(type) {
	case troupe.Created:
		f.created(b)
	case troupe.Started:
		return f.started(b)
	case troupe.MailDelivered:
		return f.delivered(b)
	case troupe.CallSealed:
		return f.sealed(b)
	case troupe.VerifyStarted:
		return verifyStarted(f, b)
	case troupe.VerifyEnded:
		return verifyEnded(f, b)
	case troupe.HandoffAsked:
		return handoffAsked(f, b)
	case troupe.HandoffJudged:
		return handoffJudged(f, b)
	case troupe.Queued:
		if f.s.Queued = b.Behind; f.s.Session.Status == troupe.Spawning {
			f.s.Session.Error = b.Why
		}
	case troupe.Replied:
		return f.applyReply(b)
	case troupe.ModelFailed:
		return f.failed(b)
	case troupe.ModelChanged:
		if f.s.seal.open {
			return f.refuse("a model call is under way")
		}
		modelChanged(f, b)
		f.s.Generation++
		f.s.fault, f.s.seal.attempt = nil, 0
		f.s.window.context, f.s.window.failed = 0, 0
	case troupe.AuthorityChanged:
		f.s.Authority = b.Authority
	case troupe.ToolJudged:
		return f.toolJudged(b)
	case troupe.AutoAsked:
		return f.autoAsked(b)
	case troupe.AutoJudged:
		return f.autoJudged(b)
	case troupe.HookRan:
		f.hookRan(b)
	case troupe.SettingsChanged:
		f.s.Settings = b.Settings
	case troupe.BoardChanged:
		return f.boardChanged(b)
	case troupe.Slept:
		return slept(f)
	case troupe.Woke:
		return woke(f)
	case troupe.Imported:
		imported(f)
	case troupe.SessionChanged:
		return sessionChanged(f, b)
	case troupe.TeamChanged:
		return teamChanged(f, b)
	case troupe.WorkspaceReady:
		return workspaceReady(f, b)
	case troupe.WorkspaceSaved:
		return workspaceSaved(f, b)
	case troupe.WorkspaceChanged:
		return workspaceChanged(f, b)
	case troupe.WorkspaceMerged:
		return workspaceMerged(f, b)
	case troupe.ToolStarted:
		return f.toolStarted(b)
	case troupe.ToolFinished:
		return f.toolFinished(b)
	case troupe.RequestOpened:
		return f.requestOpened(b)
	case troupe.RequestAnswered:
		return f.requestAnswered(b)
	case troupe.Compacted:
		return f.compacted(b)
	case troupe.BudgetWarned:
		if b.Limit == troupe.LimitRepeats {
			f.s.refused.repeats.told = true
		} else {
			f.s.warned = append(f.s.warned, b.Limit)
		}
		f.s.mail = append(f.s.mail, f.e.Seq)
		f.s.window.pending += int64(len(b.Text))
	case troupe.Ended:
		return f.ended(b)
	default:
		return f.refuse("this version does not know it")
	}
	return nil
}

func (f *fold) created(b troupe.Created) {
	f.s.Profile, f.s.Authority, f.s.Generation = b.Profile, b.Authority, 1
	f.s.ofBirth = ofBirth{Background: b.Background, Fork: b.Fork}
	if b.Caps != nil {
		f.s.Caps = *b.Caps
	}
	f.s.Settings.Policy = troupe.DefaultPolicy()
	if b.Settings != nil {
		f.s.Settings = *b.Settings
	}
	f.s.Session = troupe.Session{
		ID: f.e.Session, Root: f.e.Root, Parent: b.Parent, Coord: b.Coord,
		Name: b.Name, Title: b.Title, Depth: b.Depth, Cwd: b.Cwd, Workspace: b.Workspace,
		Type: b.Profile.Kind(), Model: b.Profile.Model, Team: b.Profile.Team,
		Status: troupe.Spawning, CreatedAt: f.e.At,
	}
	if b.Caller != nil {
		f.s.Session.By = b.Caller.Name
	}
}

func (f *fold) started(b troupe.Started) error {
	if b.Run != f.s.Session.Run+1 {
		return f.refuse("run %d does not follow run %d", b.Run, f.s.Session.Run)
	}
	p := &f.s.Session
	f.s.again = nil
	if b.Keep {
		f.s.again = &End{Status: p.Status, Cause: p.Cause, Result: p.Result, Error: p.Error}
	}
	f.s.Place.Merging, f.s.Place.Past = nil, false
	p.Run, p.Status, p.Waiting, p.Cause, p.Error = b.Run, troupe.Running, "", "", ""
	p.StartedAt, p.EndedAt = f.e.At, time.Time{}
	f.s.base, f.s.fault, f.s.mute, f.s.Evidence = p.Tally, nil, mute{}, troupe.Evidence{}
	if !b.Again {
		f.s.spoken = p.Tally.Turns
	}
	f.s.Place.Began, f.s.Place.run = f.s.Place.Saved.Tree, changes{}
	f.s.refused = refused{}
	f.startClock()
	f.s.seal.attempt = 0 // what failed in the run before does not count against this one
	f.s.nudges, f.s.window.failed = 0, 0
	f.s.hooks.refused, f.s.hooks.no = 0, ""
	f.s.report, f.s.Queued = report{}, ""
	anew(f.s)
	f.s.compactOnly = f.s.window.wanted && f.s.reply > 0
	return nil
}

func (f *fold) sealed(b troupe.CallSealed) error {
	if b.Reply != f.s.reply+1 {
		return f.refuse("reply %d does not follow reply %d", b.Reply, f.s.reply)
	}
	if f.s.seal.open {
		return f.refuse("a model call is under way")
	}
	if f.s.open > 0 {
		return f.refuse("%d calls have no result", f.s.open)
	}
	attempt := 1
	if f.s.seal.reply == b.Reply {
		attempt = f.s.seal.attempt + 1
	}
	f.s.Session.Reserved, f.s.handed.reserved = b.Reserved, troupe.Reservation{} // the run goes on
	if b.Compact {
		// Nothing is settled by it: what it sends will be sent again, or stand in the summary.
		f.s.seal = seal{reply: b.Reply, attempt: attempt, open: true, unanswered: f.s.seal.unanswered, compact: true,
			seq: f.e.Seq, at: f.e.At}
		f.s.Generation = b.Generation
		return nil
	}
	f.s.seal = seal{reply: b.Reply, attempt: attempt, open: true, unanswered: true, seq: f.e.Seq, at: f.e.At}
	f.s.Place.Past = len(f.s.Place.Merging) > 0
	f.s.mail, f.s.replied, f.s.window.summary = nil, 0, 0
	for i := range f.s.Calls {
		f.s.Calls[i].result = nil
	}
	f.s.hooks.words, f.s.hooks.held = nil, nil
	f.s.Generation, f.s.Chain = b.Generation, b.Chain
	return nil
}

func (f *fold) applyReply(b troupe.Replied) error {
	if !f.s.seal.open || f.s.seal.compact || b.Reply != f.s.seal.reply {
		return f.refuse("reply %d was not asked for", b.Reply)
	}
	f.s.seal.open, f.s.seal.unanswered = false, false
	f.s.asked = slices.DeleteFunc(f.s.asked, func(seq int64) bool { return seq <= f.s.seal.seq })
	f.s.reply, f.s.fault, f.s.mute, f.s.replied = b.Reply, nil, mute{}, f.e.Seq
	f.s.Session.Error, f.s.Session.Reserved = "", troupe.Reservation{}
	f.s.last = lastReply{stop: b.Stop, text: troupe.JoinText(b.Blocks), seq: f.e.Seq, generation: f.s.Generation}
	f.s.Calls = nil
	for _, block := range b.Blocks {
		if block.Type == troupe.CallBlock && block.Call != nil {
			f.s.Calls = append(f.s.Calls, Call{Call: *block.Call})
		}
	}
	f.s.open, f.s.begun = len(f.s.Calls), 0
	if f.s.refused.repeats.at = f.e.At; f.s.open == 0 {
		f.s.refused.repeats = repeats{}
	}
	f.s.last.said = f.s.last.text != "" || f.s.open > 0
	if f.s.last.said && b.Stop != troupe.StopMaxTokens {
		f.s.nudges = 0
	}
	unreported(f.s)
	f.s.window.context, f.s.window.pending = b.Usage.Total(), 0
	f.s.window.fresh, f.s.window.failed = false, 0
	t := &f.s.Session.Tally
	t.Usage, t.Cost, t.Turns = t.Usage.Add(b.Usage), t.Cost+b.Cost, t.Turns+1
	return nil
}

func (f *fold) failed(b troupe.ModelFailed) error {
	if !f.s.seal.open {
		return f.refuse("no model call is under way")
	}
	f.s.seal.open = false
	before := f.s.fault
	f.s.fault = f.faultOf(b, before)
	f.s.Session.Reserved = troupe.Reservation{}
	if !b.RetryAt.IsZero() {
		f.s.Session.Error = b.Message
	}
	if f.s.seal.compact {
		f.summaryFailed(b, before)
	}
	t := &f.s.Session.Tally
	t.Usage, t.Cost = t.Usage.Add(b.Usage), t.Cost+b.Cost
	return nil
}

// faultOf is a failed attempt, with those before it in a row.
func (f *fold) faultOf(b troupe.ModelFailed, before *modelFault) *modelFault {
	out := &modelFault{fault: b.Fault, message: b.Message, attempt: b.Attempt, at: f.e.At, retryAt: b.RetryAt,
		since: f.e.At, seq: f.e.Seq}
	if b.Partial == "" {
		out.silent = f.e.At.Sub(f.s.seal.at)
	}
	if before != nil {
		out.row = before.row
		if !before.retryAt.IsZero() {
			out.since, out.seq = before.since, before.seq
		}
	}
	if b.Usage != (troupe.Usage{}) && b.Fault != troupe.FaultInterrupted {
		out.paid++
		out.tokens, out.cost = max(out.tokens, b.Usage.Total()), max(out.cost, b.Cost)
	}
	return out
}

// summaryFailed notes a summary that did not come about. That is no loss: what was said is
// all there still. What the call sent is not the beginning of what the next one sends, so
// that one belongs to another generation.
func (f *fold) summaryFailed(b troupe.ModelFailed, before *modelFault) {
	f.s.Generation++
	if b.Fault == troupe.FaultInterrupted || !b.RetryAt.IsZero() {
		return
	}
	f.s.window.failed++
	f.s.window.wanted = false
	f.s.fault = nil
	if before != nil && before.fault == troupe.FaultTooLong {
		f.s.fault = before // what it was to mend stays to be mended
	}
}

func (f *fold) ended(b troupe.Ended) error {
	if f.s.open > 0 || f.s.seal.open {
		return f.refuse("%d calls and %v model call have no end", f.s.open, f.s.seal.open)
	}
	// a damaged log may say anything
	if b.Outcome.Status.Live() || !slices.Contains(troupe.Statuses(), b.Outcome.Status) {
		return f.refuse("%s is not an end", b.Outcome.Status)
	}
	p := &f.s.Session
	p.Status, p.Waiting, p.Cause = b.Outcome.Status, "", b.Outcome.Cause
	place := &f.s.Place
	if w := b.Outcome.Workspace; w != nil {
		place.Gone = place.Gone || w.Gone // hooks may have been told, and it stayed
		place.unkept = 0
		if w.Unkept != "" {
			place.unkept = f.e.Seq
		}
	} else if place.unkept > 0 { // a run that did not come to the folder's end: it is as it was
		place.unkept = f.e.Seq
	}
	p.Result, p.Error, p.EndedAt = b.Outcome.Result, b.Outcome.Error, f.e.At
	p.Until, p.Reserved, f.s.Queued = time.Time{}, troupe.Reservation{}, ""
	f.s.window.wanted = false // a run that could not shorten its conversation does not begin another
	if b.Cut != nil {
		f.cut(*b.Cut)
	}
	if w := b.Outcome.Workspace; w != nil && w.Run != nil && Keeps(f.s) {
		f.s.Place.Saved = *w.Run
	}
	if f.s.halt.run > p.Run {
		f.s.halt = halt{} // it was stopped before its first run; the next one is another matter
	}
	if p.Depth > 0 {
		f.endOwn()
	}
	return nil
}

// settle derives the status of a live session from what is under way.
func (f *fold) settle() {
	p := &f.s.Session
	if p.Status != troupe.Running && p.Status != troupe.Waiting {
		return
	}
	var reason troupe.WaitReason
	reason, p.Until = f.waitsFor()
	if reason == "" {
		p.Status, p.Waiting, p.Until = troupe.Running, "", time.Time{}
		return
	}
	p.Status, p.Waiting = troupe.Waiting, reason
}

// waitsFor says what keeps the session from going on by itself, and when it looks again
// whatever happens.
func (f *fold) waitsFor() (troupe.WaitReason, time.Time) {
	if f.s.seal.open {
		return troupe.WaitModel, time.Time{}
	}
	if f.s.fault != nil && !f.s.fault.retryAt.IsZero() {
		return troupe.WaitModel, f.s.fault.retryAt
	}
	if verifying(f.s) {
		return troupe.WaitChildren, time.Time{}
	}
	if f.s.open == 0 && awaitsSteps(f.s) {
		return troupe.WaitMail, time.Time{}
	}
	if f.s.begun == 0 {
		return "", time.Time{} // of ten thousand calls that only read none needs a look
	}
	var asked, children bool
	var until time.Time
	reason := troupe.WaitApproval
	for i := range f.s.Calls {
		switch c := &f.s.Calls[i]; {
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

func (f *fold) refuse(format string, args ...any) error {
	return &RefusedError{Session: f.e.Session, Seq: f.e.Seq, Kind: f.e.Body.Kind(), Why: fmt.Sprintf(format, args...)}
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
