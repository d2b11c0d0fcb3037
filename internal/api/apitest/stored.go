package apitest

import (
	"context"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Stored implements api.Server.
func (w server) Stored() api.Stored { return stored(w) }

// stored implements api.Stored.
type stored struct{ *World }

// kept is a stored agent with all that one can say.
func kept(name, text string, version int64) wire.StoredAgent {
	v := wire.StoredVersion{Version: version, Hash: "abc", By: "ada<b>", At: Born()}
	return wire.StoredAgent{StoredVersion: v, Name: name, Owner: "ada<b>", Description: "d", Removed: Born(),
		Text: text, Versions: []wire.StoredVersion{v}, Warnings: []string{"w"}}
}

// StoredAgents implements api.Stored, as do the methods below.
func (stored) StoredAgents(context.Context) ([]wire.StoredAgent, error) {
	return []wire.StoredAgent{kept("n", "", 1)}, nil
}

func (stored) StoredAgent(_ context.Context, q wire.StoredQuery) (wire.StoredAgent, error) {
	if q.Name == "none" {
		return wire.StoredAgent{}, noSchedule(troupe.ErrNotFound)
	}
	return kept(q.Name, "t"+q.Version, 3), nil
}

func (w stored) SetStoredAgent(_ context.Context, t wire.StoredTerms) (wire.StoredAgent, error) {
	if t.Name == "none" {
		return wire.StoredAgent{}, noSchedule(troupe.ErrChanged)
	}
	if t.Name == "there" && t.Version == 0 {
		return wire.StoredAgent{}, noSchedule(troupe.ErrExists)
	}
	w.did("store %+v", t)
	return kept(t.Name, t.Text, t.Version+1), nil
}

func (w stored) RemoveStoredAgent(_ context.Context, r wire.StoredRemoval) error {
	return schedules(w).plan(fmt.Sprintf("remove stored %d", r.Version), r.Name)
}
