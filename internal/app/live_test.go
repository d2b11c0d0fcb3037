package app

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
)

// TestAPI plays everything that can be asked for in this process.
func TestAPI(t *testing.T) {
	t.Parallel()
	a := openHome(t, t.TempDir())
	apitest.Live(t, you(a), troupe.You(troupe.SurfaceCommand))
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
