package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/memory"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Tree is a root session, its descendants in order of birth, and what they add up to.
type Tree struct {
	Sum      troupe.Tree
	Sessions []troupe.Session // the root first
	Paths    map[troupe.SessionID]string
	Running  bool // a live process has it in hand
	Owner    troupe.Owner
	Lease    troupe.Lease // of the root
	// still is when the sessions that no process runs, though they have not ended, were last at work.
	still map[troupe.SessionID]time.Time
}

// now is the time until which a session's is counted: none goes by where no process works.
func (t Tree) now(id troupe.SessionID, now time.Time) time.Time {
	if at, ok := t.still[id]; ok {
		return at
	}
	return now
}

// tree reads the whole tree that a session belongs to.
func (a trees) tree(ctx context.Context, root troupe.SessionID) (Tree, error) {
	var t Tree
	err := a.store.View(ctx, func(r store.Reader) error {
		var err error
		if t.Sum, err = r.Tree(root); err != nil {
			return fmt.Errorf("read tree %s: %w", root, err)
		}
		if t.Sessions, err = r.Sessions(store.Filter{Root: root}); err != nil {
			return fmt.Errorf("list tree %s: %w", root, err)
		}
		t.Lease, err = r.Lease(root)
		return err
	})
	if err != nil {
		return Tree{}, err
	}
	t.Paths = paths(t.Sessions)
	t.Owner, t.Running, err = a.owner(ctx, t.Lease)
	return t, err
}

// tree is a whole tree. One that this process has left is not at work, although nobody else has taken
// it over since.
func (a *App) tree(ctx context.Context, root troupe.SessionID) (Tree, error) {
	t, err := a.trees.tree(ctx, root)
	if t.Running && a.isOwner(t.Lease.Owner) {
		t.Running = a.hosting(root) != nil
	}
	if err != nil || t.Running {
		return t, err
	}
	t.still = make(map[troupe.SessionID]time.Time)
	err = a.trees.store.View(ctx, func(r store.Reader) (err error) {
		for _, s := range t.Sessions {
			if err == nil && s.Status.Live() {
				t.still[s.ID], err = lastAt(r, s)
			}
		}
		return err
	})
	return t, err
}

// lastAt is when the last event of a session happened.
func lastAt(r store.Reader, s troupe.Session) (time.Time, error) {
	events, err := r.Events(s.ID, max(0, s.Seq-1), 1)
	if err != nil {
		return time.Time{}, fmt.Errorf("read session %s: %w", s.ID, err)
	}
	if len(events) == 0 {
		return s.StartedAt, nil
	}
	return events[len(events)-1].At, nil
}

// owner looks up who holds a lease. An owner that is not known any more is a dead one.
func (a trees) owner(ctx context.Context, l troupe.Lease) (troupe.Owner, bool, error) {
	if l.Owner == "" {
		return troupe.Owner{}, false, nil
	}
	o, alive, err := a.store.Owner(ctx, l.Owner)
	if isNotFound(err) {
		return troupe.Owner{}, false, nil
	}
	if err != nil {
		return troupe.Owner{}, false, fmt.Errorf("look up owner %s: %w", l.Owner, err)
	}
	return o, alive, nil
}

// paths names every session by its ancestors. Parents stand before their children.
func paths(sessions []troupe.Session) map[troupe.SessionID]string {
	out := make(map[troupe.SessionID]string, len(sessions))
	for _, s := range sessions {
		name := displayName(s)
		if up, ok := out[s.Parent]; ok {
			name = up + "/" + name
		}
		out[s.ID] = name
	}
	return out
}

