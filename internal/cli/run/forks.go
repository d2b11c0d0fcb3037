package run

import (
	"context"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// ofForks has a report say what forks came to, where nothing else was done: people asked for them while no process ran
// the session, and what the main agent said before is no news.
func ofForks(ctx context.Context, a api.API, begun wire.Begun, r *wire.Report) error {
	before := func(id troupe.SessionID) wire.Session {
		i := slices.IndexFunc(begun.Before, func(s wire.Session) bool { return s.ID == id })
		if i < 0 {
			return wire.Session{}
		}
		return begun.Before[i]
	}
	var said []string
	failed := false
	for _, now := range r.Agents {
		was := before(now.ID)
		if now.ID == r.SessionID && (was.ID == "" || now.Run != was.Run || was.Status.Live()) {
			return nil // the main agent has worked
		}
		if now.Type != troupe.ForkAgent || was.ID != "" && !was.Status.Live() {
			continue
		}
		fork, err := a.Find(ctx, string(now.ID), now.Cwd)
		if err != nil {
			return err
		}
		said = append(said, fork.Result)
		if fork.Status != troupe.Completed && !failed {
			failed = true
			r.Status, r.Cause, r.Error = fork.Status, fork.Cause, fork.Path+": "+fork.Error
		}
	}
	if len(said) > 0 {
		r.Result, r.Structured = strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), "\n\n"),
			nil
	}
	return nil
}
