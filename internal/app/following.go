package app

import (
	"context"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// following implements api.Following.
type following struct{ bound }

func (a following) Follow(_ context.Context, f wire.Follow) (api.Stream, error) {
	return a.app.followers.Follow(f), nil
}

// advances reports whether a tree is run by this process, which then announces what it commits.
func (a *App) advances(root troupe.SessionID) bool {
	e := a.engine.Load()
	return e != nil && e.hub.Runs(root)
}
