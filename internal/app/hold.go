package app

import (
	"context"

	"github.com/troupe-dev/troupe"
)

// Holds reports whether this process has a tree in hand. It loses one that is idle to whoever
// goes on with it elsewhere; Start takes it up again.
func (a *App) Holds(ctx context.Context, root troupe.SessionID) (bool, error) {
	t, err := a.tree(ctx, root)
	return err == nil && a.isOwner(t.Lease.Owner), err
}

// FirstModel is the model that a new session would begin with if it was asked for by this
// name; "" leaves the choice to the settings.
func (a *App) FirstModel(name, cwd string) (full string, err error) {
	if full, err = a.models.Default(name, cwd); err != nil {
		return "", err
	}
	_, _, err = a.models.Provider(full)
	return full, err
}
