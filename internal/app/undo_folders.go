package app

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/content"
	"github.com/troupe-dev/troupe/internal/tool/files"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// What changed in a folder that was made for an agent is known from its checkpoints, whatever changed it. They stand in
// the place of the writes of tools there, which they have too. What no checkpoint has yet is known from the tools
// alone.

// ownFolder is what the logs of a tree say of one such folder.
type ownFolder struct {
	ws     troupe.Workspace
	saved  []checkpoint
	past   []step  // from checkpoint to checkpoint
	steps  []int   // of the tools, by their places in the history, that a checkpoint has
	ran    []place // commands whose changes a checkpoint has
	gone   bool    // the folder is not there any more
	unread bool    // what its checkpoints hold is not to be had
}

// checkpoint is one of an agent that works in the folder.
type checkpoint struct {
	at      time.Time // when that which it has was done
	turn    int
	agent   string
	tree    string
	changed []troupe.FileChanged // for the lines
	behind  bool                 // it came from another home, and only what follows is compared with it
}

// pasts is what the workspaces of the home keep of their checkpoints.
type pasts interface {
	Past(ctx context.Context, ws troupe.Workspace, trees []string) (worktree.Past, error)
	Content(ctx context.Context, ws troupe.Workspace, id string) ([]byte, error)
}

// past is where contents are had that files held: those that tools replaced are kept with the tree, the others are in
// checkpoints.
type past struct {
	store  *content.Store
	keeper pasts
	blobs  map[string]blob // by the hash of the content
}

// blob is a content in the keeper of a workspace.
type blob struct {
	ws troupe.Workspace
	id string
}

func (p past) get(ctx context.Context, hash string) ([]byte, error) {
	hash, _ = files.ContentOf(hash)
	data, err := p.store.Get(hash)
	b, saved := p.blobs[hash]
	if err == nil || !saved {
		return data, err
	}
	if data, err = p.keeper.Content(ctx, b.ws, b.id); err == nil && troupe.ContentHash(data) != hash {
		err = content.ErrDamaged
	}
	return data, err
}

// folder is the one that the session works in, if it was made for an agent; else nil.
func (l *logReader) folder() *ownFolder {
	if !l.work.Kind.Made() {
		return nil
	}
	f := l.h.folders[l.work.Owner]
	if f == nil {
		f = &ownFolder{ws: l.work}
		l.h.folders[l.work.Owner] = f
	}
	return f
}

// mark notes when an event was, and in which turn: a checkpoint has what was done by then.
type mark struct {
	seq  int64
	at   time.Time
	turn int
}

// unsaved is what has been done in the folder since the last checkpoint.
type unsaved struct {
	seq int64
	do  func(f *ownFolder) // notes that a checkpoint has it
}

// checkpoint notes one that has all up to an event; 0: up to now.
func (l *logReader) checkpoint(c troupe.Checkpoint, after int64) {
	f := l.folder()
	if f == nil || c.Tree == "" || len(l.marks) == 0 {
		return
	}
	at := l.marks[len(l.marks)-1]
	for i := len(l.marks) - 1; i >= 0 && after > 0 && l.marks[i].seq >= after; i-- {
		at = l.marks[i]
	}
	f.saved = append(f.saved, checkpoint{at.at, at.turn, l.agent, c.Tree, c.Changed,
		l.seq < l.wall})
	l.unsaved = slices.DeleteFunc(l.unsaved, func(u unsaved) bool {
		if after == 0 || u.seq <= after {
			u.do(f)
			return true
		}
		return false
	})
}

// readFolders has the steps of checkpoints take the place of those of tools.
func (h *history) readFolders(ctx context.Context, keeper pasts) error {
	h.ownSteps()
	h.past.keeper, h.past.blobs = keeper, make(map[string]blob)
	covered := make(map[int]bool)
	var more []step
	for _, owner := range slices.Sorted(maps.Keys(h.folders)) {
		f := h.folders[owner]
		slices.SortStableFunc(f.saved, func(a, b checkpoint) int { return a.at.Compare(b.at) })
		var trees []string
		for _, c := range f.saved {
			trees = append(trees, c.tree)
		}
		past, err := keeper.Past(ctx, f.ws, trees)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if f.gone = !past.There; err != nil {
			f.unread = true
			_, err := os.Lstat(f.ws.Top)
			f.gone = errors.Is(err, fs.ErrNotExist)
		}
		if !f.unread {
			f.past = h.stepsOf(f, past)
			more = append(more, f.past...)
			for _, i := range f.steps {
				covered[i] = true
			}
		}
		for _, p := range f.ran {
			c := &h.turns[p.turn-1].Commands[p.index]
			c.Known = c.Known || f.gone || !f.unread
		}
	}
	var own []step
	for i, s := range h.steps {
		if !covered[i] && !(s.of != nil && h.saved(&s)) {
			own = append(own, s)
		}
	}
	h.steps = append(own, more...)
	return nil
}

