package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// TakenStop is a stop of sessions that were taken from a process that does not answer, which owner has
// claimed and nobody runs: what their own process would log of it is logged in its place.
type TakenStop struct {
	Owner  troupe.OwnerID
	Stop   troupe.Stop
	Caller troupe.Caller
	Mail   troupe.MailID // of the stop
	Now    time.Time
}

// StopTaken ends the runs of a session and of the agents below it. Agents end before those that wait for them. all
// are the sessions of the tree in order of birth.
func StopTaken(tx store.Tx, all []troupe.Session, id troupe.SessionID, st TakenStop) error {
	below := map[troupe.SessionID]bool{id: true}
	var meant []troupe.Session
	for _, s := range all {
		if below[s.ID] || below[s.Parent] {
			below[s.ID] = true
			meant = append(meant, s)
		}
	}
	for _, s := range slices.Backward(meant) {
		if !s.Status.Live() && (s.ID != id || !st.Stop.Tree) {
			continue
		}
		if err := st.end(tx, s.ID, s.ID != id); err != nil {
			return fmt.Errorf("stop session %s: %w", s.ID, err)
		}
	}
	return nil
}

// end logs the stop of one session, and the end of its run. quiet: it is stopped on the way down.
func (st *TakenStop) end(tx store.Tx, id troupe.SessionID, quiet bool) error {
	m, live, err := StopMail(tx, id, st.Stop, st.Now, st.Mail+troupe.MailID(":"+id))
	if err != nil {
		return err
	}
	m.Caller, m.Quiet = &st.Caller, quiet
	lease, err := tx.Claim(id, st.Owner)
	if err != nil {
		return err
	}
	events, err := tx.Events(id, 0, 0)
	if err != nil {
		return err
	}
	s, err := turn.Fold(events)
	if err != nil {
		return err
	}
	what := staging{base: s.Session}
	stage := func(b troupe.Body) error {
		e := troupe.Event{Root: s.Session.Root, Session: id, Seq: s.Session.Seq + 1, At: st.Now, Body: b}
		if err := s.Apply(e); err != nil {
			return err
		}
		what.add(e, s.Changed())
		return nil
	}
	if err := stage(troupe.MailDelivered{Mail: []troupe.Mail{m}}); err != nil {
		return err
	}
	if err := st.deliver(tx, &s, stage, &what); err != nil {
		return err
	}
	if live {
		if err := st.settle(tx, &s, stage); err != nil {
			return err
		}
	}
	if err := what.write(tx, lease, s.Session); err != nil {
		return err
	}
	for _, d := range what.reads {
		if err := tx.MarkDelivered(id, d.seq, d.ids); err != nil {
			return err
		}
	}
	return nil
}

// deliver logs the ends of tasks that are in the mailbox: as results of the calls that wait for them, the others
// as words.
func (st *TakenStop) deliver(tx store.Tx, s *turn.State, stage func(troupe.Body) error, what *staging) error {
	unread, err := tx.Unread(s.Session.ID)
	if err != nil {
		return err
	}
	for _, m := range unread {
		if m.Kind != troupe.MailTaskEnded || m.Ended == nil || s.Session.Status.Ended() && s.WokenBy(m) {
			continue
		}
		var b troupe.Body = troupe.MailDelivered{Mail: []troupe.Mail{m}}
		if i := s.Answers(m.Ended); i >= 0 {
			b = endOfTask(s.Calls[i], m)
		}
		if err := stage(b); err != nil {
			return err
		}
		what.read(s.Session.Seq, m.ID)
	}
	return nil
}

// settle gives each call its result, ends the run, and tells the parent.
func (st *TakenStop) settle(tx store.Tx, s *turn.State, stage func(troupe.Body) error) error {
	for _, b := range turn.Recover(s) {
		if err := stage(b); err != nil {
			return err
		}
	}
	for _, c := range slices.Clone(s.Calls) {
		text := "not run: the run was stopped before its turn came"
		if c.Stage == turn.CallStarted {
			text = "stopped while it waited"
		}
		if c.Stage != turn.CallDone {
			if err := stage(resultOf(c, text, true)); err != nil {
				return err
			}
		}
	}
	p := &s.Session
	o := troupe.Outcome{Session: p.ID, Run: p.Run, Coord: p.Coord, Name: p.Name, Type: p.Type,
		AsTold: troupe.AsTold{Team: p.Team},
		Status: troupe.Cancelled, Cause: troupe.CauseInterrupt, Error: "stopped by " + st.Stop.By,
		Evidence: turn.Measured(s, nil),
		Tally:    s.RunTally()}
	if !p.StartedAt.IsZero() {
		o.DurationMS = max(0, st.Now.Sub(p.StartedAt).Milliseconds())
	}
	if err := stage(troupe.Ended{Outcome: o}); err != nil || p.Parent == "" {
		return err
	}
	_, err := tx.Send(troupe.Mail{ID: troupe.ChildEndedMailID(p.ID, p.Run), Root: p.Root, To: p.Parent, From: p.ID,
		Kind: troupe.MailTaskEnded, SentAt: st.Now, Ended: &o, Quiet: true})
	return err
}
