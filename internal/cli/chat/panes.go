package chat

import (
	"context"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
	"github.com/troupe-dev/troupe/internal/cli/panes"
	"github.com/troupe-dev/troupe/internal/wire"
)

// team is the panes of the members of a tree's team.
type team struct {
	*panes.Keeper
	down map[troupe.SessionID]bool // who was stopped, or has failed, and may work again
}

// said is what the keeper of the panes has to say.
func (t *tree) said() <-chan string {
	if t == nil || t.team == nil {
		return nil
	}
	return t.team.Said
}

// keepPanes begins to have panes for the members of a team, if the conversation has a terminal that can have some.
func keepPanes(ctx context.Context, v *conversation) {
	t := v.tree
	if t.team != nil || t.attached != nil || v.o.Panes == nil || !v.raw() {
		return
	}
	a, root, detect := v.trees.api, t.root, v.o.Panes
	t.team = &team{down: make(map[troupe.SessionID]bool), Keeper: panes.Keep(context.WithoutCancel(ctx),
		func(ctx context.Context) panes.Found { return detect(ctx, root) },
		func(ctx context.Context) ([]panes.Member, error) {
			team, err := a.Team(ctx, root)
			if err != nil {
				return nil, err
			}
			tree, err := a.Tree(ctx, root)
			if err != nil {
				return nil, err
			}
			return membersOf(team, tree), nil
		})}
	t.team.Look()
}

// membersOf are the members of a team, in the colors in which the conversation shows them.
func membersOf(team wire.Team, tree wire.Tree) (out []panes.Member) {
	numbers := make(map[troupe.SessionID]int, len(tree.Sessions))
	for _, s := range tree.Sessions {
		numbers[s.ID] = s.Number
	}
	for _, m := range team.Members {
		if !m.Lead {
			out = append(out, panes.Member{ID: m.ID, Stopped: m.State == wire.TeammateStopped,
				Label: panes.Label{Name: m.Name, Color: render.EdgeColor(m.Color, numbers[m.ID])}})
		}
	}
	return out
}

// followTeam follows who is in the team.
func followTeam(ctx context.Context, v *conversation, e troupe.Event) {
	t := v.tree
	switch b := e.Body.(type) {
	case troupe.TeamChanged:
		keepPanes(ctx, v)
	case troupe.Created:
		if b.Profile.Team == "" {
			return
		}
	case troupe.Started:
		if t.team == nil || !t.team.down[e.Session] {
			return
		}
		delete(t.team.down, e.Session)
	case troupe.Ended:
		if t.team != nil && b.Outcome.Status != troupe.Completed {
			t.team.down[e.Session] = true
		}
		return
	default:
		return
	}
	if t.team != nil {
		t.team.Look()
	}
}

// abandon leaves the panes as they are: the process ends, and who looks at them is told so there.
func (t *tree) abandon() {
	if t != nil && t.team != nil {
		t.team.Close(false)
		t.team = nil
	}
}

// orderPanes is /panes.
func orderPanes(_ context.Context, v *conversation, words string) error {
	switch {
	case v.o.Panes == nil || !v.raw():
		v.say("Members of a team have no panes here: this is no terminal. /team lists them.")
		return nil
	case v.tree.team == nil:
		v.say("There is no team, whose members would have panes.")
		return nil
	}
	return v.tree.team.Order(words)
}
