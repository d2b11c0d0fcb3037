package turn

import "github.com/troupe-dev/troupe"

// handed is what the model that checks results has to do with the run.
type handed struct {
	reply    int // that it was asked about last; 0: none
	reserved troupe.Reservation
	verdict  *troupe.Verdict
}

// Handed is what the model that checks results said about the last reply; nil: it has not said anything.
func Handed(s *State) *troupe.Verdict {
	if s.handed.reply != s.reply {
		return nil
	}
	return s.handed.verdict
}

func handoffAsked(f *fold, b troupe.HandoffAsked) error {
	if b.Reply != f.s.reply || f.s.open > 0 || f.s.Session.Depth == 0 {
		return f.refuse("nothing is handed over")
	}
	giveBack(f)
	f.s.handed = handed{reply: b.Reply, reserved: b.Reserved}
	f.s.Session.Reserved = f.s.Session.Reserved.Add(b.Reserved)
	return nil
}

func handoffJudged(f *fold, b troupe.HandoffJudged) error {
	if b.Reply != f.s.handed.reply || f.s.handed.verdict != nil {
		return f.refuse("it was not asked about reply %d", b.Reply)
	}
	giveBack(f)
	f.s.handed.verdict = &b.Verdict
	t := &f.s.Session.Tally
	t.Usage, t.Cost = t.Usage.Add(b.Usage), t.Cost+b.Cost
	return nil
}

// giveBack gives back what was held back for it.
func giveBack(f *fold) {
	f.s.Session.Reserved = f.s.Session.Reserved.Minus(f.s.handed.reserved)
	f.s.handed.reserved = troupe.Reservation{}
}
