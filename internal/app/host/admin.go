package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

const kindPaused = "paused"

// Admin looks at what keeps the trees of a database going, and changes it, from any process of the database.
type Admin struct {
	Records store.Records
	Trees   Trees
	Now     func() time.Time
	By      string // the name of who asks
}

// Hosted lists the processes that live, what is kept going, and where nothing is begun. Which process has a tree, and
// what the tree is about, is left to the caller.
func (a Admin) Hosted(ctx context.Context) (out wire.Hosted, err error) {
	out = wire.Hosted{Workers: []wire.Worker{}, Sessions: []wire.KeptGoing{}, Paused: []wire.Paused{}}
	all, err := workers(ctx, a.Records, a.Trees)
	if err != nil {
		return out, err
	}
	for _, w := range all {
		folders := w.Folders
		if folders == nil {
			folders = []string{}
		}
		out.Workers = append(out.Workers, wire.Worker{ID: troupe.OwnerID(w.r.Key), PID: w.PID, Host: w.Host,
			Reached: w.Socket, Folders: folders, Since: w.Since, Draining: w.Draining})
	}
	if out.Paused, err = Paused(ctx, a.Records); err != nil {
		return out, err
	}
	records, err := a.Records.Records(ctx, kind, "", 0)
	if err != nil {
		return out, fmt.Errorf("list what is kept going: %w", err)
	}
	for _, r := range records {
		v := hostedOf(r)
		k := wire.KeptGoing{ID: troupe.SessionID(r.Key), Since: v.Since, Tries: v.Tries, Failed: v.Failed,
			Why: cmp.Or(v.Parked, v.Why)}
		stand, err := a.Trees.Stand(ctx, k.ID)
		if ctx.Err() != nil || errors.Is(err, troupe.ErrUnavailable) {
			return out, err
		}
		if err != nil { // its log cannot be read: the others are told of
			stand.Standing, k.Why = Left, err.Error()
		}
		k.Cwd, k.State = stand.Cwd, stateOf(stand.Standing, v.Parked != "",
			slices.ContainsFunc(out.Paused, func(p wire.Paused) bool {
				return troupe.Within(stand.Cwd, p.Folder)
			}))
		out.Sessions = append(out.Sessions, k)
	}
	return out, nil
}

// stateOf says it as people read it.
func stateOf(s Standing, parked, paused bool) string {
	switch s {
	case Unborn:
		return "begins"
	case Here, There:
		return "at work"
	case Rests:
		return "rests"
	case Left:
		switch {
		case parked:
			return "parked"
		case paused:
			return "paused"
		}
		return "waits"
	case Asleep, Over:
	}
	return "over"
}

// Drain has a process take on nothing any more, or takes that back.
func (a Admin) Drain(ctx context.Context, d wire.Drain) error {
	for {
		if err := a.drain(ctx, d); !errors.Is(err, troupe.ErrChanged) {
			return err
		}
	}
}

func (a Admin) drain(ctx context.Context, d wire.Drain) error {
	all, err := workers(ctx, a.Records, a.Trees)
	if err != nil {
		return err
	}
	found := slices.DeleteFunc(slices.Clone(all), func(w announced) bool {
		return !strings.HasPrefix(w.r.Key, string(d.Worker))
	})
	if len(found) != 1 {
		problem, kind := fmt.Sprintf("no process that runs sessions is %.64q", d.Worker), troupe.ErrNotFound
		if len(found) > 1 {
			problem, kind = fmt.Sprintf("%d processes begin with %.64q", len(found), d.Worker), troupe.ErrAmbiguous
		}
		return &troupe.UserError{Problem: problem, Hint: "`troupe admin` lists them.", Err: kind}
	}
	w := found[0]
	if w.Draining = nil; !d.Cancel {
		w.Draining = &wire.Draining{By: a.By, Since: a.Now().UTC()}
		if d.WithinMS > 0 {
			w.Draining.Until = a.Now().Add(time.Duration(d.WithinMS) * time.Millisecond).UTC()
		}
	}
	if w.r.Value, err = json.Marshal(w.worker); err == nil {
		_, err = a.Records.PutRecord(ctx, w.r)
	}
	if err != nil {
		return fmt.Errorf("drain process %d on %s: %w", w.PID, w.Host, err)
	}
	return nil
}

// Pause has nothing begun and nothing taken up in a folder, or ends that.
func (a Admin) Pause(ctx context.Context, p wire.Pause) error {
	r, err := a.Records.Record(ctx, kindPaused, p.Where)
	there := err == nil
	if err != nil && !errors.Is(err, troupe.ErrNotFound) {
		return fmt.Errorf("look whether %s is paused: %w", p.Where, err)
	}
	switch {
	case p.End && !there:
		return &troupe.UserError{Problem: p.Where + " is not paused", Hint: "`troupe admin` lists what is.",
			Err: troupe.ErrNotFound}
	case p.End:
		return forget(ctx, a.Records, r)
	case there:
		return nil
	}
	r = store.Record{Kind: kindPaused, Key: p.Where}
	if r.Value, err = json.Marshal(wire.Paused{Folder: p.Where, By: a.By, Since: a.Now().UTC()}); err == nil {
		_, err = a.Records.PutRecord(ctx, r)
	}
	if err != nil && !errors.Is(err, troupe.ErrChanged) {
		return fmt.Errorf("pause %s: %w", p.Where, err)
	}
	return nil
}

// Paused lists the folders in which nothing is begun or taken up.
func Paused(ctx context.Context, records store.Records) ([]wire.Paused, error) {
	all, err := records.Records(ctx, kindPaused, "", 0)
	if err != nil {
		return nil, fmt.Errorf("list what is paused: %w", err)
	}
	out := make([]wire.Paused, len(all))
	for i, r := range all {
		if err := json.Unmarshal(r.Value, &out[i]); err != nil { // to be on the safe side; resume removes it
			out[i] = wire.Paused{Folder: r.Key, By: "? (its record cannot be read)"}
		}
	}
	return out, nil
}

// refusePaused refuses to begin something in a folder that is paused.
func refusePaused(ctx context.Context, records store.Records, cwd string) error {
	all, err := Paused(ctx, records)
	for _, p := range all {
		if troupe.Within(cwd, p.Folder) {
			return &troupe.UserError{
				Problem: fmt.Sprintf("%.64s has paused %s since %s: nothing is begun there", p.By, p.Folder,
					p.Since.Format("2006-01-02 15:04 MST")),
				Hint: "An admin ends that: troupe admin resume " + p.Folder, Err: troupe.ErrBlocked}
		}
	}
	return err
}
