package session

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// placeHooks are the hooks of a moment of a session's folder. The zero value has none.
type placeHooks struct {
	of *tree
	h  Hooks
	m  troupe.HookMoment
}

// hooksAt are those of the session's own folder: of one that is about to be made, or that is about to go.
func (p *place) hooksAt(event troupe.HookEvent) placeHooks {
	h := hooksOf(p.a.tree)
	if h == nil || !turn.Keeps(&p.a.st) {
		return placeHooks{}
	}
	w := p.a.st.Session.Workspace
	m := moment(p.a.tree, p.a.st.Session, event)
	m.Fields = FolderFields(w)
	// Where hooks run, and where the folder is not, or soon is not.
	m.Fields["cwd"] = p.a.st.Session.Cwd
	if event == troupe.HookWorktreeCreate {
		// One that was removed is made again from what was kept of it, whoever made it first.
		m.Fields["must_create"] = w.ByHook && p.a.st.Place.Base == nil
		if p.a.st.Place.Base != nil && !p.a.st.Place.Gone {
			return placeHooks{} // it is only found again
		}
	}
	if !h.Due(m) {
		return placeHooks{}
	}
	return placeHooks{p.a.tree, h, m}
}

// FolderFields is what hooks are told of a folder.
func FolderFields(w troupe.Workspace) map[string]any {
	return map[string]any{"name": w.Name, "worktree_path": w.Top, "source_path": w.Of, "isolation": w.Kind}
}

// makes reports whether a hook can make a folder for an agent of this session's where git cannot.
func (p *place) makes() bool {
	h := hooksOf(p.a.tree)
	return h != nil && h.Makes(moment(p.a.tree, p.a.st.Session, troupe.HookWorktreeCreate))
}

// run runs what is waited for, and begins the rest.
func (ph placeHooks) run(ctx context.Context) troupe.HookSaid {
	if ph.h == nil {
		return troupe.HookSaid{}
	}
	said := ph.h.Run(ctx, ph.m, false)
	said.Ran = append(said.Ran, runBeside(ph.of, ph.h, ph.m)...)
	return said
}

// opens makes the folder or finds it. Hooks are told once it is there, or are what makes it.
func (p *place) opens(ctx context.Context, ph placeHooks, o Opening, in *inPlace) {
	filled := false
	if o.Session.Workspace.ByHook && o.Base == nil && ph.h != nil {
		o.Fill = func(ctx context.Context, path string) error {
			said := ph.run(ctx)
			filled = true
			err := Filled(said.Ran, path)
			in.ran = append(in.ran, said.Ran...)
			return err
		}
	}
	o.Made = func() { in.made = true }
	if in.base, in.err = p.a.h.d.Workspaces.Open(ctx, o); in.err == nil && !filled {
		if o.Fill != nil { // it was there: a process died before the log had it
			ph.m.Fields["must_create"] = false
		}
		in.ran = append(in.ran, ph.run(ctx).Ran...)
	}
}

// Filled says why hooks have not made a folder at its path; nil: they have, as far as they say. A refusal by exit code
// counts here, and what they did wrong is noted of each.
func Filled(ran []troupe.HookRan, path string) error {
	var problem error
	made := false
	for i := range ran {
		r := &ran[i]
		const refuses = 2
		switch {
		case r.Async:
		case r.Effect == troupe.HookFailed:
		case r.Exit == refuses:
			r.Effect, r.Why, r.Message = troupe.HookDenied, cmp.Or(r.Message, "it gives no reason"), ""
		case r.Path != "" && !samePath(r.Path, path):
			r.Effect = troupe.HookFailed
			r.Why = fmt.Sprintf("it says that it made %q, and worktree_path is %s", r.Path, path)
		case r.Path != "":
			made = true
		}
		if problem == nil && !r.Async && (r.Effect == troupe.HookFailed || r.Effect == troupe.HookDenied) {
			problem = fmt.Errorf("the hook %q (%s): %s", r.Name, r.Source, r.Why)
		}
	}
	if problem == nil && !made {
		problem = fmt.Errorf("no hook of %s printed %s, the folder that it is to make there",
			troupe.HookWorktreeCreate, path)
	}
	return problem
}

// samePath reports whether a path that was printed is the one that was told, or that one without links.
func samePath(said, path string) bool {
	if filepath.Clean(said) == path {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	return err == nil && filepath.Clean(said) == real
}

// going has hooks told, in time, that the folder is about to be removed. What they say counts for nothing.
func (p *place) going(bound time.Duration, ran *[]troupe.HookRan) func(ctx context.Context) {
	ph, at := p.hooksAt(troupe.HookWorktreeRemove), p.a.st.Place
	// Of one whose making was cut short they were not told that it is there.
	if ph.h == nil || at.Base == nil || at.Gone && !p.open {
		return nil
	}
	sched := p.a.h.d.Sched
	return func(ctx context.Context) {
		if bound > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
			defer sched.After(bound, cancel)()
		}
		*ran = append(*ran, ph.run(ctx).Ran...)
	}
}