// Report is what a run came to: all of it read back from the log.
func (a sessions) Report(ctx context.Context, id troupe.SessionID) (wire.Report, error) {
	s, err := a.app.trees.session(ctx, id)
	if err != nil {
		return wire.Report{}, err
	}
	t, err := a.app.tree(ctx, s.Root)
	if err != nil {
		return wire.Report{}, err
	}
	main := t.Sessions[0]
	now := a.app.env.Now()
	out := wire.Report{
		Type: "result", SessionID: s.Root, Name: main.Name, Status: main.Status, Cause: main.Cause,
		Result: main.Result, Error: main.Error, Usage: t.Sum.Tally.Usage,
		CostUSD: t.Sum.Tally.Cost.Dollars(), DurationMS: wire.DurationMS(main, t.now(main.ID, now)),
		NumTurns: main.Tally.Turns, Agents: a.app.rows(t),
		Common: wire.Common{Scratchpad: scratchpadsOf(a.app).kept(s.Root)},
	}
	for _, row := range out.Agents {
		if row.Unpriced && !slices.Contains(out.Unpriced, row.Model) {
			out.Unpriced = append(out.Unpriced, row.Model)
		}
	}
	if main.Cause == troupe.CauseNoModel {
		out.Suspects = a.app.models.suspects(main.Model)
	}
	ends, err := a.app.trees.ends(ctx, t.Sessions)
	if err != nil {
		return out, err
	}
	active, err := a.app.trees.active(ctx, t, now)
	if err != nil {
		return out, err
	}
	left := map[string]map[troupe.SessionID]string{}
	for i := range out.Agents {
		row := &out.Agents[i]
		row.Structured, row.Flags = ends[row.ID].Structured, ends[row.ID].Flags
		row.Verified = wire.VerifiedOf(ends[row.ID].Verified)
		row.Unchecked = ends[row.ID].Unchecked
		row.Evidence, row.ActiveMS = wire.EvidenceOf(ends[row.ID].Evidence), active[row.ID]
		if w := ends[row.ID].Workspace; w != nil {
			kept := *w
			kept.Run, row.Kept = nil, &kept // the evidence has it
			notePruned(ctx, a.app, t, row, left)
		}
	}
	out.Structured = ends[s.Root].Structured
	out.ActiveMS, out.Limit = active[s.Root], limitName(ends[s.Root].Limit)
	denied, err := a.app.trees.denied(ctx, main, ends[s.Root])
	if err != nil {
		return out, err
	}
	for _, d := range denied {
		if d.Agent != "" {
			d.Agent = "/" + d.Agent
		}
		d.Agent = t.Paths[s.Root] + d.Agent
		out.Denials = append(out.Denials, d)
	}
	return out, nil
}

// limitName is what a limit of the log is called in reports. Of a sub-agent's own limits they have none.
func limitName(limit string) string {
	return map[string]string{
		turn.LimitTurns: wire.LimitTurns, turn.LimitTime: wire.LimitTime, turn.TreeTurns: wire.LimitAll,
		turn.TreeTokens: wire.LimitTokens, turn.TreeCost: wire.LimitCost, troupe.LimitRepeats: troupe.LimitRepeats,
	}[limit]
}

// ends reads what the last run of each session came to, if it has ended.
func (a trees) ends(ctx context.Context, sessions []troupe.Session) (map[troupe.SessionID]troupe.Outcome, error) {
	out := make(map[troupe.SessionID]troupe.Outcome)
	err := a.store.View(ctx, func(r store.Reader) error {
		clear(out)
		for _, s := range sessions {
			if !s.Status.Ended() {
				continue
			}
			end, err := endOf(r, s)
			if err != nil {
				return fmt.Errorf("read the end of session %s: %w", s.ID, err)
			}
			out[s.ID] = end.Outcome
		}
		return nil
	})
	return out, err
}

// denied is what was denied since a person last prompted the main agent: what went on in the background may have had it
// run again since.
func (a trees) denied(ctx context.Context, main troupe.Session, last troupe.Outcome) ([]troupe.Denial, error) {
	if main.Run <= 1 {
		return last.Evidence.Denied, nil
	}
	var out []troupe.Denial
	err := a.store.View(ctx, func(r store.Reader) error {
		out = nil
		events, err := r.Events(main.ID, 0, 0)
		if err != nil {
			return fmt.Errorf("read session %s: %w", main.ID, err)
		}
		for _, e := range events {
			switch b := e.Body.(type) {
			case troupe.MailDelivered:
				if slices.ContainsFunc(b.Mail, func(m troupe.Mail) bool {
					return m.Kind == troupe.MailPrompt && m.From == ""
				}) {
					out = nil
				}
			case troupe.Ended:
				out = append(out, b.Outcome.Evidence.Denied...)
			}
		}
		return nil
	})
	return out, err
}

