package httpd

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Noticed is the {target} of a path.
type Noticed struct {
	Name string `path:"target" maxLength:"64" doc:"The name of a target"`
}

func (o *operations) targets(h huma.API) {
	query(o, h, "targets", func(a api.API, ctx context.Context, _ *struct{}) ([]wire.Target, error) {
		return targets(a).Targets(ctx)
	})
	query(o, h, "target", func(a api.API, ctx context.Context, in *Noticed) (wire.Target, error) {
		return targets(a).Target(ctx, in.Name)
	})
	of(o, h, "set-target", targets, api.Targets.SetTarget)
	do(o, h, "remove-target", func(a api.API, ctx context.Context, in *Noticed) error {
		return targets(a).RemoveTarget(ctx, in.Name)
	})
	query(o, h, "test-target", func(a api.API, ctx context.Context, in *Noticed) (wire.NoticeTry, error) {
		return targets(a).TestTarget(ctx, in.Name)
	})
	query(o, h, "replay-target", func(a api.API, ctx context.Context, in *struct {
		Noticed

		Body wire.Replay
	},
	) (wire.Replayed, error) {
		return targets(a).ReplayTarget(ctx, in.Name, in.Body)
	})
}

func targets(a api.API) api.Targets { return a.Server().Targets() }
