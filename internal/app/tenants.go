package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// Each folder of a server is a project, and the agents of one project see nothing of another. What they read is a list,
// which gate and kernel share: the project, what is installed on the machine, and what Troupe keeps for them.

// tenant is what agents that work in a folder of a server may read.
type tenant struct {
	// work are the folders of the project: the server's, and those of it that its settings add.
	work []string
	// folders are those, and all else that may be read; apart is what of them may not: other folders of the server.
	folders, apart []string
	// named are names by which those are found, and folders that programs take for granted.
	named []string
	// caches is the folder of the project's build caches.
	caches string
}

// tenantOf is nil where agents read anything: no users of a server are let in here, or its settings say so.
func tenantOf(a *App, p *policy, cwd string) *tenant {
	more := p.all.Settings(false).Sandbox.Read
	if len(a.env.Folders) == 0 || slices.Contains(more, "/") {
		return nil
	}
	project := innermost(cwd, a.env.Folders)
	if project == "" {
		project = cwd // its folder is the server's no more, and it is there to be looked at
	}
	t := &tenant{work: []string{project}}
	for _, dir := range p.all.Directories(p.trusted()) {
		if troupe.WithinAny(dir, a.env.Folders) && !slices.Contains(t.work, dir) {
			t.work = append(t.work, dir)
		}
	}
	d := a.dirs
	kept := []string{d.Config, d.Data, d.Run, d.Worktrees, d.Scratchpads(), d.Caches()}
	for i, dir := range kept {
		kept[i] = tool.Resolve(dir)
	}
	installed, named := config.Toolchains(d.Home, a.env.Lookup, slices.Concat(a.env.Folders, kept))
	t.folders = slices.Concat(t.work, installed, forAgents(d))
	t.named = slices.Concat([]string{d.Home, "/tmp", "/var/tmp", cwd}, named, more)
	for i := range p.plugins {
		t.folders = append(t.folders, p.plugins[i].Root)
	}
	for _, dir := range more {
		t.folders = append(t.folders, tool.Resolve(dir))
	}
	for _, dir := range a.env.Folders {
		if !slices.ContainsFunc(t.work, func(w string) bool { return troupe.Within(w, dir) }) {
			t.apart = append(t.apart, dir)
		}
	}
	for _, dir := range kept {
		if troupe.WithinAny(dir, t.work) {
			t.apart = append(t.apart, dir)
		}
	}
	if all := d.Caches(); all != "" {
		t.caches = filepath.Join(tool.Resolve(all), strings.TrimSuffix(filepath.Base(d.Kept(project)), ".json"))
	}
	return t
}

// lies reports whether a path lies in one of some folders, and not in a part of it that is another project's.
func (t *tenant) lies(path string, in []string) bool {
	if apart := innermost(path, t.apart); apart != "" {
		return len(innermost(path, in)) >= len(apart)
	}
	return troupe.WithinAny(path, in)
}

// innermost is the folder that a path lies in; "" if it lies in none.
func innermost(path string, folders []string) (best string) {
	for _, f := range folders {
		if troupe.Within(path, f) && len(f) > len(best) {
			best = f
		}
	}
	return best
}

// forAgents is what the user of a server has for all agents: instructions, skills and definitions.
func forAgents(d config.Dirs) (out []string) {
	for _, dir := range []string{d.Config, filepath.Join(d.Home, ".claude")} {
		for _, name := range []string{"CLAUDE.md", "AGENTS.md", "rules", "skills", "commands", "agents",
			"output-styles"} {
			out = append(out, tool.Resolve(filepath.Join(dir, name)))
		}
	}
	return out
}

// bounding is a test for what a session reads: it says why a path is none of it. Own are folders of the session's own.
func bounding(g *guard, gr *folder) func(s troupe.Session, own []string) func(path string) string {
	t := gr.tenant
	return func(s troupe.Session, own []string) func(string) string {
		folders := slices.Concat(own, readable(g, gr, s))
		covered := func(path string) bool { return t.lies(path, folders) }
		return func(path string) string {
			if covered(path) || covered(tool.Resolve(path)) {
				return ""
			}
			return "agents of this server read their own project, " +
				t.work[0] + ", and what is installed; its admin can " +
				"open more with sandbox.read"
		}
	}
}

