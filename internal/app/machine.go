package app

import (
	"context"
	"errors"

	"github.com/troupe-dev/troupe/internal/wire"
)

// machine implements api.Machine.
type machine struct{ use }

func (u machine) Model(_ context.Context, name, cwd string) (string, error) {
	return u.FirstModel(name, cwd)
}

// at is a run that would be begun at a place.
func at(p wire.Place) Request {
	return Request{
		Cwd: p.Cwd, Model: p.Model, Agents: p.Agents,
		Permissions: Permissions{Mode: string(p.Mode), Allow: p.Allow, Deny: p.Deny, Trust: p.Trust},
	}
}

func (u machine) Rules(ctx context.Context, p wire.Place) (wire.RuleList, error) {
	list, warnings, err := u.App.Rules(ctx, at(p))
	list.Warnings = warnings
	return list, err
}

func (u machine) Explain(ctx context.Context, p wire.Place, calls []wire.Call) (out wire.Explained, err error) {
	x, warnings, err := u.App.Explain(ctx, at(p))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	out = wire.Explained{Verdicts: make([]wire.Verdict, len(calls)), Warnings: warnings}
	for i, c := range calls {
		out.Verdicts[i] = x.Judge(c)
	}
	return out, nil
}
