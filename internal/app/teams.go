package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
	"github.com/troupe-dev/troupe/internal/wire"
)

// maxTeam is how many agents a team may begin with.
const maxTeam = 1001

// newTeam is the team that a session is to begin with; nil: none.
func newTeam(b wire.Begin, s config.Settings, lead troupe.Profile) (*troupe.TeamChanged, []troupe.NewMember, error) {
	t := b.Team
	wrong := func(problem, hint string) (*troupe.TeamChanged, []troupe.NewMember, error) {
		return nil, nil, &troupe.UserError{Problem: problem, Hint: hint, Code: troupe.ExitUsage}
	}
	switch {
	case t == nil:
		return nil, nil, nil
	case !slices.Contains(lead.Tools, "SendMessage"):
		return wrong(fmt.Sprintf("an agent of type %s leads no team: it has not the tool SendMessage", lead.Type),
			"Leave --agent out.")
	case s.Agents.MaxDepth == 0:
		return wrong("there can be no team here: agents.max_depth is 0", "Set it to 1 or more in the settings.")
	case t.Name != "" && (t.Size != 0 || t.Type != ""):
		return wrong("a team of the settings has its members; a size and a type are for another one",
			"Give --team, or --size and --type.")
	case t.Name != "":
		of, ok := s.Teams[t.Name]
		if !ok {
			return wrong(fmt.Sprintf("there is no team %q in the settings", t.Name), knownTeams(s.Teams))
		}
		return &troupe.TeamChanged{Team: &troupe.Team{Name: t.Name, Description: of.Description}}, of.Members, nil
	case t.Size < 2 || t.Size > maxTeam:
		return wrong(fmt.Sprintf("a team has 2 to %d agents, its lead among them, and not %d", maxTeam, t.Size),
			"Say how many with --size.")
	}
	members := make([]troupe.NewMember, t.Size-1)
	for i := range members {
		members[i] = troupe.NewMember{Name: fmt.Sprintf("%s %d", cmp.Or(t.Type, "Member"), i+1), Type: t.Type}
	}
	return &troupe.TeamChanged{Team: &troupe.Team{Name: "team"}}, members, nil
}

// TeammateMode is where the user's settings, or an administrator's, have members of a team shown.
func TeammateMode(a *App) troupe.TeammateMode {
	return cmp.Or(a.settings.Teammates, troupe.TeammatesAuto)
}

func knownTeams(teams map[string]config.Team) string {
	if len(teams) == 0 {
		return "`troupe docs settings` says how to write one down, under \"teams\"."
	}
	return "There are: " + strings.Join(slices.Sorted(maps.Keys(teams)), ", ") + "."
}

// Team implements api.Sessions. Who has left a team stays in the list, stopped: a message takes it back.
func (a sessions) Team(ctx context.Context, id troupe.SessionID) (wire.Team, error) {
	s, err := a.app.trees.session(ctx, id)
	if err != nil {
		return wire.Team{}, err
	}
	t, err := a.app.tree(ctx, s.Root)
	if err != nil {
		return wire.Team{}, err
	}
	out := wire.Team{Members: []wire.Teammate{}}
	err = a.app.trees.store.View(ctx, func(r store.Reader) error {
		root, _, err := foldedFor(r, s.Root)
		if err != nil || root.Team == nil {
			return err
		}
		out.Name, out.Description, out.Members = root.Team.Name, root.Team.Description, []wire.Teammate{}
		for _, s := range t.Sessions {
			if s.ID != root.Session.ID && (s.Parent != root.Session.ID || s.Team != out.Name) {
				continue
			}
			st, said, err := foldedFor(r, s.ID)
			if err != nil {
				return err
			}
			unread, err := r.Unread(s.ID)
			if err != nil {
				return err
			}
			out.Members = append(out.Members, teammate(&st, said, unread, t.Paths[s.ID], root.Board.BegunBy))
		}
		return nil
	})
	return out, err
}

// foldedFor is a session from its log, and what it said last.
func foldedFor(r store.Reader, id troupe.SessionID) (st turn.State, said string, err error) {
	events, err := r.Events(id, 0, 0)
	if err != nil {
		return st, "", fmt.Errorf("read session %s: %w", id, err)
	}
	for _, e := range events {
		if b, ok := e.Body.(troupe.Replied); ok {
			said = cmp.Or(strings.TrimSpace(troupe.JoinText(b.Blocks)), said)
		}
	}
	st, err = turn.Fold(events)
	return st, said, err
}

func teammate(st *turn.State, said string, unread []troupe.Mail, path string, begun func(owner string) []string,
) wire.Teammate {
	s := st.Session
	said, _, _ = strings.Cut(said, "\n")
	out := wire.Teammate{ID: s.ID, Name: displayName(s), Path: path, Type: s.Type, Color: st.Profile.Color,
		Lead: s.Parent == "", Said: said}
	out.Items = begun(out.Name)
	if out.Lead {
		out.Items = append(begun(""), out.Items...)
	}
	switch {
	case s.Status.Live() && !turn.LeavesBy(st, unread).IsZero():
		out.State = wire.TeammateLeaving
	case s.Status.Live() && (s.Waiting == troupe.WaitApproval || s.Waiting == troupe.WaitQuestion):
		out.State = wire.TeammateAsking
	case s.Status.Live():
		out.State = wire.TeammateWorking
	case s.Status == troupe.Completed:
		out.State = wire.TeammateIdle
	default:
		out.State = wire.TeammateStopped
	}
	return out
}
