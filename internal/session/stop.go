package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// StopMail addresses a stop to the run that a session has now, or is about to begin; live is
// false if it has none. A stop of the whole tree reaches tasks in the background even then.
func StopMail(r store.Reader, id troupe.SessionID, st troupe.Stop, now time.Time, mail troupe.MailID) (m troupe.Mail,
	live bool, err error) {
	s, err := r.Session(id)
	if err != nil {
		return m, false, fmt.Errorf("read session %s: %w", id, err)
	}
	st.Run = s.Run
	if !s.Status.Live() {
		unread, err := r.Unread(id)
		if err != nil {
			return m, false, fmt.Errorf("read the mail of session %s: %w", id, err)
		}
		for _, u := range unread {
			live = live || s.WokenBy(u)
		}
		if live {
			st.Run++
		}
	} else {
		live = true
		if s.Status == troupe.Spawning {
			st.Run++
		}
	}
	return troupe.Mail{
		ID: mail, Root: s.Root, To: id, Kind: troupe.MailStop, SentAt: now, Stop: &st,
	}, live, nil
}

// StopTree is a stop with all that it has to reach at once. A stop of the whole tree is told to
// everybody below who is at work: on its way down it would not pass those whose run is over, or
// whom somebody else set going. Mail that nobody could act on is left out.
func StopTree(r store.Reader, id troupe.SessionID, st troupe.Stop, now time.Time, mail troupe.MailID) ([]troupe.Mail,
	error) {
	m, live, err := StopMail(r, id, st, now, mail)
	if err != nil || (!live && !st.Tree) {
		return nil, err
	}
	out := []troupe.Mail{m}
	if !st.Tree {
		return out, nil
	}
	all, err := r.Sessions(store.Filter{Root: m.Root})
	if err != nil {
		return nil, fmt.Errorf("list tree %s: %w", m.Root, err)
	}
	below := map[troupe.SessionID]bool{id: true}
	for _, s := range all {
		if !below[s.Parent] {
			continue
		}
		below[s.ID] = true
		m, live, err := StopMail(r, s.ID, st, now, mail+troupe.MailID(":"+s.ID))
		if err != nil {
			return nil, err
		}
		if live {
			m.Quiet = true // whoever would be told is being stopped as well
			out = append(out, m)
		}
	}
	return out, nil
}

// treeStopped reports whether a session has been told, and has not read yet, that its tree is
// stopped in its present run; above: its parent is stopped as well. What ends then by itself ends in
// a stopped tree: the news of it must not set anybody going again who was told of the stop between
// two runs. It is asked in the transaction that tells the end, so that either the stop finds the
// end or the end the stop.
func treeStopped(tx store.Reader, id troupe.SessionID, run int, above bool) (bool, error) {
	unread, err := tx.Unread(id)
	if err != nil {
		return false, fmt.Errorf("read the mail of session %s: %w", id, err)
	}
	return slices.ContainsFunc(unread, func(m troupe.Mail) bool {
		return m.Kind == troupe.MailStop && m.Stop.Tree && !m.Stop.Void && m.Stop.Run == run && (m.Quiet || !above)
	}), nil
}

// stopTasks tells tasks to stop: commands by ending them, agents by mail.
func (ts *tasks) stopTasks(ctx context.Context, act turn.StopTasks) error {
	var agents []troupe.SessionID
	if ts.told == nil {
		ts.told = make(map[troupe.TaskID]bool)
	}
	for _, id := range act.Tasks {
		ts.told[id] = act.Now
		t, _ := ts.a.st.Task(string(id))
		if t.Kind.OfSession() {
			agents = append(agents, troupe.SessionID(id))
		} else if cancel := ts.own[id]; cancel != nil {
			cancel()
		}
	}
	if len(agents) == 0 && !act.Tree {
		return nil
	}
	ts.a.flags.stoppedTree = ts.a.flags.stoppedTree || act.Tree
	var mail []troupe.Mail
	err := ts.a.flush(ctx, func(tx store.Tx) error {
		var err error
		if mail, err = ts.stopMail(tx, agents, act); err != nil {
			return err
		}
		return sendAll(tx, mail)
	})
	if err != nil {
		return err
	}
	ts.a.tree.mailed(mail...)
	return nil
}

