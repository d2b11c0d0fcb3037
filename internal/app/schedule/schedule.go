// Package schedule begins runs by itself: at moments that people set, or when something is delivered to a webhook, with
// the rights that they have then.
//
// A record for each schedule holds what a person says of it and how it stands. Every process that hosts looks at all of
// them once a second. What is due is claimed by writing the record: of several processes one is first. The claim names
// the id of the run before that is born, so that a process which is killed between the two, or in the middle of the
// birth, leaves what another one carries out, and no run is born twice. A moment is never gone back behind: where the
// clock is set back, nothing begins until it has passed the last moment again.
//
// A webhook is a schedule whose moments are deliveries. What was delivered stands in a record of its own, from which
// the id of the run follows, before it is owed; it says too what came of it, so that what comes twice begins nothing
// twice.
//
// Only a process that has the folder begins a run there. Where no living one has it for a while, or the user may not
// begin it any more, the record says why; after three times in a row the schedule is paused. What fails otherwise, such
// as the database, is tried again for as long as the moment is worth it, and counts nothing.
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
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/host"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

const (
	kind     = "schedule"
	kindHook = "webhook"
	// mostTerms bounds what a record holds, in bytes of JSON, and the others how many there are of a kind: every
	// process that hosts reads all of them once a second, which are 8 MB of each at the most.
	mostTerms             = 16_000
	mostOfUser, mostInAll = 50, 500
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
	// Hook is set of a webhook, and never changed in place; Arrived is to it what Owed is to a schedule.
	Hook    *hook     `json:"hook,omitempty"`
	Arrived []arrival `json:"arrived,omitempty"`
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
	Misses []Miss            `json:"misses,omitempty"` // the last of them
	broken string            // why its record cannot be read
}

// claim is a run that is about to begin.
type claim struct {
	Root  troupe.SessionID `json:"root"`
	At    time.Time        `json:"at"`
	Owner troupe.OwnerID   `json:"owner"` // who begins it; "": who did takes on nothing any more
	// Delivery is the key of the record of what was delivered.
	Delivery string `json:"delivery,omitempty"`
	begun
	// Tries is how often it could not begin, Tried when that was last, and Why why not.
	Tries int       `json:"tries,omitempty"`
	Tried time.Time `json:"tried,omitzero"`
	Why   string    `json:"why,omitempty"`
}

// begun is a run of a day.
type begun struct {
	ID troupe.SessionID `json:"id"`
	// Most is what it may cost; 0: it has no limit. Rest: that is what was left of the day.
	Most troupe.Money `json:"most,omitempty"`
	Rest bool         `json:"rest,omitempty"`
	Of   time.Time    `json:"of,omitzero"` // its moment
}

// plans are all of a kind.
type plans struct {
	kind    string // people know them by it too
	records store.Records
	trees   Trees
	now     func() time.Time
}

// Schedules are those of one database.
type Schedules struct{ plans }

// New makes the schedules that records hold.
func New(records store.Records, trees Trees, now func() time.Time) *Schedules {
	return &Schedules{plans{kind, records, trees, now}}
}

// List lists all, by name.
func (s *Schedules) List(ctx context.Context) ([]wire.Schedule, error) {
	return list(ctx, s.plans, s.told)
}