// active is how long each session was at work in all its runs, this one until now.
func (a trees) active(ctx context.Context, t Tree, now time.Time) (map[troupe.SessionID]int64, error) {
	out := make(map[troupe.SessionID]int64)
	err := a.store.View(ctx, func(r store.Reader) error {
		clear(out)
		for _, s := range t.Sessions {
			if s.Run <= 1 || !s.Status.Ended() {
				out[s.ID] = wire.DurationMS(s, t.now(s.ID, now))
			}
			if s.Run <= 1 {
				continue
			}
			events, err := r.Events(s.ID, 0, 0)
			if err != nil {
				return fmt.Errorf("read session %s: %w", s.ID, err)
			}
			for _, e := range events {
				if end, ok := e.Body.(troupe.Ended); ok {
					out[s.ID] += end.Outcome.DurationMS
				}
			}
		}
		return nil
	})
	return out, err
}

// endOf is the event that ended the last run of a session. What stands behind it in the log is mail that begins
// no other, such as the ends of tasks of a run that failed.
func endOf(r store.Reader, s troupe.Session) (troupe.Ended, error) {
	for before, back := s.Seq, int64(1); before > 0; before, back = before-back, back*8 {
		back = min(back, before)
		events, err := r.Events(s.ID, before-back, int(back))
		if err != nil {
			return troupe.Ended{}, err
		}
		for _, e := range slices.Backward(events) {
			if end, ok := e.Body.(troupe.Ended); ok {
				return end, nil
			}
		}
	}
	return troupe.Ended{}, nil
}

