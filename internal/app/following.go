package app

import (
	"context"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/app/follow"
	"github.com/troupe-dev/troupe/internal/wire"
)

// following implements api.Following.
type following struct{ use }

func (u following) Follow(ctx context.Context, f wire.Follow) (api.Stream, error) {
	return u.App.Follow(ctx, f), nil
}

// Follow begins to follow a tree, whoever runs it.
func (a *App) Follow(ctx context.Context, f wire.Follow) *follow.Follower {
	return a.followers.Follow(ctx, f)
}

// advances reports whether a tree is run by this process, which then announces what it commits.
func (a *App) advances(root troupe.SessionID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.engine != nil && a.engine.hub.Advances(root)
}
