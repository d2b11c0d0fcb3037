package home

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/wire"
)

// ExportTo is where an export goes.
type ExportTo = app.ExportTo

// Export writes a session that sleeps, or has ended, for another home. It is for a person: what an agent may see of
// other sessions is not for it to take away.
func (h *Home) Export(ctx context.Context, root troupe.SessionID, to ExportTo) (left []string, err error) {
	if err := errors.Join(h.refuseAgent("export sessions"), h.hereOnly("troupe export")); err != nil {
		return nil, err
	}
	return app.Export(ctx, h.app, root, to)
}

// Import makes a session from such a file, asleep.
func (h *Home) Import(ctx context.Context, from io.Reader, o wire.Import) (wire.Imported, error) {
	if err := errors.Join(h.refuseAgent("import sessions"), h.hereOnly("troupe import")); err != nil {
		return wire.Imported{}, err
	}
	return app.Import(ctx, h.app, h.caller, from, o)
}

// refuseAgent refuses a command that an agent has started.
func (h *Home) refuseAgent(what string) error {
	if h.agent == "" {
		return nil
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("this command was started by an agent (session %.40s); agents may not %s", h.agent, what),
		Hint:    "Type it in a terminal of your own.", Code: troupe.ExitPermission,
	}
}
