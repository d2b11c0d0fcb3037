package app

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/people"
	"github.com/troupe-dev/troupe/internal/wire"
)

// peopling implements api.People.
type peopling struct{ bound }

// PeopleOf are those who may use a home as a server.
func PeopleOf(a *App) *people.People { return people.New(a.db, a.env.Now) }

// Me implements api.People, as do the methods below.
func (a peopling) Me(context.Context) (wire.Me, error) {
	return wire.Me{Name: a.caller.Name, Right: a.caller.Right, Version: a.app.env.Version,
		Folders: a.app.env.Folders}, nil
}

func (a peopling) Users(ctx context.Context) ([]wire.User, error) { return PeopleOf(a.app).Users(ctx) }

func (a peopling) SetUser(ctx context.Context, c wire.UserChange) (u wire.UserChanged, err error) {
	if c.Projects, err = a.projects(c.Projects); err != nil {
		return u, err
	}
	err = a.noted(ctx, "set-user", c, func() (err error) { u, err = PeopleOf(a.app).Change(ctx, c); return err })
	return u, err
}

// projects are those of a user by the real names of their folders, which lie in the server's. A right that is taken
// away is that in a folder of either name: a link may stand there by now.
func (a peopling) projects(named troupe.Projects) (out troupe.Projects, err error) {
	for _, p := range named {
		real, err := filepath.EvalSymlinks(p.Folder)
		switch in := a.app.env.Folders; {
		case p.Right == troupe.RightNone:
			out = append(out, p)
			if err == nil {
				out = append(out, troupe.Project{Folder: real, Right: p.Right})
			}
		case !filepath.IsAbs(p.Folder), err != nil, len(in) > 0 && !troupe.WithinAny(real, in):
			return nil, &troupe.UserError{
				Problem: fmt.Sprintf("%.200q is no folder of this server: a project is named by its whole name, and "+
					"lies in %s", p.Folder, cmp.Or(strings.Join(in, " or "), "a folder that it serves")),
				Hint: "`troupe login --status` tells the folders of a server.", Code: troupe.ExitUsage}
		default:
			out = append(out, troupe.Project{Folder: real, Right: p.Right})
		}
	}
	return out, nil
}

func (a peopling) Tokens(ctx context.Context) ([]wire.Token, error) {
	all, err := PeopleOf(a.app).Tokens(ctx)
	for i := range all {
		all[i].Yours = all[i].ID == a.caller.Token
	}
	return all, err
}

func (a peopling) Revoke(ctx context.Context, r wire.Revoke) error {
	id := cmp.Or(r.ID, a.caller.Token)
	switch {
	case id == "":
		return &troupe.UserError{Problem: "no token is named, and this call came with none",
			Hint: "`troupe users tokens` lists them.", Code: troupe.ExitUsage}
	case id != a.caller.Token && !a.caller.Right.Covers(troupe.RightAdmin):
		return troupe.NotAllowed(troupe.RightAdmin)
	}
	return a.noted(ctx, "revoke", r, func() error { return PeopleOf(a.app).Revoke(ctx, id) })
}
