package session

import (
	"context"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// inLeft is what came of the worktree that a main agent leaves.
type inLeft struct {
	call   int
	job    *job
	result troupe.WorkspaceResult
	ran    []troupe.HookRan
	err    error
}

func (inLeft) input() {}

// NotEntered is what stands before the reason why there is no worktree to go on in.
const NotEntered = "You are where you were: "

// enter has the main agent go on in a worktree of its own.
func (p *place) enter(ctx context.Context, c turn.Call, in troupe.EnterWorktree) error {
	s := p.a.st.Session
	if s.Workspace.Kind != "" {
		return p.a.stage(resultOf(c, "You are in "+s.Workspace.Folder+" already. ExitWorktree leaves it.", true))
	}
	id := troupe.ChildID(p.a.id, troupe.Coord{Reply: c.Reply, Call: c.Index})
	w, err := p.a.h.d.Workspaces.Plan(s, Wish{ID: id, Kind: troupe.WorkspaceTree, Name: in.Name, Title: s.Title,
		Hook: p.makes()})
	if err != nil {
		return p.a.stage(resultOf(c, NotEntered+err.Error(), true))
	}
	w.Main = p.a.id
	if err := p.a.stage(troupe.WorkspaceChanged{Workspace: w}); err != nil {
		return err
	}
	if err := p.a.stage(resultOf(c, whereItWorks(w), false)); err != nil {
		return err
	}
	return p.a.grant(ctx)
}

// exit keeps what was done in the worktree, and has the main agent go back to where it was begun.
func (p *place) exit(ctx context.Context, i int) error {
	c, s := p.a.st.Calls[i], p.a.st.Session
	switch {
	case !p.has():
		return p.a.stage(resultOf(c, "You are in no worktree.", true))
	case s.Workspace.Main == "":
		// A person has held the session to it. Of itself it leaves only what it went into itself.
		return p.a.stage(resultOf(c, "The user began this session in this worktree: it is not left by a tool. The "+
			"user merges what you did with `troupe merge "+s.Workspace.Name+"`.", true))
	case !p.ready(ctx, false):
		return p.park(ctx, i)
	}
	closing := Closing{Stay: othersIn(p.a.tree, s.Workspace), Began: p.a.st.Place.Began}
	if len(p.a.tasks.own) > 0 {
		closing.Stay = "commands still run in it"
	}
	ran := new([]troupe.HookRan)
	closing.Going = p.going(0, ran)
	p.a.calls.startJob(ctx, i, func(ctx context.Context, job *job) {
		in := inLeft{call: i, job: job}
		in.result, in.err = p.a.h.d.Workspaces.Close(context.WithoutCancel(ctx), s, closing)
		in.ran = *ran
		p.a.post(in)
	})
	return nil
}

// left notes that a main agent is back where it was begun.
func (p *place) left(ctx context.Context, in inLeft) error {
	cs := &p.a.calls
	if cs.working[in.call] != in.job {
		return nil
	}
	delete(cs.working, in.call)
	c := p.a.st.Calls[in.call]
	if err := p.a.noteHooks(in.ran); err != nil {
		return err
	}
	if in.err != nil {
		return p.a.stage(resultOf(c, "You are still in the worktree: what is in it could not be kept elsewhere: "+
			in.err.Error(), true))
	}
	if err := p.a.stage(troupe.WorkspaceChanged{Result: &in.result}); err != nil {
		return err
	}
	p.over()
	text := fmt.Sprintf("You are back in %s.\n%s", p.a.st.Session.Cwd, turn.RenderWorkspace(&in.result))
	if err := p.a.stage(resultOf(c, text, false)); err != nil {
		return err
	}
	return p.a.grant(ctx)
}