// stepsOf are the changes from checkpoint to checkpoint. What was undone in between is no work of the agents: the next
// checkpoint is compared with what that left.
func (h *history) stepsOf(f *ownFolder, past worktree.Past) (out []step) {
	entries := h.entries
	had, undone := make(map[string]worktree.Version), make(map[string]undoneFile)
	for i, c := range f.saved {
		for len(entries) > 0 && entries[0].At.Before(c.at) {
			for _, file := range entries[0].Files {
				if entries[0].Done && troupe.Within(file.Path, f.ws.Top) {
					undone[file.Path] = file
				}
			}
			entries = entries[1:]
		}
		base := step{at: c.at, turn: c.turn, agent: c.agent, folder: f.ws.Owner, bit: true}
		for _, d := range past.Steps[i] {
			s := base
			s.path, s.from, s.to, s.odd = d.Path, d.From.Hash, d.To.Hash, d.From.Odd || d.To.Odd
			s.exec = d.From.Exec
			s.added, s.removed = c.lines(f.ws.Top, d.Path)
			if now, ok := undone[d.Path]; ok {
				if s.from = now.To; now.Exec { // it was changed, too
					s.exec = !executable(os.FileMode(now.Mode))
				}
				delete(undone, d.Path)
			}
			had[d.Path] = d.To
			for _, v := range []worktree.Version{d.From, d.To} {
				h.past.blobs[v.Hash] = blob{f.ws, v.ID}
			}
			if !c.behind && (s.from != s.to || s.exec != d.To.Exec) {
				out = append(out, s)
			}
		}
		for _, path := range slices.Sorted(maps.Keys(undone)) {
			if was, known := had[path]; known && was.Hash != undone[path].To { // it was made again just as it had been
				s := base
				s.path, s.from, s.to, s.exec = path, undone[path].To, was.Hash, was.Exec
				out = append(out, s)
			}
		}
		clear(undone)
	}
	return out
}

// folderOf is the folder of an agent's own that a path lies in; "" if it lies in none. One that is there counts before
// one that had its name earlier.
func (h *history) folderOf(path string) (owner troupe.SessionID) {
	for id, f := range h.folders {
		if troupe.Within(path, f.ws.Top) && (owner == "" || !f.gone) {
			owner = id
		}
	}
	return owner
}

// saved finds the folder that a merge wrote into, if it is an agent's own, and reports whether a checkpoint of it has
// what was written. That is told from what checkpoints hold, not from when they were made: one that is made beside a
// merge may have its files or not.
func (h *history) saved(s *step) bool {
	s.folder = h.folderOf(s.path)
	f := h.folders[s.folder]
	if f == nil || f.unread {
		return false
	}
	before := ""
	for _, c := range f.past {
		switch {
		case c.path != s.path:
		case c.at.After(s.at):
			return true
		default:
			before = c.to
		}
	}
	return before != "" && before == s.to
}

// lines are those that a checkpoint counted of a file.
func (c checkpoint) lines(top, path string) (added, removed int) {
	for _, f := range c.changed {
		if top+"/"+f.Path == path {
			return f.Added, f.Removed
		}
	}
	return 0, 0
}

// goneSince are the folders in which something was changed since a turn and which are not there any more.
func (h *history) goneSince(turn int) (out []wire.GoneFolder) {
	for _, owner := range slices.Sorted(maps.Keys(h.folders)) {
		f := h.folders[owner]
		changed := func(s step) bool { return s.folder == owner && s.turn >= turn }
		if f.gone && slices.ContainsFunc(h.steps, changed) {
			out = append(out, wire.GoneFolder{Folder: f.ws.Folder, Name: f.ws.Name, Branch: f.ws.Branch,
				Session: f.ws.Owner})
		}
	}
	return out
}
