package turn

import "github.com/troupe-dev/troupe"

// ofAuto is what the model of mode auto has to do with a call.
type ofAuto struct {
	// Verdict is what it said about the call, or about what its last confined run wanted; nil: it was not asked.
	Verdict *troupe.Verdict
	// Lent is what it allowed of what runs wanted. It counts for as long as the gate leaves the call to it.
	Lent     []troupe.Attempt
	reserved troupe.Reservation // while it is asked
}

// mostRefusals is how many calls in a row the model of mode auto may not allow before a person is asked without it.
const mostRefusals = 3

// AsksAuto reports whether the model of mode auto is asked: not once it has refused too often in a row, until a person
// has answered a request or another run begins.
func AsksAuto(s *State) bool { return s.refused.auto < mostRefusals }

// LastWords is the text of the last reply.
func LastWords(s *State) string { return s.last.text }

func (f *fold) autoAsked(b troupe.AutoAsked) error {
	c, err := f.call(b.Reply, b.Call, CallPending, CallStarted)
	if err != nil {
		return err
	}
	release(f, c)
	c.reserved = b.Reserved
	f.s.Session.Reserved = f.s.Session.Reserved.Add(b.Reserved)
	return nil
}

func (f *fold) autoJudged(b troupe.AutoJudged) error {
	c, err := f.call(b.Reply, b.Call, CallPending, CallStarted)
	if err != nil {
		return err
	}
	if c.Verdict != nil {
		return f.refuse("call %d was judged before, by %s", b.Call, c.Verdict.Model)
	}
	release(f, c)
	c.Verdict = &b.Verdict
	t := &f.s.Session.Tally
	t.Usage, t.Cost = t.Usage.Add(b.Usage), t.Cost+b.Cost
	if f.s.refused.auto++; b.Effect == troupe.Allow {
		f.s.refused.auto = 0
	}
	return nil
}

// release gives back what was held back for the model of mode auto.
func release(f *fold, c *Call) {
	f.s.Session.Reserved, c.reserved = f.s.Session.Reserved.Minus(c.reserved), troupe.Reservation{}
}