func list[T any](ctx context.Context, s plans, told func(context.Context, plan, serving) (T, error)) ([]T, error) {
	all, err := s.records.Records(ctx, s.kind, "", 0)
	if err != nil {
		return nil, fmt.Errorf("list the %ss: %w", s.kind, err)
	}
	has, err := host.Serving(ctx, s.records, s.trees)
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, len(all))
	for _, r := range all {
		p, err := planOf(r)
		if err != nil && p.broken == "" {
			return nil, err
		}
		p.Begin = inBrief(p.Begin)
		one, err := told(ctx, p, has)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// inBrief is what begins, as a list tells it: of the texts there is the first line of the prompt.
func inBrief(b wire.Begin) wire.Begin {
	first, rest, _ := strings.Cut(strings.TrimSpace(b.Prompt), "\n")
	if b.Prompt = wire.Cut(first); rest != "" {
		b.Prompt = strings.TrimSuffix(b.Prompt, "…") + "…"
	}
	b.AppendText, b.Agents, b.OutputSchema, b.Allow, b.Deny = "", "", nil, nil, nil
	return b
}

// refuseMany refuses one more than there may be.
func (s plans) refuseMany(ctx context.Context, by plan) error {
	all, err := s.records.Records(ctx, s.kind, "", 0)
	if err != nil {
		return fmt.Errorf("count the %ss: %w", s.kind, err)
	}
	own := 0
	for _, r := range all {
		if p, err := planOf(r); err == nil && p.By == by.By && p.Owner == by.Owner {
			own++
		}
	}
	if len(all) >= mostInAll || own >= mostOfUser {
		return &troupe.UserError{Problem: fmt.Sprintf("there are %d %ss, %d of them yours, and there may be %d, and "+
			"%d of a user", len(all), s.kind, own, mostInAll, mostOfUser),
			Hint: "Remove what is not needed any more: troupe " + s.kind, Code: troupe.ExitUsage}
	}
	return nil
}

// serving are the folders of each process that takes on what works there.
type serving [][]string

// unserved is why no process begins what a plan says; "": one does.
func (has serving) unserved(p plan) string {
	switch {
	case slices.ContainsFunc(has, func(f []string) bool { return troupe.WithinAny(p.Begin.Cwd, f) }):
		return ""
	case len(has) > 0:
		return "no process has the folder " + p.Begin.Cwd
	}
	return "no server is there (troupe serve, troupe worker)"
}

// tell tells of a plan as it stands now.
func tell[T any](ctx context.Context, s plans, p plan, told func(context.Context, plan, serving) (T, error)) (out T,
	err error) {
	has, err := host.Serving(ctx, s.records, s.trees)
	if err != nil {
		return out, err
	}
	return told(ctx, p, has)
}

// One is a schedule by its name.
func (s *Schedules) One(ctx context.Context, name string) (wire.Schedule, error) {
	_, p, err := s.read(ctx, name)
	if err != nil && p.broken == "" {
		return wire.Schedule{}, err
	}
	return tell(ctx, s.plans, p, s.told)
}

// Set makes a schedule, or changes the terms of one. What it begins was checked.
func (s *Schedules) Set(ctx context.Context, c troupe.Caller, t wire.ScheduleTerms) (wire.Schedule, error) {
	now := s.now().UTC()
	m, err := check(t, now)
	if err != nil {
		return wire.Schedule{}, err
	}
	p, err := s.set(ctx, c, t.Name, t.Version, func(p *plan) {
		p.ScheduleTerms, p.Since, p.Next, p.Owed, p.Failed = t, now, m.after(now), nil, 0
	})
	if err != nil {
		return wire.Schedule{}, err
	}
	return tell(ctx, s.plans, p, s.told)
}

// set makes a plan, or gives the one that has a version other terms.
func (s plans) set(ctx context.Context, c troupe.Caller, name string, version int64, fn func(*plan)) (plan, error) {
	for {
		r, p, err := s.read(ctx, name)
		switch isNew := errors.Is(err, troupe.ErrNotFound); {
		case err != nil && !isNew:
			return p, err
		case isNew && version != 0:
			return p, &troupe.UserError{Problem: fmt.Sprintf("the %s %q is gone", s.kind, name),
				Hint: "Someone has removed it since you looked.", Code: troupe.ExitUsage, Err: troupe.ErrChanged}
		case isNew:
			r = store.Record{Kind: s.kind, Key: name}
			p = plan{By: c.Name, Owner: c.Right == troupe.RightOwner}
			if err := s.refuseMany(ctx, p); err != nil {
				return p, err
			}
		case version == 0:
			return p, &troupe.UserError{Problem: fmt.Sprintf("there is a %s %q already", s.kind, name),
				Hint: "Choose another name, or give --replace.", Code: troupe.ExitUsage, Err: troupe.ErrExists}
		case version != p.Version:
			return p, &troupe.UserError{
				Problem: fmt.Sprintf("the %s %q was changed since you looked at it", s.kind, name),
				Hint:    fmt.Sprintf("Look at it again: troupe %s show %s", s.kind, name), Code: troupe.ExitUsage,
				Err: troupe.ErrChanged}
		default:
			if err := s.mayChange(c, p); err != nil {
				return p, err
			}
		}
		fn(&p)
		p.Version = 0
		switch err := s.write(ctx, &r, p); {
		case errors.Is(err, troupe.ErrChanged):
			continue
		case err != nil:
			return p, err
		}
		p.Version = r.Version
		return p, nil
	}
}

var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// check refuses terms that cannot hold, and says which moments they name.
func check(t wire.ScheduleTerms, now time.Time) (moments, error) {
	m, _, err := momentsOf(t.When, now)
	switch {
	case !name.MatchString(t.Name):
		return nil, noName(kind, t.Name)
	case err != nil:
		return nil, err
	case m.after(now).IsZero():
		return nil, unusable("the moment has passed", "Name one that is to come.")
	case t.Overlap != "" && !slices.Contains(wire.Overlaps(), t.Overlap):
		return nil, unusable(fmt.Sprintf("there is no overlap %q", t.Overlap),
			"There are skip, queue, cancel and allow.")
	case t.CatchUp != "" && !slices.Contains(wire.CatchUps(), t.CatchUp):
		return nil, unusable(fmt.Sprintf("there is no catch_up %q", t.CatchUp), "There are one, none and all.")
	}
	return m, checkBegin(kind, t)
}

func noName(kind, name string) error {
	return unusable(fmt.Sprintf("%q is no name of a %s", name, kind),
		"It is letters, digits, dots, dashes and underscores, 64 at the most.")
}

// checkBegin refuses what cannot begin by itself, and limits that are none.
func checkBegin(kind string, t wire.ScheduleTerms) error {
	b := t.Begin
	text, err := json.Marshal(t)
	switch {
	case err != nil:
		return err
	case t.MaxRunsPerDay < 0 || !(t.MaxCostPerDay >= 0 && t.MaxCostPerDay <= 1e6):
		return unusable("a limit of a day is no amount", "A limit of 0 is none.")
	case b.Resume != "" || b.Continue || b.Wake || b.Idle || b.Attended || b.Name != "" || b.Once != "":
		return unusable("a "+kind+" begins new sessions, without a name, and no person sits by",
			"Leave out what is about another session.")
	case b.Repository != (wire.Repository{}):
		return unusable("a "+kind+" begins in a folder of the server, not in a checkout of a repository",
			"Leave out repo, ref, push and pull_request.")
	case b.Trust:
		return unusable("a "+kind+" does not trust a folder: it would trust what is there by then",
			"Trust it now, with a run of yours.")
	case len(b.Images) > 0 || len(text) > mostTerms:
		return unusable(fmt.Sprintf("what is to begin is too large for a %s: it has %d bytes, %d may be, and "+
			"pictures may not", kind, len(text), mostTerms), "Put it into files of the folder.")
	}
	return nil
}

// mayChange refuses who neither made a schedule nor administers the server.
func (s plans) mayChange(c troupe.Caller, p plan) error {
	own := c.Name == p.By && p.Owner == (c.Right == troupe.RightOwner) // a user may have the owner's name
	if own || c.Right.Covers(troupe.RightAdmin) {
		return nil
	}
	return &troupe.UserError{Problem: fmt.Sprintf("%s has made the %s %q", p.By, s.kind, p.Name),
		Hint: "That user can change it, and admins can.", Code: troupe.ExitPermission}
}

// Remove forgets a schedule. What it began goes on.
func (s *Schedules) Remove(ctx context.Context, c troupe.Caller, name string) error {
	_, err := s.remove(ctx, c, name)
	return err
}

func (s plans) remove(ctx context.Context, c troupe.Caller, name string) (plan, error) {
	for {
		r, p, err := s.read(ctx, name)
		if may := s.mayChange(c, p); err == nil || p.broken != "" && may == nil {
			err = may
		}
		if err != nil {
			return p, err
		}
		err = s.records.DeleteRecord(ctx, s.kind, name, r.Version)
		switch {
		case errors.Is(err, troupe.ErrChanged):
			continue
		case err != nil && !errors.Is(err, troupe.ErrNotFound):
			return p, fmt.Errorf("remove %s %s: %w", s.kind, name, err)
		}
		return p, nil
	}
}

// Pause pauses a schedule, or has it go on from now. What waits to begin is left out.
func (s *Schedules) Pause(ctx context.Context, c troupe.Caller, name string, paused bool) (wire.Schedule, error) {
	p, err := s.pause(ctx, c, name, paused)
	if err != nil {
		return wire.Schedule{}, err
	}
	return tell(ctx, s.plans, p, s.told)
}

func (s plans) pause(ctx context.Context, c troupe.Caller, name string, paused bool) (plan, error) {
	return s.change(ctx, c, name, func(p *plan) error {
		if paused {
			p.Paused, p.Owed, p.Arrived, p.Asked = c.Name, nil, nil, time.Time{}
			return nil
		}
		m, _, err := p.moments()
		if err == nil {
			p.Paused, p.Failed, p.Next = "", 0, m.after(s.now())
		}
		return err
	})
}

// Run has a schedule begin a run now, also if it is paused, and says what came of it.
func (s *Schedules) Run(ctx context.Context, c troupe.Caller, name string) (out wire.Schedule, err error) {
	if out, err = s.One(ctx, name); err == nil && out.Unserved != "" {
		err = &troupe.UserError{Problem: "nothing begins: " + out.Unserved, Hint: "Start one there: troupe serve"}
	}
	if err != nil {
		return out, err
	}
	var asked time.Time
	ask := func() (plan, error) {
		return s.change(ctx, c, name, func(p *plan) error {
			if asked = (time.Time{}); p.Asked.IsZero() { // else another one's turn is first
				for asked = s.now().UTC(); p.knows(asked); {
					asked = asked.Add(1)
				}
				p.Asked = asked
			}
			return nil
		})
	}
	p, err := ask()
	for until := time.Now().Add(askedWithin); err == nil && p.isToBegin(asked); {
		if time.Now().After(until) {
			return out, p.notBegun()
		}
		select {
		case <-time.After(asksAgain):
			if asked.IsZero() {
				p, err = ask()
			} else {
				_, p, err = s.read(ctx, name)
			}
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil {
		out, err = tell(ctx, s.plans, p, s.told)
	}
	if err != nil || slices.ContainsFunc(p.Owed, asked.Equal) {
		return out, err
	}
	return s.cameOf(ctx, p, asked, out)
}

// isToBegin reports whether a run that was asked for is about to begin. What waits for a run of before is not.
func (p *plan) isToBegin(asked time.Time) bool {
	return asked.IsZero() || p.Asked.Equal(asked) || p.Claim != nil && p.Claim.At.Equal(asked) ||
		p.Overlap == wire.OverlapAllow && slices.ContainsFunc(p.Owed, asked.Equal)
}

// knows reports whether another run is of a moment.
func (p *plan) knows(t time.Time) bool {
	return p.Claim != nil && p.Claim.At.Equal(t) || p.Last != nil && p.Last.At.Equal(t) ||
		slices.ContainsFunc(p.Owed, t.Equal) ||
		slices.ContainsFunc(p.Today, func(b begun) bool { return b.Of.Equal(t) })
}

func (p *plan) notBegun() error {
	u := &troupe.UserError{Problem: fmt.Sprintf("no process has begun it within %v", askedWithin),
		Hint: "It begins when one looks: troupe schedule show " + p.Name}
	if p.Claim != nil && p.Claim.Why != "" {
		u.Problem += ": " + p.Claim.Why
		u.Hint = "It is tried again: troupe schedule show " + p.Name
	}
	return u
}

// cameOf tells what came of a run that was asked for, also where others came after it.
func (s *Schedules) cameOf(ctx context.Context, p plan, asked time.Time, out wire.Schedule) (wire.Schedule, error) {
	why := "others came first"
	if l := p.Last; l != nil && l.At.Equal(asked) {
		if l.Why == "" {
			return out, nil
		}
		why = l.Why
	}
	for _, b := range p.Today {
		if b.Of.Equal(asked) {
			_, status, _, err := s.trees.Spent(ctx, b.ID)
			out.Last, out.Queued = &wire.ScheduleRun{At: asked, Root: b.ID, Status: status}, 0
			return out, err
		}
	}
	return out, &troupe.UserError{Problem: "nothing has begun: " + why, Hint: "See troupe schedule show " + p.Name}
}

// change changes how a schedule stands, for who may.
func (s plans) change(ctx context.Context, c troupe.Caller, name string, fn func(*plan) error) (plan, error) {
	for {
		r, p, err := s.read(ctx, name)
		if err == nil {
			err = s.mayChange(c, p)
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

func (s plans) read(ctx context.Context, name string) (store.Record, plan, error) {
	r, err := s.records.Record(ctx, s.kind, name)
	switch {
	case errors.Is(err, troupe.ErrNotFound):
		return r, plan{}, &troupe.UserError{Problem: fmt.Sprintf("there is no %s %.80q", s.kind, name),
			Hint: "`troupe " + s.kind + "` lists them.", Code: troupe.ExitUsage, Err: err}
	case err != nil:
		return r, plan{}, fmt.Errorf("read %s %s: %w", s.kind, name, err)
	}
	p, err := planOf(r)
	return r, p, err
}

func planOf(r store.Record) (p plan, err error) {
	if err = json.Unmarshal(r.Value, &p); err == nil {
		_, _, err = p.moments()
	}
	if p.Name = r.Key; err != nil {
		p.broken, p.Version = fmt.Sprintf("the %s %.80q cannot be read: %v", r.Kind, r.Key, err), r.Version
		return p, &troupe.UserError{Problem: p.broken,
			Hint: "An admin can remove it: troupe " + r.Kind + " remove NAME", Err: troupe.ErrDamaged}
	}
	p.Version = cmp.Or(p.Version, r.Version)
	return p, nil
}

func (s plans) write(ctx context.Context, r *store.Record, p plan) (err error) {
	if r.Value, err = json.Marshal(p); err == nil {
		r.Version, err = s.records.PutRecord(ctx, *r)
	}
	if err != nil {
		return fmt.Errorf("write %s %s: %w", r.Kind, r.Key, err)
	}
	return nil
}

// told is a schedule as callers are told of it.
func (s *Schedules) told(ctx context.Context, p plan, has serving) (wire.Schedule, error) {
	if p.broken != "" {
		return wire.Schedule{ScheduleTerms: wire.ScheduleTerms{Name: p.Name, Version: p.Version}, Broken: p.broken}, nil
	}
	out := wire.Schedule{ScheduleTerms: p.ScheduleTerms, By: p.By, Paused: p.Paused, Next: p.Next,
		Queued: len(p.Owed)}
	out.Claimed = p.Claim.told()
	if p.Paused != "" {
		out.Next = time.Time{}
	}
	at, err := s.standing(ctx, p, has)
	out.Unserved, out.Last, out.RunsToday, out.CostToday = at.unserved, at.last, at.runs, at.cost
	return out, err
}

// standing is how a plan stands.
type standing struct {
	unserved string // why no process begins it
	last     *wire.ScheduleRun
	runs     int // today
	cost     float64
}

func (s plans) standing(ctx context.Context, p plan, has serving) (out standing, err error) {
	out.unserved = has.unserved(p)
	if out.last = p.Last; out.last != nil && out.last.Root != "" {
		if _, out.last.Status, _, err = s.trees.Spent(ctx, out.last.Root); err != nil {
			return out, err
		}
	}
	_, zone, err := p.moments()
	if err != nil || p.Day != dayOf(s.now(), zone) {
		return out, err
	}
	out.runs = len(p.Today)
	for _, b := range p.Today {
		spent, _, _, err := s.trees.Spent(ctx, b.ID)
		if err != nil {
			return out, err
		}
		out.cost += spent.Dollars()
	}
	return out, nil
}

func dayOf(t time.Time, zone *time.Location) string { return t.In(zone).Format(time.DateOnly) }
