package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/sqlite"
	"github.com/troupe-dev/troupe/internal/turn"
)

// rebuild folds what is left of a log. Losses end the session with words about them: what it says it is
// must be what its log says, or a process that goes on with it would see another session than the lists.
func rebuild(now time.Time) sqlite.Rebuild {
	return func(log []troupe.Event, lost sqlite.Loss) (sqlite.Rebuilt, error) {
		r := rebuilding{kids: map[troupe.SessionID]bool{}}
		for i, e := range log {
			if err := r.add(e); err != nil {
				lost.Why = fmt.Sprintf("its log is damaged behind event %d: %v", r.st.Session.Seq, err)
				lost.Events += int64(len(log) - i)
				break
			}
		}
		if len(r.out.Log) == 0 {
			return r.out, fmt.Errorf("%s: %w", lost.Why, troupe.ErrDamaged)
		}
		r.out.Kept = len(r.out.Log)
		if s := &r.st.Session; lost.Why == sqlite.EndUnknown && !s.Status.Live() {
			lost.Why = ""
		}
		if lost.Why != "" {
			if err := r.end(now, lost); err != nil {
				return r.out, err
			}
		}
		r.out.Lost, r.out.Session, r.out.Caps = lost.Why, r.st.Session, r.st.Caps
		for _, q := range r.requests {
			r.out.Requests = append(r.out.Requests, q)
		}
		slices.SortFunc(r.out.Requests, func(a, b troupe.Request) int { return a.Opened.Compare(b.Opened) })
		for _, t := range r.st.Tasks {
			if t.Kind.OfSession() && t.Status == troupe.TaskRunning {
				r.out.Waits = append(r.out.Waits, t)
			}
		}
		return r.out, nil
	}
}

// rebuilding is a log on its way to a session.
type rebuilding struct {
	st       turn.State
	out      sqlite.Rebuilt
	requests map[troupe.RequestID]troupe.Request
	kids     map[troupe.SessionID]bool // whose births are in the log
}

func (r *rebuilding) add(e troupe.Event) error {
	if err := r.st.Apply(e); err != nil {
		return err
	}
	r.out.Log = append(r.out.Log, e)
	if q := r.st.Changed(); q != nil {
		if r.requests == nil {
			r.requests = map[troupe.RequestID]troupe.Request{}
		}
		r.requests[q.ID] = *q
	}
	switch b := e.Body.(type) {
	case troupe.Woke:
		for _, q := range turn.Open(&r.st) { // it waits for longer
			r.requests[q.ID] = q
		}
	case troupe.ToolStarted:
		r.kids[b.Child] = true
	case troupe.TeamChanged:
		for _, m := range b.Members {
			r.kids[troupe.SessionID(m.ID)] = true
		}
	case troupe.VerifyStarted:
		if b.Task != nil {
			r.kids[troupe.SessionID(b.Task.ID)] = true
		}
	case troupe.MailDelivered:
		for i := range b.Mail {
			if f := b.Mail[i].Forked; f != nil && f.Task != nil {
				r.kids[troupe.SessionID(f.Task.ID)] = true
			}
		}
	case troupe.Ended:
		r.out.End = b.Outcome
	}
	return nil
}

