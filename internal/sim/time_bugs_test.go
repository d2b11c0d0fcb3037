package sim_test

import (
	"context"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
)

// deafModel goes on with a call after it was told to stop.
func deafModel() func(*session.Deps) {
	return func(d *session.Deps) { d.Models = deafModels{d.Models} }
}

type deafModels struct{ session.Models }

func (m deafModels) Provider(full string) (model.Provider, string, error) {
	p, id, err := m.Models.Provider(full)
	if err != nil {
		return nil, "", err
	}
	return deaf{p}, id, nil
}

type deaf struct{ model.Provider }

func (p deaf) Stream(ctx context.Context, r model.Request, sink func(model.Delta)) (troupe.Reply, error) {
	return p.Provider.Stream(context.WithoutCancel(ctx), r, sink)
}
