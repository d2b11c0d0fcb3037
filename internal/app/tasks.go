package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Tasks lists the tasks of a session and of all below it, and the main agent itself if it has
// work; without a session, those of every tree that has something at work. What no living
// process runs is marked as left.
func (a sessions) Tasks(ctx context.Context, id troupe.SessionID) ([]wire.Task, error) {
	roots, err := a.app.trees.treesWithWork(ctx, id)
	if err != nil {
		return nil, err
	}
	out := []wire.Task{}
	for _, root := range roots {
		t, err := a.app.tree(ctx, root)
		if isNotFound(err) && id == "" {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		var list []wire.Task
		err = a.app.trees.store.View(ctx, func(r store.Reader) error {
			var err error
			list, err = a.tasksOf(r, t, id)
			return err
		})
		if err != nil {
			return nil, err
		}
		if id != "" || slices.ContainsFunc(list, func(t wire.Task) bool { return t.Status == troupe.TaskRunning }) {
			out = append(out, list...)
		}
	}
	return out, nil
}

// leftRecent is how many of the newest trees are searched for commands that were left behind.
// Only their logs tell, and reading those of all trees would take as long as there are many.
const leftRecent = 10

// treesWithWork are the trees that may have something at work: those with a session that is
// live, those that a process has in hand, whose agents may have nothing but commands in the
// background, and the newest.
func (a trees) treesWithWork(ctx context.Context, id troupe.SessionID) ([]troupe.SessionID, error) {
	if id != "" {
		s, err := a.session(ctx, id)
		return []troupe.SessionID{s.Root}, err
	}
	var roots []troupe.SessionID
	held := make(map[troupe.SessionID]troupe.Lease)
	var all []troupe.Session
	err := a.store.View(ctx, func(r store.Reader) error {
		roots = nil
		for _, status := range []troupe.Status{troupe.Spawning, troupe.Running, troupe.Waiting} {
			live, err := r.Sessions(store.Filter{Status: status})
			if err != nil {
				return err
			}
			for _, s := range live {
				roots = append(roots, s.Root)
			}
		}
		var err error
		if all, err = r.Sessions(store.Filter{RootsOnly: true, Newest: true, Archived: new(false)}); err != nil {
			return err
		}
		for _, s := range all {
			if held[s.ID], err = r.Lease(s.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for sessions at work: %w", err)
	}
	alive := make(map[troupe.OwnerID]bool)
	for i, s := range all {
		l := held[s.ID]
		if _, ok := alive[l.Owner]; !ok {
			if _, alive[l.Owner], err = a.owner(ctx, l); err != nil {
				return nil, err
			}
		}
		if alive[l.Owner] || i < leftRecent {
			roots = append(roots, s.ID)
		}
	}
	slices.Sort(roots)
	return slices.Compact(roots), nil
}

// tasksOf lists the tasks of a session and all below it, or of the whole tree.
func (a sessions) tasksOf(r store.Reader, tree Tree, id troupe.SessionID) ([]wire.Task, error) {
	root := tree.Sum.Root
	within := map[troupe.SessionID]bool{id: true, "": id == "" || id == root}
	hasTasks := make(map[troupe.SessionID]bool)
	byID := make(map[troupe.SessionID]troupe.Session, len(tree.Sessions))
	number := make(map[troupe.TaskID]int, len(tree.Sessions))
	for i, s := range tree.Sessions {
		byID[s.ID], number[troupe.TaskID(s.ID)] = s, i
		within[s.ID] = within[s.ID] || within[s.Parent]
		hasTasks[s.Parent] = true
	}
	out := []wire.Task{}
	for _, s := range tree.Sessions {
		if !within[s.ID] {
			continue
		}
		if s.Parent == "" && (s.Status.Live() || s.Type == profile.Dream) {
			out = append(out, a.mainAgent(s, tree))
		}
		if !hasTasks[s.ID] && s.Tally.ToolUses == 0 {
			continue
		}
		events, err := r.Events(s.ID, 0, 0)
		if err != nil {
			return nil, fmt.Errorf("read session %s: %w", s.ID, err)
		}
		st, err := turn.Fold(events)
		if err != nil {
			return nil, fmt.Errorf("read session %s: %w", s.ID, err)
		}
		mail, err := r.Unread(s.ID)
		if err != nil {
			return nil, fmt.Errorf("read the mail of session %s: %w", s.ID, err)
		}
		for _, t := range st.Tasks {
			if !t.Kind.OfSession() {
				t = ending(t, mail)
			}
			task, err := a.task(r, s, tree, t, byID)
			if err != nil {
				return nil, err
			}
			task.Number = number[t.ID]
			out = append(out, task)
		}
	}
	return out, nil
}

// ending is a command as it is: its end may wait in the mailbox of its agent, which waits for
// something else. What it is of an agent its own session tells.
func ending(t troupe.Task, mail []troupe.Mail) troupe.Task {
	for _, m := range mail {
		if t.Status == troupe.TaskRunning && m.Kind == troupe.MailTaskEnded && m.Ended != nil &&
			m.Ended.TaskID() == t.ID {
			t.Status, t.EndedAt = m.Ended.TaskStatus(), m.SentAt
			t.Output = cmp.Or(m.Ended.Output, t.Output)
		}
	}
	return t
}

// mainAgent is the row of a main agent that has work, and that of a dream: nobody's task, so it stands for itself.
func (a sessions) mainAgent(s troupe.Session, tree Tree) wire.Task {
	out := wire.Task{
		Session: s.ID, Root: s.Root, Path: tree.Paths[s.ID], ID: troupe.TaskID(s.ID), Kind: troupe.TaskAgent,
		Name: tree.Paths[s.ID], Title: s.Title,
		Status: troupe.TaskRunning, Left: !tree.Running,
		Asleep:     asleep(tree),
		DurationMS: wire.DurationMS(s, tree.now(s.ID, a.app.env.Now())),
	}
	if s.Type == profile.Dream {
		out.Kind = troupe.TaskDream
	}
	switch {
	case s.Status.Ended():
		out.Status, out.Left = troupe.Outcome{Status: s.Status}.TaskStatus(), false
	case tree.Running:
		out.Doing = doing(s, a.app.env.Now())
	}
	return out
}

func (a sessions) task(r store.Reader, s troupe.Session, tree Tree, t troupe.Task,
	all map[troupe.SessionID]troupe.Session) (wire.Task, error) {
	out := wire.Task{
		Session: s.ID, Root: s.Root, Path: tree.Paths[s.ID], ID: t.ID, Kind: t.Kind, Name: t.Name, Title: t.Title,
		Status:     t.Status,
		Background: t.Background, Output: t.Output,
	}
	end := t.EndedAt
	child, ok := all[troupe.SessionID(t.ID)]
	if ok && t.Status != troupe.TaskRunning && child.Status.Live() {
		// Words of another one than the session whose task it was have it work again.
		out.Status, t.Status, t.StartedAt, end = troupe.TaskRunning, troupe.TaskRunning, child.StartedAt, time.Time{}
	}
	if ok && t.Status == troupe.TaskRunning {
		next := false
		if child.Status.Ended() {
			mail, err := r.Unread(child.ID)
			if err != nil {
				return out, fmt.Errorf("read the mail of session %s: %w", child.ID, err)
			}
			next = slices.ContainsFunc(mail, child.WokenBy)
		}
		switch {
		case next:
			out.Doing = "is about to go on"
		case child.Status.Ended():
			// Its end is on its way to the session whose task it is; it is over all the same.
			out.Status, end = troupe.Outcome{Status: child.Status}.TaskStatus(), child.EndedAt
		default:
			out.Doing = doing(child, a.app.env.Now())
		}
	}
	var err error
	out.Asleep = out.Status == troupe.TaskRunning && asleep(tree)
	if out.Left = out.Status == troupe.TaskRunning && !tree.Running; out.Left {
		out.Doing = ""
		if end, err = lastAt(r, cmp.Or(all[troupe.SessionID(t.ID)], s)); err != nil {
			return out, err
		}
	}
	if end.IsZero() {
		end = a.app.env.Now()
	}
	out.DurationMS = max(0, end.Sub(t.StartedAt).Milliseconds())
	return out, nil
}

// doing is what a session is at: its status, what it waits for, until when and why.
func doing(s troupe.Session, now time.Time) string {
	out := s.Status.For(s.Waiting)
	if !s.Until.IsZero() {
		out += " until " + wire.Clock(s.Until.Local(), now)
	}
	if s.Error != "" && (s.Waiting == troupe.WaitModel || s.Status == troupe.Spawning) {
		out += ": " + s.Error
	}
	return out
}

// Cost is the bill of the whole tree that a session belongs to, with its limits.
func (a sessions) Cost(ctx context.Context, id troupe.SessionID) (wire.Cost, error) {
	s, err := a.app.trees.session(ctx, id)
	if err != nil {
		return wire.Cost{}, err
	}
	report, err := a.Report(ctx, s.Root)
	if err != nil {
		return wire.Cost{}, err
	}
	t, err := a.app.tree(ctx, s.Root)
	if err != nil {
		return wire.Cost{}, err
	}
	events, err := a.app.trees.events(ctx, s.Root, 0, 0)
	if err != nil {
		return wire.Cost{}, err
	}
	st, err := turn.Fold(events)
	if err != nil {
		return wire.Cost{}, fmt.Errorf("read session %s: %w", s.Root, err)
	}
	out := wire.Cost{
		SessionID: s.Root, Usage: report.Usage, CostUSD: report.CostUSD, Unpriced: report.Unpriced,
		Limits: []wire.Limit{},
	}
	if out.Agents, out.Shared, err = a.shared(ctx, report.Agents); err != nil {
		return wire.Cost{}, err
	}
	if out.Spared, err = a.spared(ctx, events, report.Agents); err != nil {
		return wire.Cost{}, err
	}
	c, own := t.Sum.Caps, st.Profile.Limits
	for _, l := range []wire.Limit{
		{Name: wire.LimitTokens, Used: float64(t.Sum.Tally.Usage.Total()), Limit: float64(c.MaxTokens)},
		{Name: wire.LimitCost, Used: t.Sum.Tally.Cost.Dollars(), Limit: c.MaxCost.Dollars()},
		{Name: wire.LimitAgents, Used: float64(t.Sum.SincePrompt), Limit: float64(c.MaxTotal)},
		{Name: wire.LimitAll, Used: float64(t.Sum.Tally.Turns), Limit: float64(c.MaxTurns)},
		{Name: wire.LimitTurns, Used: float64(st.RunTurns()), Limit: float64(own.MaxTurns)},
		{Name: wire.LimitTime, Used: float64(report.DurationMS), Limit: float64(own.MaxTime.Milliseconds())},
	} {
		if l.Limit > 0 {
			out.Limits = append(out.Limits, l)
		}
	}
	return out, nil
}

// shared finds what each session's first call has read from the provider's cache: nothing of it was the session's own.
// total is nil if that is nothing.
func (a sessions) shared(ctx context.Context, agents []wire.Session) (out []wire.Account, total *wire.Shared,
	err error) {
	for _, s := range agents {
		first, err := a.firstReply(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		account := wire.Account{Session: s}
		if n := first.Usage.CacheRead; n > 0 {
			account.Shared = &wire.Shared{Tokens: n}
			if i, ok := a.app.models.info(s.Model); ok && i.Priced {
				account.Shared.SavedUSD = i.Saved(n).Dollars()
			}
			if total == nil {
				total = &wire.Shared{}
			}
			total.Tokens, total.SavedUSD = total.Tokens+n, total.SavedUSD+account.Shared.SavedUSD
		}
		out = append(out, account)
	}
	return out, total, nil
}

// firstReply is the first one of a session; the zero value if it has none.
func (a sessions) firstReply(ctx context.Context, s wire.Session) (troupe.Replied, error) {
	const page = 32
	for after := int64(0); s.Turns > 0; {
		events, err := a.app.trees.events(ctx, s.ID, after, page)
		if err != nil || len(events) == 0 {
			return troupe.Replied{}, err
		}
		for _, e := range events {
			if b, ok := e.Body.(troupe.Replied); ok {
				return b, nil
			}
		}
		after = events[len(events)-1].Seq
	}
	return troupe.Replied{}, nil
}