// list returns main agents, or the sub-agents of one session, the newest first.
func (a sessions) list(ctx context.Context, l wire.Listing) ([]wire.Session, error) {
	if l.Status != "" && !slices.Contains(troupe.Statuses(), l.Status) {
		return nil, &troupe.UserError{Problem: fmt.Sprintf("%.40q is no status of a session", l.Status),
			Hint: "There are: " + strings.Trim(fmt.Sprint(troupe.Statuses()), "[]") + ".", Code: troupe.ExitUsage}
	}
	var found []troupe.Session
	sums := make(map[troupe.SessionID]troupe.Tree)
	leases := make(map[troupe.SessionID]troupe.Lease)
	err := a.app.trees.store.View(ctx, func(r store.Reader) (err error) {
		for _, id := range []troupe.SessionID{l.Parent, l.After} {
			if id == "" {
				continue
			}
			if _, err := r.Session(id); err != nil { // where a page begins behind one that is gone cannot be told
				return &troupe.UserError{Problem: fmt.Sprintf("there is no session %.40q", id),
					Hint: "Name one by its whole id, as the page before has it. If it was removed, begin with the " +
						"first page.",
					Err: err}
			}
		}
		found, err = r.Sessions(store.Filter{RootsOnly: l.Parent == "", Parent: l.Parent, Cwd: l.Cwd, Status: l.Status,
			By: l.By, Text: l.Text, After: l.After, Newest: true, Limit: l.Limit, Archived: inList(l)})
		for _, s := range found {
			if err == nil && s.Parent == "" {
				sums[s.ID], err = r.Tree(s.ID)
			}
			if err == nil {
				leases[s.ID], err = r.Lease(s.ID)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	out := make([]wire.Session, 0, len(found))
	for _, s := range found {
		running := false
		if s.Status.Live() || sums[s.ID].Active > 0 {
			if _, running, err = a.app.trees.owner(ctx, leases[s.ID]); err != nil {
				return nil, err
			}
		}
		row := a.app.wireSession(s, displayName(s), running)
		if s.Parent == "" {
			row.Tree = wire.SumsOf(sums[s.ID])
			if row.Tree.Active > 0 {
				row.Running = running // the main agent waits for their ends
			}
		}
		out = append(out, row)
	}
	return out, nil
}

// inList is which trees a list is of, by whether they are archived. Sub-agents are listed all.
func inList(l wire.Listing) *bool {
	if l.Parent != "" {
		return nil
	}
	return &l.Archived
}

// events reads up to limit events of one session after a number.
func (a trees) events(ctx context.Context, id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	var out []troupe.Event
	err := a.store.View(ctx, func(r store.Reader) error {
		var err error
		out, err = r.Events(id, after, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	return out, nil
}

// remove forgets a whole tree: logs, mail and stored output. A tree that a live process
// has in hand is refused, whether something is at work in it or not: what that process does
// next would have nowhere to go.
func (a runs) remove(ctx context.Context, root troupe.SessionID) error {
	t, err := a.app.tree(ctx, root)
	if err != nil {
		return err
	}
	if t.Running {
		return a.inHand(ctx, t, "nothing was removed of it", "remove it")
	}
	ids := make([]troupe.SessionID, len(t.Sessions))
	for i, s := range t.Sessions {
		ids[i] = s.ID
	}
	err = a.deleteTree(ctx, t)
	var surroundings *troupe.UserError
	if errors.As(err, &surroundings) {
		// A disk that is full cannot even take the note that something is gone. The outputs need
		// none, and leave room for it.
		freed := a.app.outputSize(ids)
		if ferr := a.app.removeOutputs(ids); ferr != nil {
			return fmt.Errorf("remove session %s: %w", root, errors.Join(err, ferr))
		}
		if err = a.deleteTree(ctx, t); err != nil && freed > 0 {
			return &troupe.UserError{
				Problem: fmt.Sprintf("session %s is still there: %s; its stored outputs are gone, which freed %.1f MB",
					root, surroundings.Problem, float64(freed)/1e6),
				Hint: surroundings.Hint, Code: surroundings.Code, Err: err,
			}
		}
	}
	if err != nil {
		return fmt.Errorf("remove session %s: %w", root, err)
	}
	err = errors.Join(plansOf(a.app).remove(t.Sessions), memory.RemoveTree(memoryData(a.app.dirs), root),
		scratchpadsOf(a.app).remove(root), a.app.removeOutputs(ids))
	if err != nil { // removeOrphans tries again
		return &troupe.UserError{
			Problem: fmt.Sprintf("session %s is removed, but not all of its files: %v", root, err),
			Hint:    "A later run tries it again, or remove them yourself.", Err: err,
		}
	}
	return nil
}

func (a runs) deleteTree(ctx context.Context, t Tree) error {
	root := t.Sum.Root
	return a.app.trees.store.Update(ctx, root, func(tx store.Tx) error {
		// Somebody may have taken it over since it was looked at.
		if held, err := tx.Lease(root); err != nil || held != t.Lease {
			return errors.Join(err, troupe.ErrFenced)
		}
		return tx.DeleteTree(root)
	})
}

// checkNotAtWork refuses a tree that a living process has at work. One that only holds it open, as a
// conversation does, loses it to whoever goes on with it.
func (a runs) checkNotAtWork(ctx context.Context, t Tree, root troupe.Session) error {
	if !t.Running || a.app.isOwner(t.Lease.Owner) && a.app.hosting(root.ID) == nil { // this process has let go of it
		return nil
	}
	events, err := a.app.trees.events(ctx, root.ID, 0, 0)
	if err != nil {
		return err
	}
	st, err := turn.Fold(events)
	if err != nil {
		return fmt.Errorf("read session %s: %w", root.ID, err)
	}
	more, err := a.app.trees.unfinished(ctx, root.ID, &st)
	if err == nil && (more || st.Session.Status.Live()) {
		err = busy(root, t.Owner)
	}
	return err
}

// inHand explains why a tree that a process has in hand cannot be removed or archived: what has not become of it, and
// what to do then.
func (a runs) inHand(ctx context.Context, t Tree, not, then string) error {
	root := t.Sessions[0]
	err := a.checkNotAtWork(ctx, t, root)
	var atWork *troupe.UserError
	switch {
	case err == nil:
		return &troupe.UserError{
			Problem: fmt.Sprintf("session %s is open in process %d on %s; %s", root.ID, t.Owner.PID,
				t.Owner.Host, not),
			Hint: "Nothing is at work in it: end that conversation (Ctrl-D there, or end the process), then " + then +
				".", Code: troupe.ExitUsage, Err: &api.HeldError{Root: root.ID},
		}
	case errors.As(err, &atWork):
		atWork.Problem += ", with agents or commands at work; " + not
		atWork.Hint = fmt.Sprintf("`troupe stop %s --now` stops them; once that process has ended, %s. "+
			"`troupe tasks %s` lists them; `troupe send %s \"...\"` says something to it.", root.ID, then, root.ID,
			root.ID)
	}
	return err
}

func busy(s troupe.Session, o troupe.Owner) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("session %s is being run by process %d on %s", s.ID, o.PID, o.Host),
		Hint: fmt.Sprintf("`troupe send %s \"...\"` says something to it there; `troupe stop %s` stops it, and then "+
			"it can be taken over. `troupe log %s --follow` shows what it does.",
			s.ID, s.ID, s.ID),
		Code: troupe.ExitUsage, Err: &api.HeldError{Root: s.ID},
	}
}
