package app

import (
	"errors"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/people"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestRevokes: each may revoke the token that they call with; those of others are for admins, who revoke the one they
// name and not their own.
func TestRevokes(t *testing.T) {
	t.Parallel()
	a := openHome(t, t.TempDir())
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	p := PeopleOf(a)
	signIn := func(name string, right troupe.Right) (string, troupe.Caller) {
		t.Helper()
		u, err := p.Change(t.Context(), wire.UserChange{Name: name, Right: right, Invite: true})
		if err != nil {
			t.Fatal(err)
		}
		in, err := p.SignIn(t.Context(), wire.SignIn{Code: u.Code})
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.Whose(t.Context(), in.Token)
		if err != nil {
			t.Fatal(err)
		}
		return in.Token, c
	}
	adminToken, admin := signIn("ann", troupe.RightAdmin)
	viewerToken, viewer := signIn("bob", troupe.RightViewer)
	_, operator := signIn("cleo", troupe.RightOperator)
	spareToken, spare := signIn("bob", troupe.RightViewer)
	for _, x := range []struct {
		who     troupe.Caller
		id      string
		refused bool
	}{
		{viewer, admin.Token, true},
		{viewer, operator.Token, true},
		{viewer, "none", true},
		{operator, viewer.Token, true},
		{troupe.You(troupe.SurfaceCommand), "", true}, // no token was named, and there is none
		{admin, spare.Token, false},
		{operator, operator.Token, false},
		{troupe.You(troupe.SurfaceCommand), viewer.Token, false},
	} {
		err := a.As(x.who).Server().People().Revoke(t.Context(), wire.Revoke{ID: x.id})
		if _, user := errors.AsType[*troupe.UserError](err); user != x.refused || !x.refused && err != nil {
			t.Errorf("%s (%s) revokes %q: %v", x.who.Name, x.who.Right, x.id, err)
		}
	}
	for token, holds := range map[string]bool{adminToken: true, viewerToken: false, spareToken: false} {
		if c, err := p.Whose(t.Context(), token); (err == nil) != holds || err != nil &&
			!errors.Is(err, people.ErrStranger) {
			t.Errorf("the token is %s's: %v", c.Name, err)
		}
	}
	mine, err := a.As(admin).Server().People().Tokens(t.Context())
	if err != nil || len(mine) != 1 || !mine[0].Yours || mine[0].User != "ann" || time.Until(mine[0].ExpiresAt) < 0 {
		t.Errorf("the tokens are %+v, %v", mine, err)
	}
	if err := a.As(admin).Server().People().Revoke(t.Context(), wire.Revoke{}); err != nil {
		t.Error(err)
	}
	if _, err := p.Whose(t.Context(), adminToken); !errors.Is(err, people.ErrStranger) {
		t.Errorf("an admin's own token: %v", err)
	}
}
