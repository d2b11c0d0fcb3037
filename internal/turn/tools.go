package turn

import (
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

func (f *fold) toolJudged(b troupe.ToolJudged) error {
	c, err := f.call(b.Reply, b.Call, CallPending)
	if err != nil {
		return err
	}
	if c.Judged != nil {
		return f.refuse("call %d was judged before, by %s", b.Call, c.Judged.By)
	}
	c.Judged = &b.Judgement
	if b.Input != "" {
		c.Input = b.Input // the reply in the log keeps what the model wrote
	}
	return nil
}

func (f *fold) toolStarted(b troupe.ToolStarted) error {
	c, err := f.call(b.Reply, b.Call, CallPending)
	if err != nil {
		return err
	}
	f.move(c, CallStarted)
	c.Child, c.Since, c.Wait, c.Absent = b.Child, f.e.At, b.Wait, b.Absent
	if b.Task != nil {
		f.setTask(*b.Task)
	}
	return nil
}

func (f *fold) toolFinished(b troupe.ToolFinished) error {
	c, err := f.call(b.Result.Reply, b.Result.Call, CallPending, CallAsked, CallStarted)
	if err != nil {
		return err
	}
	touched(f, c, c.Stage == CallStarted, &b)
	if c.Stage == CallStarted && unmeasured(c, &b) {
		f.s.Evidence.Unseen++
	}
	f.settleRequest(c, nil)
	release(f, c)
	f.move(c, CallDone)
	c.seq, c.result, c.took = f.e.Seq, &b, time.Duration(b.DurationMS)*time.Millisecond
	if c.took == 0 && !c.Since.IsZero() {
		c.took = max(0, f.e.At.Sub(c.Since))
	}
	// A command that failed for what it was kept from got as little done as one that never ran.
	c.held = b.Denied == nil && b.Outcome == nil && b.Result.IsError && len(b.Evidence.Denied) > 0
	c.deny = b.Denied != nil || c.held
	for _, block := range b.Result.Blocks {
		f.s.window.pending += size(block)
	}
	switch {
	case b.Task != nil:
		f.setTask(*b.Task)
	case b.Outcome != nil:
		f.endTask(*b.Outcome, time.Time{})
	case c.Child != "":
		f.endTask(troupe.Outcome{Session: c.Child, Status: troupe.Cancelled}, time.Time{})
	}
	for _, t := range b.Tasks {
		f.setTask(t)
	}
	if failed := b.Name == "SendMessage" && b.Result.IsError; len(b.Sent) == 0 && !failed {
		f.s.chat = nil // it did something else; a message that could not be sent is nothing
	}
	for _, to := range b.Sent {
		talkedTo(f, to, 0)
	}
	f.s.open--
	t := &f.s.Session.Tally
	t.ToolUses++
	t.Usage, t.Cost = t.Usage.Add(b.Usage), t.Cost+b.Cost
	if b.Skill != nil {
		f.use(*b.Skill)
	}
	reported(f.s, b.Reported)
	for _, touch := range b.Evidence.Files {
		saw(f.s, touch)
		if touch.Wrote {
			f.s.Evidence.Files = mergeTouch(f.s.Evidence.Files, touch)
		}
	}
	for _, c := range b.Evidence.Commands {
		ran(f.s, &c)
		c.Command, _ = Cap(c.Command, maxCommand)
		f.s.Evidence.Commands = append(f.s.Evidence.Commands, c)
	}
	f.noteDenials(c, b)
	if f.s.open == 0 {
		repeated(f)
		f.countDenials()
	}
	return nil
}

// saw notes which content of a file the session knows.
func saw(s *State, touch troupe.FileTouch) {
	if s.Files == nil {
		s.Files = make(map[string]string)
	}
	s.Files[touch.Path] = touch.Hash
}

// maxCommand bounds, in bytes, what of a command is kept as evidence: whole files are
// written by commands with here-documents. The call in the log has all of it.
const maxCommand = 1000

// maxDenials bounds the denials a session keeps for its report; the log has them all.
const maxDenials = 100

// noteDenials keeps the session's own denial, or those that an ended child reports. c is nil if no
// call waited for that child.
func (f *fold) noteDenials(c *Call, b troupe.ToolFinished) {
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
	denied = denied[:min(max(0, maxDenials-len(f.s.Evidence.Denied)), len(denied))]
	if len(denied) == 0 {
		return
	}
	// Calls are judged side by side. They are told in the order of the reply, and copies of the
	// state share what was there before.
	at := len(f.s.Evidence.Denied)
	if c != nil {
		for i := c.Index + 1; i < len(f.s.Calls); i++ {
			at = max(0, at-f.s.Calls[i].denials)
		}
		c.denials = len(denied)
	}
	f.s.Evidence.Denied = slices.Concat(f.s.Evidence.Denied[:at], denied, f.s.Evidence.Denied[at:])
}

func (f *fold) countDenials() {
	if r := &f.s.refused; r.answered {
		r.answered, r.denied, r.held = false, 0, 0
		return
	}
	denied := true
	for i := range f.s.Calls {
		if !f.s.Calls[i].deny {
			f.s.refused.denied, f.s.refused.held = 0, 0
			return
		}
		denied = denied && !f.s.Calls[i].held
	}
	f.s.refused.held++
	if f.s.refused.denied++; !denied {
		f.s.refused.denied = 0
	}
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

func (f *fold) requestOpened(b troupe.RequestOpened) error {
	// A command that ran confined and wanted more is asked about when that run is over.
	c, err := f.call(b.Reply, b.Call, CallPending, CallStarted)
	if err != nil {
		return err
	}
	if c.Stage == CallStarted && (c.Child != "" || c.Wait != nil || len(b.Wants) == 0 && !b.Midway()) ||
		b.Midway() && c.Stage != CallStarted {
		return f.refuse("call %d is under way", b.Call)
	}
	c.requests++
	r := troupe.Request{
		ID: b.ID, Root: f.e.Root, Session: f.e.Session, Coord: c.coord(), RequestBody: b.RequestBody, Opened: f.e.At,
	}
	if r.ID == "" { // a version before this one wrote it
		r.ID = troupe.NewRequestID(f.e.Session, r.Coord, c.requests)
	}
	f.move(c, CallAsked)
	if r.Kind == troupe.RequestPlan {
		f.s.Shown = r.Action
	}
	if c.Request, f.s.changed = &r, &r; !r.Midway() {
		c.Answer = nil
	}
	return nil
}

func (f *fold) requestAnswered(b troupe.RequestAnswered) error {
	c, err := f.call(b.Reply, b.Call, CallAsked)
	if err != nil {
		return err
	}
	if b.ID != "" && b.ID != c.Request.ID {
		return f.refuse("the open request about call %d is %s", b.Call, c.Request.ID)
	}
	if len(c.Request.Wants) > 0 {
		c.Verdict = nil // what it wants next is another question
		c.Rounds++
		switch {
		case b.Effect != troupe.Allow:
		case b.Auto:
			c.Lent = append(slices.Clip(c.Lent), c.Request.Wants...)
		default:
			c.Granted = append(slices.Clip(c.Granted), c.Request.Wants...)
		}
	}
	person := b.Mail != "" && b.Caller != nil && b.Caller.Right.Answers()
	f.s.refused.answered = f.s.refused.answered || person
	midway := c.Request.Midway()
	f.settleRequest(c, b.Answer())
	if midway {
		f.move(c, CallStarted) // whoever runs it has the answer
		return nil
	}
	f.move(c, CallPending)
	c.Asked, c.Answer, c.AnsweredBy = f.s.changed, f.s.changed.Answer, nil
	if b.Input != "" {
		c.replaced(b)
	}
	if person {
		c.AnsweredBy = b.Caller
		f.s.refused.auto = 0
	}
	return nil
}

// replaced gives a call the input for which it was allowed. The request stays as it was opened.
func (c *Call) replaced(b troupe.RequestAnswered) {
	var said troupe.Judgement
	if c.Judged != nil {
		said = *c.Judged
	}
	said.By, said.Input = b.By, b.Input
	asked := *c.Asked
	asked.Places = b.Places
	c.Input, c.Judged, c.Asked = b.Input, &said, &asked
}

// settleRequest closes the open request about a call, if there is one. Requests are shared with
// whoever reads them, so they are replaced and not changed.
func (f *fold) settleRequest(c *Call, ans *troupe.Answer) {
	if c.Request == nil {
		return
	}
	r := *c.Request
	r.Settled, r.Answer = f.e.At, ans
	c.Request, f.s.changed = nil, &r
}

// move brings a call to another stage.
func (f *fold) move(c *Call, to CallStage) {
	count := func(s CallStage) int {
		if s == CallAsked || s == CallStarted {
			return 1
		}
		return 0
	}
	f.s.begun += count(to) - count(c.Stage)
	c.Stage = to
}

// call finds a call of the last reply that is in one of the stages.
func (f *fold) call(reply, index int, stages ...CallStage) (*Call, error) {
	if reply != f.s.reply || index < 0 || index >= len(f.s.Calls) {
		return nil, f.refuse("there is no call %d of reply %d", index, reply)
	}
	c := &f.s.Calls[index]
	for _, stage := range stages {
		if c.Stage == stage {
			return c, nil
		}
	}
	return nil, f.refuse("call %d of reply %d is at stage %d", index, reply, c.Stage)
}
