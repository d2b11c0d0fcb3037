package session

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/gate"
)

// newTeam is a team that is begun together with its lead.
type newTeam struct {
	h     *Hub
	root  fleet.Birth
	team  troupe.Team
	roles Roles
}

// withTeam is the birth of a root and of the members that its team begins with. They are born in one transaction, so
// that there is never a team of another size than was asked for, and idle, so that they cost nothing until the lead
// has something for them.
func withTeam(h *Hub, root fleet.Birth, roles Roles, with []troupe.NewMember) ([]fleet.Birth, error) {
	out := []fleet.Birth{root}
	if root.Team == nil {
		return out, nil
	}
	team := *root.Team.Team
	team.Name, team.Description = h.d.Mask(team.Name), h.d.Mask(team.Description)
	changed, begun := &troupe.TeamChanged{Team: &team}, newTeam{h, root, team, roles}
	for i, m := range with {
		b, err := begun.member(m, troupe.Coord{Call: i})
		if err != nil {
			return nil, &troupe.UserError{Problem: fmt.Sprintf("the team %q cannot be begun with %q: %v", team.Name,
				m.Name, err), Code: troupe.ExitUsage, Err: err}
		}
		out = append(out, b)
		task := h.agentTask(troupe.Session{ID: troupe.ChildID(b.Parent, b.Coord), Parent: b.Parent, Name: b.Name,
			Title: b.Title}, b.Coord, true)
		changed.Members = append(changed.Members, *task)
	}
	out[0].Team = changed
	brief := *root.Brief
	brief.Team = asLead(team, out[1:])
	out[0].Brief = &brief
	return out, nil
}

// member is the birth of a member of a team that is begun.
func (n newTeam) member(m troupe.NewMember, at troupe.Coord) (fleet.Birth, error) {
	h, root, team := n.h, &n.root, n.team
	parent := troupe.Session{ID: root.Root, Root: root.Root, Cwd: root.Cwd, Workspace: root.Workspace,
		Title: root.Title, Type: root.Profile.Kind(), Model: root.Profile.Model}
	sp := troupe.Spawn{Name: m.Name, Description: m.Name, Team: team.Name, Background: true,
		Type: cmp.Or(m.Type, troupe.GeneralAgent)}
	b := fleet.Birth{Root: root.Root, Parent: root.Root, Coord: at, Name: m.Name, Title: m.Name, Depth: 1,
		Cwd: root.Cwd, From: root.Root}
	if err := fleet.CheckName(m.Name); err != nil {
		return b, err
	}
	var err error
	if b.Profile, err = n.roles.Resolve(parent, sp); err != nil {
		return b, err
	}
	b.Profile.Effort = cmp.Or(b.Profile.Effort, root.Profile.Effort)
	tools := rolesOf(n.roles).tools(h, &b.Profile)
	withoutClients(&b.Profile, &root.Profile, tools)
	if b.Offer, err = h.offer(tools, b.Profile.Tools); err != nil {
		return b, err
	}
	b.Authority = authorityOf(h, root.Root, at, sp, b.Profile)
	b.Background, b.Idle, b.Free = true, true, 1
	if b.Workspace, err = workspaceOf(h, parent, at, sp, b.Profile, false); err != nil {
		return b, err
	}
	goal := troupe.JoinText(root.Prompt)
	b.Prompt = []troupe.Block{troupe.Text(strings.TrimSpace(b.Profile.InitialPrompt + "\n\n" + m.Prompt +
		"\n\nYour team was begun for this, in the user's words:\n\n" + goal +
		"\n\nYour lead gives you your part of it in a message."))}
	b.Brief = n.brief(b)
	b.Brief.Team = asMember(team, b.Name)
	return b, nil
}

// brief is that of a member that is about to be born with its lead.
func (n newTeam) brief(born fleet.Birth) *troupe.Brief {
	h, root := n.h, &n.root
	b := briefing{id: troupe.ChildID(born.Parent, born.Coord), profile: born.Profile, model: born.Profile.Model,
		parents: root.Caps != nil && mayHaveAgents(*root.Caps, born.Depth, true),
		asks:    root.Settings != nil && root.Settings.AskFor > 0}
	up := h.gate.LayerOf("main", root.Profile, root.Authority, true, false)
	up = h.gate.Placed(up, &root.Profile, troupe.Session{Cwd: root.Cwd, Workspace: root.Workspace})
	own := h.gate.LayerOf("", born.Profile, born.Authority, b.parents, true)
	own = h.gate.Placed(own, &born.Profile, troupe.Session{Cwd: born.Cwd, Workspace: born.Workspace})
	own.Mode = cmp.Or(own.Mode, up.Mode)
	b.line = []gate.Layer{up, own}
	b.pad = padTold(h, born.Root, born.Depth, &b.profile)
	out := h.brief(h.folders.of(born.Cwd), b, n.roles)
	out.Workspace = whereItWorks(born.Workspace)
	return out
}

// asLead is what a main agent is told that begins as the lead of a team.
func asLead(t troupe.Team, members []fleet.Birth) string {
	var b strings.Builder
	purpose := ""
	if t.Description != "" {
		purpose = " (" + troupe.Escape(t.Description) + ")"
	}
	fmt.Fprintf(&b, "You lead the team %q%s. Its members are there, and idle until you write to them:\n",
		troupe.Escape(t.Name), purpose)
	for _, m := range members {
		fmt.Fprintf(&b, "- %s (%s)\n", troupe.Escape(m.Name), troupe.Escape(m.Profile.Kind()))
	}
	b.WriteString("They know the user's words, and nothing of what you find out. Take the work apart, put it on the " +
		"task list (TaskCreate), and give each its part with SendMessage. Their ends arrive by themselves; end your " +
		"turn to wait for them. You answer to the user for all of it.")
	return b.String()
}
