package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/turn"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace"
)

// What the users of a server may not have their agents do, whoever is asked: work outside of the server's folders, and,
// without the right admin, outside of the sandbox or on what holds for later sessions.

// onlyOperates reports whether who calls may set agents to work at a server, and no more.
func onlyOperates(c troupe.Caller) bool {
	return !c.Right.Covers(troupe.RightAdmin)
}

// mayBypass refuses to set agents to work that no sandbox confines.
func mayBypass(c troupe.Caller, mode troupe.Mode) error {
	if mode != troupe.ModeBypass || !onlyOperates(c) {
		return nil
	}
	return &troupe.UserError{
		Problem: "this session works in mode bypassPermissions, outside of the sandbox: to set it to work takes the " +
			"right \"admin\"",
		Hint: "Give another mode, or ask an admin of the server.", Code: troupe.ExitPermission}
}

// boundedBy marks the rules of one who only operates: of those with a source, that these are.
func boundedBy(c troupe.Caller, rules []troupe.Rule, source string) {
	for i := range rules {
		if onlyOperates(c) && rules[i].Source == source && rules[i].Effect == troupe.Allow {
			rules[i].Bounded = true
		}
	}
}

// authorityFor is what a root is granted by the caller. Own are names of tools that only its tree has.
func authorityFor(a bound, tools *gate.Tools, b wire.Begin, p *policy, before *troupe.Authority,
	own ...string) (troupe.Authority, []string, error) {
	out, warnings, err := a.app.authority(tools, b, p, before, own)
	if len(b.Allow) > 0 { // else those are of the ones that it was begun with
		boundedBy(a.caller, out.Rules, sourceAllow)
	}
	return out, warnings, err
}

// maySteer refuses what has a tree do something that no sandbox confines: words, answers of whichever kind, and the
// like.
func (a bound) maySteer(ctx context.Context, root troupe.SessionID) error {
	if !onlyOperates(a.caller) {
		return nil
	}
	events, err := a.app.trees.events(ctx, root, 0, 0)
	if err != nil {
		return err
	}
	st, err := turn.Fold(events)
	if err != nil {
		return fmt.Errorf("read session %s: %w", root, err)
	}
	auth := st.Authority
	if p := auth.Planning; p != nil && p.Before == troupe.ModeBypass { // a yes to its plan brings it back
		auth.Mode = p.Before
	}
	return mayBypass(a.caller, auth.Mode)
}

// mayAnswer refuses a yes of one who only operates to what goes beyond: what no sandbox confines, and files that hold
// for later sessions.
func (a requests) mayAnswer(ctx context.Context, q troupe.Request) error {
	if !onlyOperates(a.caller) {
		return nil
	}
	beyond := ""
	switch {
	case q.Decision.Unconfined || q.Opens == troupe.LevelNone || q.Decision.Sandbox == troupe.LevelNone:
		beyond = "runs outside of the sandbox"
	case q.Decision.Protected || len(q.Decision.Opens) > 0:
		beyond = "changes what holds for later sessions"
	default:
		s, err := a.app.trees.session(ctx, q.Session)
		if err != nil {
			return err
		}
		changes := slices.DeleteFunc(slices.Clone(q.Wants), func(w troupe.Attempt) bool { return !w.Changes() })
		paths := make([]string, len(changes))
		for i, w := range changes {
			paths[i] = w.Path
		}
		if beyond, err = beyondOf(ctx, a.bound, s, paths); err != nil {
			return err
		}
	}
	if beyond == "" {
		return nil
	}
	return &troupe.UserError{Problem: fmt.Sprintf("this %s: to say yes to it takes the right \"admin\"", beyond),
		Hint: "Deny it, or have an admin of the server answer: troupe answer " + string(q.ID),
		Code: troupe.ExitPermission}
}

