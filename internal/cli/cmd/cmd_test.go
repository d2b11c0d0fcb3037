package cmd

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// leftWorld is a home whose tree no process runs.
type leftWorld struct{ *apitest.World }

func (w leftWorld) Tree(ctx context.Context, root troupe.SessionID) (wire.Tree, error) {
	t, err := w.World.Tree(ctx, root)
	t.Running, t.Here, t.Owner = false, false, wire.Owner{}
	return t, err
}
