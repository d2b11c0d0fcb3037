package app

import (
	"context"
	"errors"

	"github.com/troupe-dev/troupe/internal/wire"
)

// machine implements api.Machine.
type machine struct{ bound }

func (a machine) Model(_ context.Context, name, cwd string) (full string, err error) {
	if full, err = a.app.defaultModel(name, cwd); err != nil {
		return "", err
	}
	_, _, err = a.app.models.Provider(full)
	return full, err
}

// defaultModel is the model that a run in a folder would begin with.
func (a *App) defaultModel(name, cwd string) (string, error) {
	p, err := a.policyOf(cwd)
	if err != nil {
		return "", err
	}
	return a.models.Default(name, p.settings.Model, cwd)
}

// at is a run that would be begun at a place.
func at(p wire.Place) wire.Begin {
	return wire.Begin{Cwd: p.Cwd, Model: p.Model, Role: wire.Role{Agents: p.Agents}, Permissions: p.Permissions}
}

func (a machine) Explain(ctx context.Context, p wire.Place, calls []wire.Call) (out wire.Explained, err error) {
	x, warnings, err := a.explainerAt(ctx, at(p))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	out = wire.Explained{Verdicts: make([]wire.Verdict, len(calls)), Warnings: warnings}
	for i, c := range calls {
		if err := context.Cause(ctx); err != nil {
			return out, err // many calls and rules take seconds
		}
		out.Verdicts[i] = x.judge(c)
	}
	return out, nil
}
