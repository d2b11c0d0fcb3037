package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/hidden"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// besideMost is how many folders of agents are looked through for what is hidden in them. All others that were made
// from the project are hidden whole from commands that work beside them.
const besideMost = 32

// settled is how old the list of the folders has to be for another change of it to have another time.
const settled = 100 * time.Millisecond

// made are the folders that agents have, as they are written down. The list is read again when one was added or
// removed.
type made struct {
	mu      sync.Mutex
	changed time.Time
	list    []troupe.Workspace
}

func (m *made) now(a *App) ([]troupe.Workspace, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	info, err := os.Stat(a.dirs.Workspaces())
	if errors.Is(err, fs.ErrNotExist) || a.dirs.Workspaces() == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if at := info.ModTime(); !at.Equal(m.changed) {
		list, whole, err := worktree.Known(keeperOf(a))
		if err != nil {
			return nil, err
		}
		if m.list, m.changed = list, at; !whole || time.Since(at) < settled {
			m.changed = time.Time{}
		}
	}
	return m.list, nil
}

// beside are the folders of other agents that were made from a place's project, or from one of these.
func beside(g *guard, gr *folder) (tops []string, err error) {
	project := gr.hidden.Project()
	if project == "" {
		return nil, nil
	}
	all, err := g.made.now(g.app)
	of := []string{project}
	for more := true; more; {
		more = false
		for _, w := range all {
			if w.Kind.Made() && !slices.Contains(of, w.Top) && troupe.WithinAny(w.Of, of) {
				of, more = append(of, w.Top), true
			}
		}
	}
	return slices.DeleteFunc(of[1:], func(top string) bool { return top == gr.at.Work.Top }), err
}

// hiddenBeside lists what settings hide in the folders of other agents, as it does in one's own.
func hiddenBeside(ctx context.Context, g *guard, gr *folder) (out []string, err error) {
	tops, err := beside(g, gr)
	if err != nil {
		return nil, err
	}
	looked := 0
	for _, top := range tops {
		if !exists(top) {
			continue
		}
		if looked++; looked > besideMost {
			out = append(out, top)
			continue
		}
		h := gr.hiddenAt(top)
		found, err := g.find(ctx, top, hidden.Pattern{Key: "settings\n" + top, Name: h.MayCover, Path: h.IsIn})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(append(out, found...), h.PathsIn(top)...)
	}
	return out, nil
}

// hiddenAt is what settings hide in the folder of another agent.
func (gr *folder) hiddenAt(top string) config.Hidden {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	h, ok := gr.ofOthers[top]
	if !ok {
		if gr.ofOthers == nil {
			gr.ofOthers = make(map[string]config.Hidden)
		}
		h = gr.policy.all.HiddenIn(top, gr.hidden.Project())
		gr.ofOthers[top] = h
	}
	return h
}

// hiddenFor is what settings hide where a path lies: in the project, the session's own folder or another agent's.
func (gr *folder) hiddenFor(g *guard, path string) config.Hidden {
	switch {
	case gr.at.Work.Kind.Made() && troupe.Within(path, gr.at.Work.Top):
		return gr.own
	case g.app.dirs.Worktrees == "" || !troupe.Within(path, filepath.Clean(g.app.dirs.Worktrees)):
		return gr.hidden
	}
	tops, err := beside(g, gr)
	if err != nil {
		return gr.hidden
	}
	for _, top := range slices.Backward(tops) { // of two that lie in each other the inner one comes later
		if troupe.Within(path, top) {
			return gr.hiddenAt(top)
		}
	}
	return gr.hidden
}
