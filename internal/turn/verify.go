package turn

import (
	"slices"

	"github.com/troupe-dev/troupe"
)

// Verify begins the check of what a run hands over, by an agent of its own.
type Verify struct{}

func (Verify) action() {}

// checked is the check by an agent of what the run hands over.
type checked struct {
	reply   int              // whose result it is about; 0: none was begun
	child   troupe.SessionID // the agent; "": there is none, and refused says why
	refused string
	outcome *troupe.Outcome // nil: it is at work
}

// verifying reports whether the run waits for the agent that checks it.
func verifying(s *State) bool { return s.checked.child != "" && s.checked.outcome == nil }

// Checker is the agent that checks, or checked, what the run hands over; "" if there is none.
func Checker(s *State) troupe.SessionID { return s.checked.child }

// Checks reports whether the run waits for this end of an agent to hand over what it has.
func Checks(s *State, o *troupe.Outcome) bool {
	return o != nil && o.Session != "" && verifying(s) && o.Session == s.checked.child
}

// Unverified gives up the wait for the agent that checks the run, if it waits: the log ends here.
func Unverified(s *State) (b troupe.VerifyEnded, waits bool) {
	if !verifying(s) {
		return b, false
	}
	return troupe.VerifyEnded{Reply: s.checked.reply, Outcome: troupe.Outcome{Session: s.checked.child, Run: 1,
		Status: troupe.Cancelled, Cause: troupe.CauseInterrupt, Error: "the end of the log is lost"}}, true
}

// Changed reports whether the run has changed any file, or may have.
func Changed(s *State) bool {
	if Keeps(s) && (s.Place.All || len(s.Place.Unsaved) > 0) {
		return true // what its commands did since is known once the folder was compared
	}
	e := Measured(s, nil)
	return e.More+e.Unseen > 0 || slices.ContainsFunc(e.Files,
		func(f troupe.FileTouch) bool { return f.Wrote || f.Gone }) ||
		slices.ContainsFunc(s.Tasks, func(t troupe.Task) bool {
			return t.Kind.OfSession() && t.ID != troupe.TaskID(s.checked.child)
		})
}

// Verified is what came of the check; nil: none was asked for, or the run ends otherwise.
func Verified(s *State) *troupe.Verified {
	c := &s.checked
	switch {
	case c.reply != s.reply || s.reply == 0 || verifying(s):
		return nil
	case c.child == "":
		return &troupe.Verified{Why: c.refused}
	}
	o := c.outcome
	v := &troupe.Verified{Session: o.Session, Name: o.Name, Verdict: troupe.VerdictOf(o.Result), Flags: o.Flags}
	v.Text, _ = Cap(o.Result, mostVerified)
	v.Commands = o.Evidence.Commands[:min(len(o.Evidence.Commands), maxCommands)]
	switch {
	case o.Status != troupe.Completed:
		v.Verdict, v.Why = "", "the agent that was to check it "+string(o.Status)+": "+o.Error
	case v.Verdict == "":
		v.Why = "the agent that checked it gave no verdict"
	}
	return v
}

// mostVerified bounds what of its words is handed over.
const mostVerified = 6000

// anew begins another run. What has been said of a reply stands for as long as the agent has said nothing else: a run
// that only makes a summary, or is kept, hands over the same. What was not said was lost with the run before.
func anew(s *State) {
	if s.handed.verdict == nil {
		s.handed = handed{}
	}
	if verifying(s) {
		s.checked = checked{}
	}
}

func verifyStarted(f *fold, b troupe.VerifyStarted) error {
	switch {
	case b.Reply != f.s.reply || f.s.open > 0 || f.s.Session.Depth == 0 || verifying(f.s):
		return f.refuse("nothing is handed over")
	case b.Task == nil:
		f.s.checked = checked{reply: b.Reply, refused: b.Refused}
		return nil
	}
	f.s.checked = checked{reply: b.Reply, child: troupe.SessionID(b.Task.ID)}
	f.setTask(*b.Task)
	return nil
}

func verifyEnded(f *fold, b troupe.VerifyEnded) error {
	if !Checks(f.s, &b.Outcome) || b.Reply != f.s.checked.reply {
		return f.refuse("the run does not wait for %s", b.Outcome.Session)
	}
	f.s.checked.outcome = &b.Outcome
	f.endTask(b.Outcome, f.e.At)
	return nil
}

// verify has a run that is about to hand over a result check it first, once for each reply.
func verify(d *decision, act Action) Action {
	if end, ends := act.(End); ends && ToVerify(d.s, end) {
		return Verify{}
	}
	return act
}

// ToVerify reports whether what the run would hand over with this end is to be checked first.
func ToVerify(s *State, end End) bool {
	return end.Status == troupe.Completed && s.Profile.Verify && s.Session.Depth > 0 && s.again == nil &&
		s.reply > 0 && s.checked.reply != s.reply
}

// endOfCheck is the mail with the end of the agent that checks the run.
func endOfCheck(d *decision) []troupe.Mail {
	for _, m := range d.in.Unread {
		if m.Kind == troupe.MailTaskEnded && Checks(d.s, m.Ended) {
			return []troupe.Mail{m}
		}
	}
	return nil
}
