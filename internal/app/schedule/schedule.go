// Package schedule begins runs by itself: at moments that people set, with the rights that they have then.
//
// A record for each schedule holds what a person says of it and how it stands. Every process that hosts looks at all of
// them once a second. What is due is claimed by writing the record: of several processes one is first. The claim names
// the id of the run before that is born, so that a process which is killed between the two, or in the middle of the
// birth, leaves what another one carries out, and no run is born twice. A moment is never gone back behind: where the
// clock is set back, nothing begins until it has passed the last moment again.
//
// Only a process that has the folder begins a run there. Where none does for a while, or the user may not begin it any
// more, the record says why; after three times in a row the schedule is paused.
//
// A Keeper has a goroutine that looks, and up to eight beside it that give birth, so that a slow one keeps no other
// from beginning. Close ends all of them and waits. Schedules may be used by several goroutines, in any process that
// has the records.
package schedule

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/host"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

const (
	kind = "schedule"
	// mostPrompt bounds what a record holds.
	mostPrompt = 200_000
	// askedWithin is how long a run that a person wants now is waited for.
	askedWithin = 20 * time.Second
	asksAgain   = 100 * time.Millisecond
)

// Trees are the trees of a home.
type Trees interface {
	host.Trees
	// Spent is what a tree has cost, how its main agent stands, and why that ended.
	Spent(ctx context.Context, root troupe.SessionID) (troupe.Money, troupe.Status, troupe.Cause, error)
}

// plan is the value of a record. The version of its terms is that of the record with which they were written, where it
// is 0; what is written later keeps it.
type plan struct {
	wire.ScheduleTerms

	By string `json:"by"`
	// Owner: whose the home is has made it; By is no user of a server.
	Owner bool `json:"owner,omitempty"`
	// Since is when the terms began to hold: intervals count from it.
	Since time.Time `json:"since"`
	// Next is the moment from which on something is due; none: nothing is any more.
	Next   time.Time `json:"next,omitzero"`
	Paused string    `json:"paused,omitempty"`
	// Asked is when a person wanted a run now that nobody has looked at yet.
	Asked time.Time `json:"asked,omitzero"`
	// Owed are moments whose runs are to begin, one after the other unless runs may overlap.
	Owed []time.Time `json:"owed,omitempty"`
	// Stopped: the last run was told to stop, for the one that waits.
	Stopped bool   `json:"stopped,omitempty"`
	Claim   *claim `json:"claim,omitempty"`
	// Latest is the last run that began.
	Latest troupe.SessionID `json:"latest,omitempty"`
	// Today are the runs that began on Day.
	Day    string            `json:"day,omitempty"`
	Today  []begun           `json:"today,omitempty"`
	Failed int               `json:"failed,omitempty"` // how often in a row none could begin
	Last   *wire.ScheduleRun `json:"last,omitempty"`
}

// claim is a run that is about to begin.
type claim struct {
	Root  troupe.SessionID `json:"root"`
	At    time.Time        `json:"at"`
	Owner troupe.OwnerID   `json:"owner"` // who begins it
	begun
}

// begun is a run of a day.
type begun struct {
	ID troupe.SessionID `json:"id"`
	// Most is what it may cost; 0: it has no limit. Rest: that is what was left of the day.
	Most troupe.Money `json:"most,omitempty"`
	Rest bool         `json:"rest,omitempty"`
}

// Schedules are those of one database.
type Schedules struct {
	records store.Records
	trees   Trees
	now     func() time.Time
}

// New makes the schedules that records hold.
func New(records store.Records, trees Trees, now func() time.Time) *Schedules {
	return &Schedules{records, trees, now}
}

// List lists all, by name.
func (s *Schedules) List(ctx context.Context) ([]wire.Schedule, error) {
	all, err := s.records.Records(ctx, kind, "", 0)
	if err != nil {
		return nil, fmt.Errorf("list the schedules: %w", err)
	}
	serving, err := host.Serving(ctx, s.records, s.trees)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Schedule, 0, len(all))
	for _, r := range all {
		p, err := planOf(r)
		if err != nil {
			return nil, err
		}
		told, err := s.tell(ctx, p, serving)
		if err != nil {
			return nil, err
		}
		out = append(out, told)
	}
	return out, nil
}

// One is a schedule by its name.
func (s *Schedules) One(ctx context.Context, name string) (wire.Schedule, error) {
	_, p, err := s.read(ctx, name)
	if err != nil {
		return wire.Schedule{}, err
	}
	return s.told(ctx, p)
}

