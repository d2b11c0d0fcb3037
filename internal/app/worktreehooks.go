package app

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool/shell"
	"github.com/troupe-dev/troupe/internal/wire"
)

// told has the hooks that are set now told of a folder that a person removes. No session is at work then, so there is
// no log to write to: what went wrong with one stands in the answer.
func (l looking) told(w troupe.Workspace, out *wire.PrunedWorktree) func(context.Context) {
	return func(ctx context.Context) {
		failed := func(why string) { out.Hooks = append(out.Hooks, why) }
		s, err := l.app.trees.session(ctx, w.Session())
		if err != nil { // it was removed, and left its work
			s = troupe.Session{ID: w.Session(), Root: w.Session(), Type: profile.Main, Cwd: w.From}
		}
		due, err := l.hooksOf(s)
		if err != nil {
			failed(err.Error())
			return
		}
		m := troupe.HookMoment{Event: troupe.HookWorktreeRemove, Session: s, Path: cmp.Or(out.Worktree.Agent,
			profile.Main), Line: []string{s.Type}, Fields: session.FolderFields(w)}
		m.Fields["cwd"] = s.Cwd
		due = hook.NewSet(due, nil).Of(m, false)
		if len(due) == 0 {
			return
		}
		sh := shell.New(shell.Options{})
		defer func() { _ = sh.Close() }() // each has ended
		environ, _ := config.Environment(l.app.env.Environ, l.app.settings)
		for _, r := range l.app.newRunner(nil, sh, environ).Run(ctx, due, m).Ran {
			if r.Effect == troupe.HookFailed || r.Message != "" {
				failed("hook " + r.Name + " (" + r.Source + "): " + cmp.Or(r.Why, r.Message))
			}
		}
	}
}

// hooksOf are those that count where a session was begun.
func (l looking) hooksOf(s troupe.Session) ([]hook.Hook, error) {
	p, err := l.app.policyOf(s.Cwd)
	if err != nil {
		return nil, err
	}
	tools, err := l.app.known()
	if err != nil {
		return nil, err
	}
	types, _ := profile.Load(profile.Sources{Folders: p.agentFolders(l.app.dirs, s.Cwd), Tools: tools.Callable(),
		Skip: p.untrustedAgents(), Mask: l.app.masker()})
	set, _ := p.hooksIn(s.Cwd, types, nil)
	var out []hook.Hook
	for _, h := range thatCount(set) {
		if h.Kind != hook.Prompt { // there is no model to ask
			out = append(out, h)
		}
	}
	return out, nil
}

// madeUpFolder is one that a hook could be told of: in a folder without a repository a hook would have to make it.
func madeUpFolder(dirs config.Dirs, q wire.HookQuery) map[string]any {
	const name = "made-up"
	w := troupe.Workspace{Kind: troupe.WorkspaceTree, Name: name, Of: q.Cwd, Top: filepath.Join(dirs.Worktrees, name)}
	fields := session.FolderFields(w)
	if fields["cwd"] = q.Cwd; q.Event == troupe.HookWorktreeCreate {
		fields["must_create"] = true
	}
	return fields
}

// followsFolder says what would come of a run of hooks that were to make a folder.
func followsFolder(m troupe.HookMoment, said *troupe.HookSaid) string {
	path, _ := m.Fields["worktree_path"].(string)
	if err := session.Filled(said.Ran, path); err != nil {
		return "outside of repositories of git there is no worktree: " + err.Error() + "; in one git has made it"
	}
	return "outside of repositories of git " + path + " becomes the agent's folder; in one git has made it"
}
