package app

import (
	"context"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Tasks lists what is, or was, at work for a session and for all below it; without a session
// for every tree that has something at work.
func (a *App) Tasks(ctx context.Context, id troupe.SessionID) ([]wire.Task, error) {
	out := []wire.Task{}
	err := a.store.View(ctx, func(r store.Reader) error {
		out = out[:0]
		roots, err := treesWithWork(r, id)
		if err != nil {
			return err
		}
		for _, root := range roots {
			list, err := a.tasksOf(r, root, id)
			if err != nil {
				return err
			}
			out = append(out, list...)
		}
		return nil
	})
	return out, err
}

func treesWithWork(r store.Reader, id troupe.SessionID) ([]troupe.SessionID, error) {
	if id != "" {
		s, err := r.Session(id)
		if isNotFound(err) {
			return nil, notFound(string(id))
		}
		return []troupe.SessionID{s.Root}, err
	}
	var roots []troupe.SessionID
	seen := make(map[troupe.SessionID]bool)
	for _, status := range []troupe.Status{troupe.Spawning, troupe.Running, troupe.Waiting} {
		live, err := r.Sessions(store.Filter{Status: status})
		if err != nil {
			return nil, fmt.Errorf("look for sessions at work: %w", err)
		}
		for _, s := range live {
			if !seen[s.Root] {
				seen[s.Root] = true
				roots = append(roots, s.Root)
			}
		}
	}
	return roots, nil
}

// tasksOf lists the tasks of a session and all below it, or of the whole tree.
func (a *App) tasksOf(r store.Reader, root, id troupe.SessionID) ([]wire.Task, error) {
	sessions, err := r.Sessions(store.Filter{Root: root})
	if err != nil {
		return nil, fmt.Errorf("list tree %s: %w", root, err)
	}
	path := paths(sessions)
	byID := make(map[troupe.SessionID]troupe.Session, len(sessions))
	within := map[troupe.SessionID]bool{id: true, "": id == "" || id == root}
	hasTasks := make(map[troupe.SessionID]bool)
	for _, s := range sessions {
		byID[s.ID] = s
		within[s.ID] = within[s.ID] || within[s.Parent]
		hasTasks[s.Parent] = true
	}
	out := []wire.Task{}
	for _, s := range sessions {
		if !within[s.ID] || (!hasTasks[s.ID] && s.Tally.ToolUses == 0) {
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
		for _, t := range st.Tasks {
			out = append(out, a.task(s, path[s.ID], t, byID))
		}
	}
	return out, nil
}

func (a *App) task(s troupe.Session, path string, t troupe.Task, all map[troupe.SessionID]troupe.Session) wire.Task {
	end := t.EndedAt
	if end.IsZero() {
		end = a.env.Now()
	}
	out := wire.Task{
		Session: s.ID, Path: path, ID: t.ID, Kind: t.Kind, Name: t.Name, Title: t.Title, Status: t.Status,
		Background: t.Background, Output: t.Output, DurationMS: end.Sub(t.StartedAt).Milliseconds(),
	}
	if child, ok := all[troupe.SessionID(t.ID)]; ok && t.Status == troupe.TaskRunning {
		out.Doing = string(child.Status)
		if child.Waiting != "" {
			out.Doing += " for " + string(child.Waiting)
		}
		if !child.Until.IsZero() {
			out.Doing += " until " + child.Until.Local().Format("15:04:05")
		}
	}
	return out
}

// Cost is the bill of the whole tree that a session belongs to, with its limits.
func (a *App) Cost(ctx context.Context, id troupe.SessionID) (wire.Cost, error) {
	s, err := a.session(ctx, id)
	if err != nil {
		return wire.Cost{}, err
	}
	report, err := a.Report(ctx, s.Root)
	if err != nil {
		return wire.Cost{}, err
	}
	t, err := a.Tree(ctx, s.Root)
	if err != nil {
		return wire.Cost{}, err
	}
	out := wire.Cost{
		SessionID: s.Root, Usage: report.Usage, CostUSD: report.CostUSD, Unpriced: report.Unpriced,
		Agents: report.Agents, Limits: []wire.Limit{},
	}
	c := t.Sum.Caps
	for _, l := range []wire.Limit{
		{Name: "tokens", Used: float64(t.Sum.Tally.Usage.Total()), Limit: float64(c.MaxTokens)},
		{Name: "cost_usd", Used: t.Sum.Tally.Cost.Dollars(), Limit: c.MaxCost.Dollars()},
		{Name: "agents", Used: float64(t.Sum.Total), Limit: float64(c.MaxTotal)},
	} {
		if l.Limit > 0 {
			out.Limits = append(out.Limits, l)
		}
	}
	return out, nil
}
