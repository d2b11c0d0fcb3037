package client

import (
	"context"
	"strconv"

	"github.com/troupe-dev/troupe/internal/wire"
)

// stored implements api.Stored.
type stored struct{ to *Client }

// StoredAgents implements api.Stored, as do the methods below.
func (c stored) StoredAgents(ctx context.Context) ([]wire.StoredAgent, error) {
	return get[[]wire.StoredAgent](ctx, c.to, "stored-agents", "", nil)
}

func (c stored) StoredAgent(ctx context.Context, q wire.StoredQuery) (wire.StoredAgent, error) {
	return get[wire.StoredAgent](ctx, c.to, "stored-agent", q.Name, queryOf("version", q.Version))
}

func (c stored) SetStoredAgent(ctx context.Context, t wire.StoredTerms) (wire.StoredAgent, error) {
	return once[wire.StoredAgent](ctx, c.to, "set-stored-agent", "", &t, &t.Once)
}

func (c stored) RemoveStoredAgent(ctx context.Context, r wire.StoredRemoval) error {
	query := queryOf()
	if r.Version > 0 {
		query = queryOf("version", strconv.FormatInt(r.Version, 10))
	}
	_, err := call(ctx, c.to, "remove-stored-agent", r.Name, query, nil, nil)
	return err
}