// readable is what a session reads: the one list that gate and kernel go by.
func readable(g *guard, gr *folder, s troupe.Session) []string {
	out := slices.Concat(gr.tenant.folders, worktreesOf(g, gr.tenant.work), []string{documents(g.app.dirs)})
	if gr.tenant.caches != "" {
		out = append(out, gr.tenant.caches)
	}
	if s.ID == "" {
		return out
	}
	if temp, err := g.tempFor(s); err == nil {
		out = append(out, filepath.Dir(temp)) // that of its tree
	}
	return append(out, tool.Resolve(g.app.outputDir(s.ID)))
}

// environ has build tools keep what they keep in the project's own folder. What was fetched for all by whoever runs
// the server is read from where it is, until the project fetches by itself: no agent writes there.
func (t *tenant) environ(c session.Confine) []string {
	if t == nil || t.caches == "" {
		return nil
	}
	return config.CachesBelow(t.caches, c.Reach)
}

// keepTo has a command read what the session's tools read, and nothing else. What is another project's is covered too,
// so that it cannot even be seen that it is there.
func keepTo(g *guard, gr *folder, c session.Confine, out *troupe.Confinement) {
	t := gr.tenant
	if t.caches != "" {
		_ = os.MkdirAll(t.caches, 0o700) // what is there can be shown; else commands have none
	}
	out.Readable, out.Named = readable(g, gr, c.Session), t.named
	out.Network.Project = t.work[0]
	if c.Scratchpad != "" {
		out.Readable = append(out.Readable, c.Scratchpad)
	}
	for _, dir := range t.apart {
		out.Hidden = append(out.Hidden, without(dir, out.Readable)...)
	}
	if all := tool.Resolve(g.app.dirs.Caches()); t.caches != "" {
		if room, ok := room(g, all, t.caches, c, out); ok {
			out.Rooms = append(out.Rooms, room)
		}
	}
}

// keepHook has a hook of a project at a server run as the project's commands do, in the workspace sandbox. One of who
// runs the server runs as ever.
func keepHook(ctx context.Context, a *App, p hook.Program) (*troupe.Confinement, []string, error) {
	if len(a.env.Folders) == 0 || p.Scope == config.ScopeManaged.String() || p.Scope == config.ScopeUser.String() {
		return nil, nil, nil
	}
	e, err := a.start(ctx)
	if err != nil {
		return nil, nil, err
	}
	if gr, err := e.guard.folder(session.Place{Cwd: p.Session.Cwd}); err != nil || gr.tenant == nil {
		return nil, nil, err
	}
	s := troupe.Session{ID: p.Session.ID, Root: p.Session.Root, Cwd: p.Session.Cwd}
	return session.Hold(ctx, e.guard, session.ServiceOf(resolved(a.dirs.Home), s, []string{s.Cwd}, nil,
		troupe.LevelWorkspace))
}

// without is a folder, or where something that stays readable lies in it what lies beside that.
func without(dir string, readable []string) (out []string) {
	if slices.Contains(readable, dir) {
		return nil
	}
	if !slices.ContainsFunc(readable, func(r string) bool { return troupe.Within(r, dir) }) {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // nor can a command
	}
	for _, e := range entries {
		out = append(out, without(filepath.Join(dir, e.Name()), readable)...)
	}
	return out
}

// worktreesOf are the folders of agents that were made from a project, or from one of these.
func worktreesOf(g *guard, of []string) []string {
	all, err := g.made.now(g.app)
	if err != nil {
		return nil
	}
	of = slices.Clone(of)
	n := len(of)
	for more := true; more; {
		more = false
		for _, w := range all {
			if w.Kind.Made() && !slices.Contains(of, w.Top) && troupe.WithinAny(w.Of, of) {
				of, more = append(of, w.Top), true
			}
		}
	}
	return of[n:]
}