// mayUndo refuses one who only operates what an undo would change outside of the server's folders, and what holds for
// later sessions: an admin may have had it changed.
func mayUndo(ctx context.Context, a bound, u Undo) error {
	if !onlyOperates(a.caller) {
		return nil
	}
	s, err := a.app.trees.session(ctx, u.Root)
	if err != nil {
		return err
	}
	paths := make([]string, len(u.Files))
	for i, f := range u.Files {
		paths[i] = f.Path
	}
	beyond, err := beyondOf(ctx, a, s, paths)
	if err != nil || beyond == "" {
		return err
	}
	return &troupe.UserError{Problem: fmt.Sprintf("this undo %s: that takes the right \"admin\"", beyond),
		Hint: "Ask an admin of the server.", Code: troupe.ExitPermission}
}

// beyondOf says which of the files that would be changed goes beyond.
func beyondOf(ctx context.Context, a bound, s troupe.Session, paths []string) (string, error) {
	e, err := a.app.start(ctx)
	if err != nil {
		return "", err
	}
	gr, err := e.guard.folder(session.PlaceOf(s))
	if err != nil {
		return "", err
	}
	for _, path := range paths {
		if _, covered := gr.protected.Covers(path); covered {
			return "changes " + path + ", which holds for later sessions,", nil
		}
		if gr.beyond(path) != "" {
			return "changes " + path + ", which is in none of the server's folders,", nil
		}
	}
	return "", nil
}

// outsideServer says why nothing writes a path at a server, whatever is allowed; "" if something may. Where agents work
// for its users, they work in its folders, and in what Troupe keeps for them.
func outsideServer(g *guard, gr *folder, path string) string {
	in, at := g.app.env.Folders, gr.at
	if len(in) > 0 && checkoutsOf(g.app).Has(path) {
		return "a checkout is not changed: agents have worktrees of it"
	}
	if t := gr.tenant; t != nil {
		if !filepath.IsAbs(path) {
			return "" // it is known when a command runs, and the kernel sees to it
		}
		if in = t.work; innermost(path, t.apart) != "" && !t.lies(path, in) {
			return "it is another project's: agents of this one work in " + strings.Join(in, ", ")
		}
	}
	if len(in) == 0 || troupe.WithinAny(path, in) || at.Work.Top != "" && troupe.Within(path, at.Work.Top) ||
		troupe.WithinAny(path, keptFor(g)) {
		return ""
	}
	return "this server has agents work in " + strings.Join(in, ", ")
}

// keptFor are where agents write besides folders of people: worktrees, plans, memories, and what is temporary.
func keptFor(g *guard) []string {
	data := resolved(g.app.dirs.Data)
	return []string{resolved(g.app.dirs.Worktrees), filepath.Join(data, config.PlansFolder), memoryData(g.app.dirs),
		resolved(filepath.Join(g.app.dirs.Home, ".claude", "agent-memory")), resolved(os.TempDir()), "/tmp", "/var/tmp",
		"/dev"}
}

// folderOf is a folder that was named, by its real name. At a server it is one of the server's folders, or in one: who
// works with it works with the name that was checked.
func folderOf(a *App, named string) (string, error) {
	cwd, err := workspace.Resolve("", named)
	in := a.env.Folders
	if err != nil || len(in) == 0 || troupe.WithinAny(cwd, in) || checkoutsOf(a).Has(cwd) {
		return cwd, err
	}
	return "", &troupe.UserError{Problem: fmt.Sprintf("this server has agents work in %s, and %.200q leads to %.200q, "+
		"which is in none of these", strings.Join(in, ", "), named, cwd),
		Hint: "Name a folder of the server's with --cwd.", Code: troupe.ExitPermission}
}

// movedAway refuses a session of a server whose folder is by now a link that leads out of the server's folders.
func movedAway(a *App, s troupe.Session) error {
	real, err := filepath.EvalSymlinks(s.Cwd)
	if len(a.env.Folders) == 0 || err == nil &&
		(troupe.WithinAny(real, a.env.Folders) || checkoutsOf(a).Has(real)) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("it leads to %s", real)
	}
	return &troupe.UserError{Problem: fmt.Sprintf("session %s works in %s, which is in none of the server's folders "+
		"any "+
		"more: %v", s.ID, s.Cwd, err), Hint: "Put the folder back, or begin a new session.",
		Code: troupe.ExitPermission}
}
