package app

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/replay"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
	toolworktree "github.com/troupe-dev/troupe/internal/tool/worktree"
)

// folder notes what an event says of a folder that was made for the session. The state is still the one before it.
func (s *recorder) folder(e troupe.Event) {
	f := replay.Folder{Agent: s.path, Owner: s.state.Session.Workspace.Owner, Run: s.state.Session.Run}
	switch b := e.Body.(type) {
	case troupe.Created:
		if b.Workspace.Kind == "" {
			return
		}
		f.Owner, f.Workspace = b.Workspace.Owner, &b.Workspace
	case troupe.WorkspaceReady:
		f.Ready = &b.Base
	case troupe.WorkspaceSaved:
		f.Saved = &b
	case troupe.WorkspaceChanged:
		if f.Result = b.Result; f.Result == nil {
			f.Owner, f.Workspace = b.Workspace.Owner, &b.Workspace
		}
	case troupe.Ended:
		if f.Result = b.Outcome.Workspace; f.Result == nil {
			return
		}
	default:
		return
	}
	s.add(e, replay.Line{Folder: &f})
}

// played has the folders of a recording: it says of each what the recording does, makes none and runs no git.
type played struct{ player *Player }

// mergerOf merges worktrees, or says what it came to when it was recorded.
func mergerOf(a *App, g *guard) toolworktree.Merger {
	if p := a.models.player; p != nil {
		return playedMerger{p}
	}
	return merger{a, g}
}

// Plan implements session.Workspaces.
func (p played) Plan(asks troupe.Session, w session.Wish) (troupe.Workspace, error) {
	return p.plan(asks, w.ID, w.Kind)
}

// plan is where the session worked. Where it had no folder and the call was not refused for that, one is named that is
// not there: what the session is told then differs, and shows how.
func (p played) plan(asks troupe.Session, owner troupe.SessionID, kind troupe.WorkspaceKind) (troupe.Workspace, error) {
	if w, ok := p.player.Folders().Work(owner); ok {
		return w, nil
	}
	if text, ok := p.player.Folders().Refused(asks.ID, owner); ok {
		for _, before := range []string{session.NotEntered, session.NoFolder} {
			if _, why, ok := strings.Cut(text, before); ok {
				return troupe.Workspace{}, errors.New(why)
			}
		}
	}
	top := filepath.Join(asks.Dir(), string(owner))
	return troupe.Workspace{Kind: kind, Owner: owner, Name: string(owner), From: asks.Dir(), Of: asks.Dir(), Top: top,
		Folder: top, Branch: "troupe/" + string(owner)}, nil
}

// Open implements session.Workspaces.
func (p played) Open(_ context.Context, o session.Opening) (troupe.WorkspaceBase, error) {
	return p.player.Folders().Base(o.Session), nil
}

// Save implements session.Workspaces.
func (p played) Save(_ context.Context, s troupe.Session, _ session.Unsaved) (troupe.Checkpoint, error) {
	saved := p.player.Folders().Saved(s)
	if saved.Problem != "" {
		return saved.Checkpoint, errors.New(saved.Problem)
	}
	return saved.Checkpoint, nil
}

// Close implements session.Workspaces.
func (p played) Close(_ context.Context, s troupe.Session, _ session.Closing) (troupe.WorkspaceResult, error) {
	if r, ok := p.player.Folders().Left(s); ok {
		return r, nil
	}
	return troupe.WorkspaceResult{}, errors.New("the recording does not say what became of it")
}

// Merge implements session.Workspaces. What was merged at an end stands in what became of the folder.
func (played) Merge(context.Context, troupe.Session, session.Into) (session.Merge, error) {
	return session.Merge{}, errors.New("the recording does not say what was merged")
}

// playedMerger says of each merge that a call asks for what it came to when it was recorded.
type playedMerger struct{ player *Player }

// Merge implements toolworktree.Merger. What the merge came to is served when it runs; here it is judged, by the files
// that it wrote. Which files one would have written that was denied is not known: it is denied again, unjudged.
func (p playedMerger) Merge(env tool.Env, name, _ string) (toolworktree.Merging, error) {
	out := toolworktree.Merging{Name: name, Text: "merge the worktree " + name}
	agent, at, err := callOf(p.player, env)
	if err != nil {
		return out, err
	}
	t, _ := p.player.Result(agent, at.Reply, at.Call)
	for _, f := range t.Evidence.Files {
		if f.Wrote {
			out.Writes = append(out.Writes, f.Path)
		}
	}
	if t.Denied {
		return out, errors.New(troupe.JoinText(t.Blocks))
	}
	return out, nil
}

// HandBack implements toolworktree.Merger.
func (playedMerger) HandBack(context.Context, tool.Env, string, []string) (string, error) {
	return "", errors.New("a replay hands nothing back")
}