// Set makes a schedule, or changes the terms of one. What it begins was checked.
func (s *Schedules) Set(ctx context.Context, c troupe.Caller, t wire.ScheduleTerms) (wire.Schedule, error) {
	now := s.now().UTC()
	m, err := check(t, now)
	if err != nil {
		return wire.Schedule{}, err
	}
	for {
		r, p, err := s.read(ctx, t.Name)
		switch isNew := errors.Is(err, troupe.ErrNotFound); {
		case err != nil && !isNew:
			return wire.Schedule{}, err
		case isNew && t.Version != 0:
			return wire.Schedule{}, &troupe.UserError{Problem: fmt.Sprintf("the schedule %q is gone", t.Name),
				Hint: "Someone has removed it since you looked.", Code: troupe.ExitUsage, Err: troupe.ErrChanged}
		case isNew:
			r = store.Record{Kind: kind, Key: t.Name}
			p = plan{By: c.Name, Owner: c.Right == troupe.RightOwner}
		case t.Version == 0:
			return wire.Schedule{}, &troupe.UserError{Problem: fmt.Sprintf("there is a schedule %q already", t.Name),
				Hint: "Choose another name, or give --replace.", Code: troupe.ExitUsage, Err: troupe.ErrExists}
		case t.Version != p.Version:
			return wire.Schedule{}, &troupe.UserError{
				Problem: fmt.Sprintf("the schedule %q was changed since you looked at it", t.Name),
				Hint:    "Look at it again: troupe schedule show " + t.Name, Code: troupe.ExitUsage,
				Err: troupe.ErrChanged}
		default:
			if err := p.mayChange(c); err != nil {
				return wire.Schedule{}, err
			}
		}
		p.ScheduleTerms, p.Since, p.Next, p.Owed, p.Failed = t, now, m.after(now), nil, 0
		p.Version = 0
		switch err := s.write(ctx, &r, p); {
		case errors.Is(err, troupe.ErrChanged):
			continue
		case err != nil:
			return wire.Schedule{}, err
		}
		p.Version = r.Version
		return s.told(ctx, p)
	}
}

var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// check refuses terms that cannot hold, and says which moments they name.
func check(t wire.ScheduleTerms, now time.Time) (moments, error) {
	m, _, err := momentsOf(t.When, now)
	b := t.Begin
	switch {
	case !name.MatchString(t.Name):
		return nil, unusable(fmt.Sprintf("%q is no name of a schedule", t.Name),
			"It is letters, digits, dots, dashes and underscores, 64 at the most.")
	case err != nil:
		return nil, err
	case m.after(now).IsZero():
		return nil, unusable("the moment has passed", "Name one that is to come.")
	case t.Overlap != "" && !slices.Contains(wire.Overlaps(), t.Overlap):
		return nil, unusable(fmt.Sprintf("there is no overlap %q", t.Overlap),
			"There are skip, queue, cancel and allow.")
	case t.CatchUp != "" && !slices.Contains(wire.CatchUps(), t.CatchUp):
		return nil, unusable(fmt.Sprintf("there is no catch_up %q", t.CatchUp), "There are one, none and all.")
	case t.MaxRunsPerDay < 0 || !(t.MaxCostPerDay >= 0 && t.MaxCostPerDay <= 1e6):
		return nil, unusable("a limit of a day is no amount", "A limit of 0 is none.")
	case b.Resume != "" || b.Continue || b.Wake || b.Idle || b.Attended || b.Name != "" || b.Once != "":
		return nil, unusable("a schedule begins new sessions, without a name, and no person sits by",
			"Leave out what is about another session.")
	case b.Trust:
		return nil, unusable("a schedule does not trust a folder: it would trust what is there by then",
			"Trust it now, with a run of yours.")
	case len(b.Images) > 0 || len(b.Prompt)+len(b.AppendText)+len(b.Agents)+len(b.OutputSchema) > mostPrompt:
		return nil, unusable("what is to begin is too large for a schedule", "Put it into files of the folder.")
	}
	return m, nil
}

// mayChange refuses who neither made a schedule nor administers the server.
func (p plan) mayChange(c troupe.Caller) error {
	own := c.Name == p.By && p.Owner == (c.Right == troupe.RightOwner) // a user may have the owner's name
	if own || c.Right.Covers(troupe.RightAdmin) {
		return nil
	}
	return &troupe.UserError{Problem: fmt.Sprintf("%s has made the schedule %q", p.By, p.Name),
		Hint: "That user can change it, and admins can.", Code: troupe.ExitPermission}
}

// Remove forgets a schedule. What it began goes on.
func (s *Schedules) Remove(ctx context.Context, c troupe.Caller, name string) error {
	for {
		r, p, err := s.read(ctx, name)
		if err == nil {
			err = p.mayChange(c)
		}
		if err != nil {
			return err
		}
		err = s.records.DeleteRecord(ctx, kind, name, r.Version)
		switch {
		case errors.Is(err, troupe.ErrChanged):
			continue
		case err != nil && !errors.Is(err, troupe.ErrNotFound):
			return fmt.Errorf("remove schedule %s: %w", name, err)
		}
		return nil
	}
}

// Pause pauses a schedule, or has it go on from now. What waits to begin is left out.
func (s *Schedules) Pause(ctx context.Context, c troupe.Caller, name string, paused bool) (wire.Schedule, error) {
	p, err := s.change(ctx, c, name, func(p *plan) error {
		if paused {
			p.Paused, p.Owed, p.Asked = c.Name, nil, time.Time{}
			return nil
		}
		m, _, err := momentsOf(p.When, p.Since)
		if err == nil {
			p.Paused, p.Failed, p.Next = "", 0, m.after(s.now())
		}
		return err
	})
	if err != nil {
		return wire.Schedule{}, err
	}
	return s.told(ctx, p)
}

