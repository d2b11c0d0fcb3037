package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/sandbox"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// folderReader confines the git that reads the files of agents and their projects.
type folderReader struct {
	app *App
	box *sandbox.Sandbox
}

// newReader needs no listener: what git may write, the kernel gives it whole.
func newReader(a *App) folderReader {
	return folderReader{a, sandbox.New(sandbox.Options{NoNotify: true})}
}

// reading is how files are read for a workspace into its repository: git may read there what a command of its session
// may, and what the session has made in its own folder. Where no command is confined, it is not either.
func (r folderReader) reading(ctx context.Context, ws troupe.Workspace, repository string) (worktree.Reading, error) {
	a := r.app
	if len(r.box.Levels()) == 0 {
		return worktree.Reading{}, nil
	}
	owner := troupe.Session{ID: ws.Session(), Root: ws.Session(), Cwd: ws.From} // it may not be in the home any more
	if a.db != nil {
		switch s, err := a.trees.session(ctx, ws.Session()); {
		case err == nil:
			owner = s
		case !isNotFound(err):
			return worktree.Reading{}, err
		}
	}
	guard, ask := a.engine.Load().rights(owner)
	if guard == nil {
		guard = a.newGuard(ctx)
		defer guard.close() //nolint:errcheck // it has looked, and holds nothing that could be lost
	}
	hidden, err := guard.hiddenFrom(ctx, owner.Cwd, ws.Of, ask)
	if err != nil {
		return worktree.Reading{}, err
	}
	if hidden, err = besides(hidden, a.dirs.Workspaces(), repository); err != nil {
		return worktree.Reading{}, err
	}
	c := troupe.Confinement{Level: troupe.LevelWorkspace, Scratch: []string{repository}, Hidden: hidden}
	if gr, err := guard.folder(session.Place{Cwd: owner.Cwd, Work: ws}); err == nil && gr.tenant != nil {
		c.Readable = append(readable(guard, gr, troupe.Session{}), repository)
		c.Named = gr.tenant.named
		for _, dir := range gr.tenant.apart {
			c.Hidden = append(c.Hidden, without(dir, c.Readable)...)
		}
	}
	start := func(bin string, argv []string, attr *os.ProcAttr) (*os.Process, func(), error) {
		command, err := r.box.Start(c, bin, argv, attr)
		if err != nil {
			return nil, nil, err
		}
		return command.Process(), func() { command.Done() }, nil
	}
	return worktree.Reading{Start: start, Hidden: hidden}, nil
}

// rights are what rules keep a session from reading, as far as its tree is hosted here.
func (e *engine) rights(s troupe.Session) (*guard, session.Confine) {
	if e == nil {
		return nil, session.Confine{}
	}
	at, _ := e.hub.Place(s)
	roots, home := []string{s.Dir()}, resolved(e.guard.app.dirs.Home)
	return e.guard, session.Confine{Session: s, Unreadable: gate.Unreadable(at.Line, roots, home),
		Hides: gate.HidesFor(at.Line, roots, home)}
}

// hiddenFrom is hide for what is read of a tree: the project, or a folder that an agent has in it. Where the project is
// gone, nothing is hidden in it, and what was made from it is all that is left.
func (g *guard) hiddenFrom(ctx context.Context, cwd, tree string, c session.Confine) ([]string, error) {
	if missing(cwd) {
		cwd = ""
	}
	p, err := g.app.policyOf(cwd)
	if err != nil {
		return nil, err
	}
	gr := &folder{policy: p, at: session.Place{Cwd: cwd}, hidden: p.all.Hidden()}
	if project := gr.hidden.Project(); tree != project && !missing(tree) {
		gr.own = p.all.HiddenIn(tree, project)
	}
	return g.hide(ctx, gr, c)
}

// besides is what is hidden where a folder below one of these places is not: all else that lies beside it is.
func besides(hidden []string, place, but string) ([]string, error) {
	i := slices.Index(hidden, place)
	if i < 0 {
		return hidden, nil
	}
	entries, err := os.ReadDir(place)
	if err != nil {
		return nil, err
	}
	hidden = slices.Delete(slices.Clone(hidden), i, i+1)
	for _, e := range entries {
		if path := filepath.Join(place, e.Name()); !troupe.Within(but, path) {
			hidden = append(hidden, path)
		}
	}
	return hidden, nil
}