// end gives each call a result, tells the session what it lost, and ends the run.
func (r *rebuilding) end(now time.Time, lost sqlite.Loss) error {
	next := func(b troupe.Body) error {
		s := r.st.Session
		return r.add(troupe.Event{Root: s.Root, Session: s.ID, Seq: s.Seq + 1, At: now, Body: b})
	}
	var err error
	if r.st.Session.Archived {
		err = next(troupe.SessionChanged{Unarchived: true})
	}
	if err == nil && !r.st.Session.AsleepAt.IsZero() {
		err = next(troupe.Woke{}) // that nothing else follows holds of whole logs
	}
	for _, b := range turn.Recover(&r.st) {
		err = errors.Join(err, next(b))
	}
	if b, waits := turn.Unverified(&r.st); waits && err == nil {
		err = next(b)
	}
	for _, c := range slices.Clone(r.st.Calls) {
		if c.Stage != turn.CallDone && err == nil {
			err = next(troupe.ToolFinished{Name: c.Name, Interrupt: true, Result: troupe.Result{Reply: c.Reply,
				Call: c.Index, ProviderID: c.ProviderID, IsError: true, Blocks: []troupe.Block{troupe.Text(
					"the log of this call is damaged; it may have taken effect. Check before you try again.")}}})
		}
	}
	if s := r.st.Session; err == nil && s.Status != troupe.Spawning && !s.Status.Live() {
		err = next(troupe.Started{Run: s.Run + 1})
	}
	cut := r.cut(lost)
	if err == nil {
		s := r.st.Session
		err = next(troupe.MailDelivered{Mail: []troupe.Mail{{
			ID: troupe.MailID(fmt.Sprintf("cut:%s:%d", s.ID, s.Seq)), Root: s.Root, To: s.ID, Kind: troupe.MailNotice,
			SentAt: now, Blocks: []troupe.Block{troupe.Text(lostWords(cut))},
		}}})
	}
	if err != nil {
		return err
	}
	s := r.st.Session
	o := troupe.Outcome{Session: s.ID, Run: s.Run, Coord: s.Coord, Name: s.Name, Type: s.Type, Status: troupe.Failed,
		Cause: troupe.CauseError, Error: lost.Why, Evidence: turn.Measured(&r.st, nil),
		Tally: r.st.RunTally().Add(cut.Tally)}
	if s.Parent != "" { // its parent is told, and decides what follows
		o.Status, o.Cause, o.Error = troupe.Cancelled, troupe.CauseInterrupt, "interrupted: "+lost.Why
	}
	return next(troupe.Ended{Outcome: o, Cut: cut})
}

// cut is what is known of the events that were lost.
func (r *rebuilding) cut(lost sqlite.Loss) *troupe.Cut {
	c := &troupe.Cut{Events: lost.Events}
	had, was := r.st.Session.Tally, lost.Row.Tally
	more := func(was, had int64) int64 { return max(0, was-had) }
	c.Tally = troupe.Tally{Usage: troupe.Usage{
		Input: more(was.Usage.Input, had.Usage.Input), Output: more(was.Usage.Output, had.Usage.Output),
		CacheRead:  more(was.Usage.CacheRead, had.Usage.CacheRead),
		CacheWrite: more(was.Usage.CacheWrite, had.Usage.CacheWrite)},
		Cost: max(0, was.Cost-had.Cost), Turns: max(0, was.Turns-had.Turns),
		ToolUses: max(0, was.ToolUses-had.ToolUses)}
	c.Reply = r.st.Reply() + c.Tally.Turns
	for _, kid := range lost.Children {
		if kid.Root != r.st.Session.Root || r.kids[kid.ID] {
			continue
		}
		c.Reply = max(c.Reply, kid.Coord.Reply)
		c.Agents = append(c.Agents, troupe.Task{ID: troupe.TaskID(kid.ID), Kind: troupe.TaskAgent, Name: kid.Name,
			Title: kid.Title, Coord: kid.Coord, Background: true, StartedAt: kid.CreatedAt})
	}
	slices.SortFunc(c.Agents, func(a, b troupe.Task) int {
		if d := a.Coord.Reply - b.Coord.Reply; d != 0 {
			return d
		}
		return a.Coord.Call - b.Coord.Call
	})
	return c
}

// lostWords is what a session is told of the end of its log.
func lostWords(c *troupe.Cut) string {
	var b strings.Builder
	b.WriteString("The database was damaged, and the end of this session's log is lost. What was said and done there " +
		"is not in this conversation, but it may have taken effect: look at what is there before you do it again.")
	agents := func(head string, called bool) {
		for _, t := range c.Agents {
			if t.Coord.OfCall() != called {
				continue
			}
			b.WriteString(head)
			head = ""
			fmt.Fprintf(&b, "\n- %s (task id %s)", troupe.Escape(t.Name), t.ID)
			if t.Title != "" && !strings.EqualFold(t.Title, t.Name) {
				b.WriteString(": " + troupe.Escape(t.Title))
			}
		}
	}
	agents("\nYou had started these agents there. Do not start them again: their ends are told to you as "+
		"<task-notification>, and TaskOutput says how far each is.", true)
	agents("\nThe user had these forks of this conversation started there, which are not your work. Their ends are "+
		"told to you with what comes next.", false)
	return b.String()
}
