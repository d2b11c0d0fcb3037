package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/sandbox"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// olderThan lists the root sessions of which nothing is at work and in which nothing has
// happened since. What was archived is to be kept.
func (a trees) olderThan(ctx context.Context, limit time.Time) ([]troupe.Session, error) {
	var out []troupe.Session
	var roots []troupe.Session
	last := make(map[troupe.SessionID]time.Time)
	err := a.store.View(ctx, func(r store.Reader) error {
		var err error
		if roots, err = r.Sessions(store.Filter{RootsOnly: true, Archived: new(false)}); err != nil {
			return err
		}
		for _, s := range roots {
			if last[s.ID], err = lastEvent(r, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for old sessions: %w", err)
	}
	for _, s := range roots {
		if !last[s.ID].Before(limit) || !s.AsleepAt.IsZero() { // what was put away is to be found again
			continue
		}
		t, err := a.tree(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		if !t.Running { // one that a process has in hand is not old, however quiet it is
			out = append(out, s)
		}
	}
	return out, nil
}

// removeExpired removes the sessions that the settings do not keep any longer. It is done after what ran here has
// ended, so that nothing is removed that was about to be gone on with, and keeps nobody from leaving.
func (a *App) removeExpired(ctx context.Context) {
	if a.settings.Home.KeepDays == 0 {
		return
	}
	old, err := a.trees.olderThan(ctx, a.env.Now().Add(-time.Duration(a.settings.Home.KeepDays)*24*time.Hour))
	for _, s := range old {
		err = errors.Join(err, runs{bound{app: a}}.remove(ctx, s.ID))
	}
	if err != nil {
		a.env.Log.Warn("remove old sessions", "err", err)
	}
}

func anyLive(sessions []troupe.Session) bool {
	for _, s := range sessions {
		if s.Status.Live() {
			return true
		}
	}
	return false
}

// lastEvent is when something last happened in any session of a tree.
func lastEvent(r store.Reader, root troupe.Session) (time.Time, error) {
	all, err := r.Sessions(store.Filter{Root: root.ID})
	if err != nil {
		return time.Time{}, err
	}
	var at time.Time
	for _, s := range all {
		events, err := r.Events(s.ID, s.Seq-1, 1)
		if err != nil {
			return time.Time{}, err
		}
		for _, e := range events {
			if e.At.After(at) {
				at = e.At
			}
		}
	}
	return at, nil
}

// settle puts back what commands changed in protected places while their Troupe was killed. Each command line that
// opens the home does it, before anything runs.
func settle(a *App) {
	restored, err := sandbox.Settle(resolved(a.dirs.Ledgers()))
	for _, path := range restored {
		a.warnings = append(a.warnings, path+" was put back as it was before a command whose troupe was killed; "+
			"what was there instead is beside it, with the ending .set-aside")
	}
	if err != nil {
		a.warnings = append(a.warnings, "what a command of a killed troupe left: "+err.Error())
	}
}

// tidyMerges removes what killed merges have left. Whatever begins to host does it, and whoever looks at worktrees.
func tidyMerges(ctx context.Context, a *App) {
	if err := worktree.Tidy(ctx, a.keeper); err != nil {
		a.env.Log.Warn("remove what killed merges have left", "err", err)
	}
}

// sweepAfter is how old a folder of a session must be before it is taken for left over: a tree
// that is being born has its folder before others can see it.
const sweepAfter = time.Hour

// removeOrphans removes what sessions left that are gone: their processes were killed, or it could not be removed then.
// It is called once by a process that begins to host, beside its work; whatever it does not manage is left to the next.
func (a *App) removeOrphans(ctx context.Context) {
	sweepLeft(ctx, a)
	for _, all := range []string{a.dirs.Outputs(), scratchpadsOf(a).all, memoryData(a.dirs)} {
		if all != "" {
			removeOrphansIn(ctx, a, all)
		}
	}
}

func removeOrphansIn(ctx context.Context, a *App, all string) {
	dirs, err := os.ReadDir(all)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			a.env.Log.Warn("look for what sessions left that are gone", "err", err)
		}
		return
	}
	for _, d := range dirs {
		if ctx.Err() != nil {
			return
		}
		info, err := d.Info()
		id, ok := troupe.ParseSessionID(d.Name())
		if err != nil || !ok || !d.IsDir() || a.env.Now().Sub(info.ModTime()).Abs() < sweepAfter {
			continue
		}
		if _, err := a.trees.session(ctx, id); !isNotFound(err) {
			continue
		}
		if err := disk.RemoveTree(filepath.Join(all, d.Name())); err != nil {
			a.env.Log.Warn("remove what a session left that is gone", "session", id, "err", err)
		}
	}
}