// Run has a schedule begin a run now, also if it is paused, and says what came of it.
func (s *Schedules) Run(ctx context.Context, c troupe.Caller, name string) (out wire.Schedule, err error) {
	if out, err = s.One(ctx, name); err == nil && out.Unserved != "" {
		err = &troupe.UserError{Problem: "nothing begins: " + out.Unserved, Hint: "Start one there: troupe serve"}
	}
	if err != nil {
		return out, err
	}
	asked := s.now().UTC()
	p, err := s.change(ctx, c, name, func(p *plan) error { p.Asked = asked; return nil })
	for until := time.Now().Add(askedWithin); err == nil && (p.Asked.Equal(asked) || p.Claim != nil); {
		if time.Now().After(until) {
			return out, &troupe.UserError{Problem: fmt.Sprintf("no process has begun it within %v", askedWithin),
				Hint: "It begins when one looks: troupe schedule show " + name}
		}
		select {
		case <-time.After(asksAgain):
			_, p, err = s.read(ctx, name)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil && p.Last != nil && p.Last.At.Equal(asked) && p.Last.Why != "" {
		err = &troupe.UserError{Problem: "nothing has begun: " + p.Last.Why, Hint: "See troupe schedule show " + name}
	}
	if err != nil {
		return out, err
	}
	return s.told(ctx, p)
}

// change changes how a schedule stands, for who may.
func (s *Schedules) change(ctx context.Context, c troupe.Caller, name string, fn func(*plan) error) (plan, error) {
	for {
		r, p, err := s.read(ctx, name)
		if err == nil {
			err = p.mayChange(c)
		}
		if err == nil {
			err = fn(&p)
		}
		if err == nil {
			err = s.write(ctx, &r, p)
		}
		if !errors.Is(err, troupe.ErrChanged) {
			return p, err
		}
	}
}

func (s *Schedules) read(ctx context.Context, name string) (store.Record, plan, error) {
	r, err := s.records.Record(ctx, kind, name)
	switch {
	case errors.Is(err, troupe.ErrNotFound):
		return r, plan{}, &troupe.UserError{Problem: fmt.Sprintf("there is no schedule %.80q", name),
			Hint: "`troupe schedule` lists them.", Code: troupe.ExitUsage, Err: err}
	case err != nil:
		return r, plan{}, fmt.Errorf("read schedule %s: %w", name, err)
	}
	p, err := planOf(r)
	return r, p, err
}

func planOf(r store.Record) (p plan, err error) {
	if err := json.Unmarshal(r.Value, &p); err != nil {
		return p, fmt.Errorf("read schedule %s: %w", r.Key, err)
	}
	p.Version = cmp.Or(p.Version, r.Version)
	return p, nil
}

func (s *Schedules) write(ctx context.Context, r *store.Record, p plan) (err error) {
	if r.Value, err = json.Marshal(p); err == nil {
		r.Version, err = s.records.PutRecord(ctx, *r)
	}
	if err != nil {
		return fmt.Errorf("write schedule %s: %w", r.Key, err)
	}
	return nil
}

// told is a schedule as callers are told of it.
func (s *Schedules) told(ctx context.Context, p plan) (wire.Schedule, error) {
	serving, err := host.Serving(ctx, s.records, s.trees)
	if err != nil {
		return wire.Schedule{}, err
	}
	return s.tell(ctx, p, serving)
}

func (s *Schedules) tell(ctx context.Context, p plan, serving [][]string) (wire.Schedule, error) {
	out := wire.Schedule{ScheduleTerms: p.ScheduleTerms, By: p.By, Paused: p.Paused, Next: p.Next, Last: p.Last,
		Queued: len(p.Owed)}
	if p.Paused != "" {
		out.Next = time.Time{}
	}
	if !slices.ContainsFunc(serving, func(f []string) bool { return troupe.WithinAny(p.Begin.Cwd, f) }) {
		out.Unserved = "no server is there (troupe serve, troupe worker)"
		if len(serving) > 0 {
			out.Unserved = "no process has the folder " + p.Begin.Cwd
		}
	}
	var err error
	if out.Last != nil && out.Last.Root != "" {
		if _, out.Last.Status, _, err = s.trees.Spent(ctx, out.Last.Root); err != nil {
			return out, err
		}
	}
	_, zone, err := momentsOf(p.When, p.Since)
	if err != nil || p.Day != dayOf(s.now(), zone) {
		return out, err
	}
	out.RunsToday = len(p.Today)
	for _, b := range p.Today {
		spent, _, _, err := s.trees.Spent(ctx, b.ID)
		if err != nil {
			return out, err
		}
		out.CostToday += spent.Dollars()
	}
	return out, nil
}

func dayOf(t time.Time, zone *time.Location) string { return t.In(zone).Format(time.DateOnly) }