// stopMail tells agents to stop, or all below. Each telling is mail of its own: what was sent
// before may have been for a run that was stopped before it began, or have been taken back when
// the tree was resumed.
func (ts *tasks) stopMail(tx store.Tx, agents []troupe.SessionID, act turn.StopTasks) ([]troupe.Mail, error) {
	stop, now := troupe.Stop{Now: act.Now, Tree: true, By: "its parent"}, ts.a.h.d.Now()
	mailID := func(id troupe.SessionID) troupe.MailID {
		return troupe.MailID(fmt.Sprintf("stop:%s:%s:%d:%d", id, ts.a.id, ts.a.lease.Epoch, ts.a.st.Session.Seq))
	}
	var out []troupe.Mail
	if act.Tree {
		stop.By = "the limit of time"
		all, err := StopTree(tx, ts.a.id, stop, now, mailID(ts.a.id))
		if err != nil {
			return nil, err
		}
		out = slices.DeleteFunc(all, func(m troupe.Mail) bool { return m.To == ts.a.id })
		agents = nil
	}
	for _, id := range agents {
		m, live, err := StopMail(tx, id, stop, now, mailID(id))
		if err != nil {
			return nil, err
		}
		if live {
			out = append(out, m)
		}
	}
	for i := range out {
		out[i].From, out[i].Quiet = ts.a.id, true
	}
	return out, nil
}

// stopTask ends a task now. An agent can go on later; a command cannot.
func (ts *tasks) stopTask(ctx context.Context, c turn.Call, in troupe.TaskStop) error {
	t, ok := ts.a.st.Task(in.Task)
	if ok && t.Status != troupe.TaskRunning {
		return ts.a.stage(resultOf(c, fmt.Sprintf("%q has ended already (%s)", t.Name, t.Status), false))
	}
	if ok && !t.Kind.OfSession() {
		if err := ts.a.stage(resultOf(c, fmt.Sprintf("%s is being ended; its end arrives as a "+
			"<task-notification>",
			t.ID), false)); err != nil {
			return err
		}
		if cancel := ts.own[t.ID]; cancel != nil {
			cancel()
		}
		return nil
	}
	var mail []troupe.Mail
	err := ts.a.transact(ctx, func(tx store.Tx, emit func(troupe.Body) error) error {
		mail = nil
		ref := in.Task
		if ok {
			ref = string(t.ID)
		}
		to, err := ts.child(tx, ref)
		if errors.Is(err, troupe.ErrNotFound) {
			return emit(resultOf(c, fmt.Sprintf("there is no task %q; TaskOutput without a task_id lists yours",
				in.Task), true))
		}
		if err != nil {
			return err
		}
		now := troupe.Stop{Now: true, Tree: true, By: "its parent"}
		id := troupe.CallMailID(ts.a.id, troupe.Coord{Reply: c.Reply, Call: c.Index}, 0)
		_, live, err := StopMail(tx, to.ID, now, ts.a.h.d.Now(), id)
		if err != nil {
			return err
		}
		if !live {
			return emit(resultOf(c, fmt.Sprintf("%q has ended already (%s)", to.Name, to.Status), false))
		}
		if mail, err = StopTree(tx, to.ID, now, ts.a.h.d.Now(), id); err != nil {
			return err
		}
		for i := range mail {
			mail[i].From = ts.a.id
		}
		if err := sendAll(tx, mail); err != nil {
			return err
		}
		told := "its end arrives as a <task-notification>"
		if to.Parent != ts.a.id {
			told = "its end is told to the agent that started it"
		}
		return emit(resultOf(c, fmt.Sprintf("%q is being stopped; %s. SendMessage lets it go on later, with all it "+
			"knew.", to.Name, told), false))
	})
	if err != nil {
		return err
	}
	ts.a.tree.mailed(mail...)
	return nil
}
