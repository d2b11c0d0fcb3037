package httpd

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// StoredName is the {agent} of a path.
type StoredName struct {
	Name string `path:"agent" maxLength:"64" doc:"The name of a stored agent"`
}

func storedAgents(a api.API) api.Stored { return a.Server().Stored() }

func (o *operations) stored(h huma.API) {
	query(o, h, "stored-agents", func(a api.API, ctx context.Context, _ *struct{}) ([]wire.StoredAgent, error) {
		return storedAgents(a).StoredAgents(ctx)
	})
	queryTagged(o, h, "stored-agent", func(a api.API, ctx context.Context, in *struct {
		StoredName

		Version string `query:"version" maxLength:"64" doc:"Its number, or the beginning of its hash; without it the newest"`
	},
	) (wire.StoredAgent, error) {
		return storedAgents(a).StoredAgent(ctx, wire.StoredQuery{Name: in.Name, Version: in.Version})
	})
	queryTagged(o, h, "set-stored-agent", func(a api.API, ctx context.Context, in *struct {
		Match

		Body wire.StoredTerms
	},
	) (out wire.StoredAgent, err error) {
		if in.Body.Version, err = in.version(ctx, storedAgents(a), in.Body.Name, in.Body.Version); err != nil {
			return out, err
		}
		out, err = storedAgents(a).SetStoredAgent(ctx, in.Body)
		return out, in.failed(err)
	})
	do(o, h, "remove-stored-agent", func(a api.API, ctx context.Context, in *struct {
		StoredName
		Match

		Version int64 `query:"version" minimum:"0" doc:"The version that is the newest, as If-Match can say too; without either, whichever is"`
	},
	) error {
		version, err := in.version(ctx, storedAgents(a), in.Name, in.Version)
		if err == nil && in.IfNoneMatch != "" {
			err = otherVersion("that is none")
		}
		if err != nil {
			return err
		}
		return storedAgents(a).RemoveStoredAgent(ctx, wire.StoredRemoval{Name: in.Name, Version: version})
	})
}

// version is the one that a change is of: what was sent with it, or what the header names. What the header names is not
// looked up, so that a change which is made again under its key is known as that.
func (m Match) version(ctx context.Context, a api.Stored, name string, sent int64) (int64, error) {
	p := wire.Precondition{}
	if err := m.into(&p); err != nil {
		return 0, err
	}
	tag := p.IfMatch
	switch {
	case p.IfNew && sent != 0:
		return 0, otherVersion("*")
	case tag == "":
		return sent, nil
	}
	if tag == "*" {
		now, err := a.StoredAgent(ctx, wire.StoredQuery{Name: name})
		return cmp.Or(sent, now.Version), err
	}
	n, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64)
	if err == nil && n > 0 && tag == wire.VersionTag(n) && (sent == 0 || sent == n) {
		return n, nil
	}
	return 0, otherVersion(tag)
}

func otherVersion(tag string) error {
	return &troupe.UserError{Problem: "a stored agent has no version " + tag + " beside that of the call",
		Hint: "Look at it again: its ETag is its version.", Code: troupe.ExitUsage, Err: troupe.ErrChanged}
}
