package app

import (
	"context"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/trust"
	"github.com/troupe-dev/troupe/internal/wire"
)

// trusting implements api.Trusting.
type trusting struct{ bound }

func (a trusting) Untrusted(_ context.Context, cwd string) ([]wire.Untrusted, error) {
	p, err := a.app.policyOf(cwd)
	if err != nil {
		return nil, err
	}
	out := []wire.Untrusted{}
	for _, q := range p.trust.Questions {
		out = append(out, wire.Untrusted{
			Folder: q.Fingerprint.Folder, Lines: q.Fingerprint.Lines(), Changed: q.Verdict.Before,
			Added: q.Verdict.Added, Gone: q.Verdict.Gone,
			Edited: q.Verdict.Edited, Wide: q.Fingerprint.Wide, Hash: q.Fingerprint.Hash,
			TooMuch: q.Fingerprint.TooMuch,
		})
	}
	return out, nil
}

func (a trusting) Trust(_ context.Context, t wire.Trust) error {
	p, err := a.app.policyOf(t.Cwd)
	if err != nil {
		return err
	}
	for _, q := range p.trust.Questions {
		if q.Fingerprint.Folder == t.Folder && q.Fingerprint.Hash == t.Hash {
			if err := trust.In(trustFolder(a.app.dirs)).Grant(q.Fingerprint, true); err != nil {
				return refusedTrust(err)
			}
			return nil
		}
	}
	return &troupe.UserError{
		Problem: "the files of " + t.Folder + " are not those that were shown; nothing was trusted",
		Hint:    "Look at what they would allow, and decide again.", Code: troupe.ExitUsage, Err: troupe.ErrNotFound,
	}
}
