//go:build !darwin && !(linux && (amd64 || arm64))

package sandbox

import (
	"context"
	"os"
	"runtime"

	"github.com/troupe-dev/troupe"
)

// Sandbox has nothing to confine with here.
type Sandbox struct{}

// New returns a Sandbox.
func New(Options) *Sandbox { return &Sandbox{} }

// Probe has nothing to ask here.
func Probe(context.Context) Support {
	why := "not available on " + runtime.GOOS + "/" + runtime.GOARCH
	return Support{OS: runtime.GOOS, LandlockNote: why, NamespacesNote: why, NotifyNote: why}
}

// Support is what there is to confine commands with.
func (*Sandbox) Support(ctx context.Context) Support { return Probe(ctx) }

// Levels are the sandboxes that can be had: none.
func (*Sandbox) Levels() []troupe.Level { return nil }

// Command is a confined command.
type Command struct{}

// Process is its process.
func (*Command) Process() *os.Process { return nil }

// Done is called once, after the command has ended.
func (*Command) Done() troupe.Watched { return troupe.Watched{} }

// Start starts nothing.
func (*Sandbox) Start(c troupe.Confinement, _ string, _ []string, _ *os.ProcAttr) (*Command, error) {
	return nil, &UnavailableError{Level: c.Level.Meet(troupe.LevelNone),
		Why: "nothing confines commands on " + runtime.GOOS + "/" + runtime.GOARCH}
}
