package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/sqlite"
	"github.com/troupe-dev/troupe/internal/turn"
	"github.com/troupe-dev/troupe/internal/wire"
)

// checkPatience is how long the doctor looks at a database; a large one takes longer than a person waits.
const checkPatience = 10 * time.Second

// checkDatabase looks for damage: in the file, and in what the logs say.
func (a machine) checkDatabase(ctx context.Context, c *wire.Diagnosis) error {
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	torn, err := a.app.file.TornLogs()
	if err != nil {
		return err
	}
	for _, copied := range torn {
		c.Problems = append(c.Problems, fmt.Sprintf("%s is a log of the database that was damaged: the ends of some "+
			"sessions were lost with it. Remove it when you do not need it any more.", copied))
	}
	d, err := damageOf(ctx, a.app.file)
	c.Database.Checked, c.Database.Damage = d.whole, d.found
	if len(d.found) > 0 {
		c.Problems = append(c.Problems, fmt.Sprintf("the database %s is damaged. `troupe doctor --repair` saves what "+
			"can be read into a new file and keeps the damaged one beside it.", c.Database.Path))
	}
	return err
}

// damage is what is damaged of a database.
type damage struct {
	found []string
	whole bool // there was time to look at all of it
}

// damageOf checks a database until ctx is over: the file, then each log, the newest trees first.
func damageOf(ctx context.Context, db *sqlite.Store) (d damage, err error) {
	d.found, d.whole, err = db.Check(ctx)
	if err != nil || !d.whole {
		return d, err
	}
	var all []troupe.Session
	err = db.View(ctx, func(r store.Reader) (err error) {
		all, err = r.Sessions(store.Filter{Newest: true})
		return err
	})
	if errors.Is(err, troupe.ErrDamaged) {
		d.found = append(d.found, "the sessions cannot be listed")
		return d, nil
	}
	for _, s := range all {
		if err != nil {
			break
		}
		if ctx.Err() != nil {
			d.whole = false
			return d, nil
		}
		// A view of its own each: a failure ends the view it happens in.
		err = db.View(ctx, func(r store.Reader) error { return checkLog(r, s.ID) })
		switch {
		case errors.Is(err, troupe.ErrDamaged):
			d.found, err = append(d.found, fmt.Sprintf("session %s: %v", s.ID, briefly(err))), nil
		case errors.Is(err, troupe.ErrNotFound), ctx.Err() != nil:
			err = nil // it was removed meanwhile, or there is no more time
		}
	}
	return d, err
}

// briefly is an error without what to do about it.
func briefly(err error) string {
	var u *troupe.UserError
	if errors.As(err, &u) {
		return "its log cannot be read" // the file and what to do are told of it as a whole
	}
	return err.Error()
}

// checkLog reads a log, and compares its session with what it says.
func checkLog(r store.Reader, id troupe.SessionID) error {
	s, err := r.Session(id)
	if err != nil {
		return err
	}
	if _, err := r.Tree(s.Root); err != nil {
		return err
	}
	log, err := r.Events(id, 0, 0)
	if err != nil {
		return err
	}
	st, err := turn.Fold(log)
	if err != nil {
		return err
	}
	said := st.Session
	if s.Root != said.Root || s.Parent != said.Parent || s.Name != said.Name || s.Seq != said.Seq ||
		s.Depth != said.Depth || s.Coord != said.Coord || s.Status != said.Status || s.Run != said.Run ||
		s.Tally != said.Tally {
		return fmt.Errorf("%w: its row and its log differ", troupe.ErrDamaged)
	}
	return nil
}

// Repair puts what can be read of a damaged database into a new one in its place. One that is not damaged
// is left as it is: then there is no Damaged file in what it came to.
func Repair(ctx context.Context, env Env) (wire.Repair, error) {
	dirs, err := config.FindDirs(env.Lookup)
	if err != nil {
		return wire.Repair{}, err
	}
	out := wire.Repair{Database: dirs.Database()}
	if _, err := os.Stat(out.Database); err != nil {
		return out, &troupe.UserError{Problem: "there is no database to repair: " + err.Error(),
			Hint: "The first run makes one.", Err: err}
	}
	db, err := sqlite.Open(ctx, out.Database, sqlite.Options{})
	switch {
	case errors.Is(err, troupe.ErrDamaged):
	case err != nil:
		return out, err
	default:
		out.Torn = db.Torn()
		d, err := damageOf(ctx, db)
		// What cannot be moved into a damaged file stays in its log, which the repair reads.
		if closed := db.Close(); err == nil && len(d.found) == 0 {
			err = closed
		}
		if err != nil || len(d.found) == 0 {
			return out, err
		}
	}
	r, err := sqlite.Repair(ctx, out.Database, rebuild(env.Now()))
	if err != nil {
		return out, err
	}
	out.Damaged, out.Whole, out.Events, out.EventsLost = r.Damaged, r.Whole, r.Events, r.EventsLost
	out.Mail, out.Records, out.Lost, out.BadRows, out.UnknownRows = r.Mail, r.Records, r.Lost, r.BadRows, r.UnknownRows
	for _, c := range r.Cut {
		out.Cut = append(out.Cut, wire.CutSession{ID: c.ID, Name: c.Name, Why: c.Why})
	}
	return out, nil
}
