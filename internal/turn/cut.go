package turn

import "github.com/troupe-dev/troupe"

// cut is what stays to be known of the end of the log that a repair could not save.
type cut struct {
	reply  int // the last one that may have been in it
	agents []troupe.TaskID
}

// cut takes in what is known of the lost end of the log. The agents whose births were in it are the
// session's again; the ends of those that have ended are in the mailbox. The coordinates that they have stay taken.
func (f *fold) cut(c troupe.Cut) {
	p := &f.s.Session
	p.Cut = true
	p.Tally = p.Tally.Add(c.Tally)
	f.s.reply = max(f.s.reply, c.Reply)
	f.s.lostEnd = cut{reply: f.s.reply}
	for _, t := range c.Agents {
		f.setTask(t)
		if t.Coord.OfCall() {
			f.s.lostEnd.agents = append(f.s.lostEnd.agents, t.ID)
		} else {
			f.s.forks = max(f.s.forks, t.Coord.Call+1)
		}
	}
}

// BornBefore lists the agents that a call of this reply may ask for once more: those whose births were in
// the lost end of the log, if it is the first reply after that.
func (s *State) BornBefore(reply int) []troupe.TaskID {
	if reply != s.lostEnd.reply+1 {
		return nil
	}
	return s.lostEnd.agents
}
