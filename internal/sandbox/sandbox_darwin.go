package sandbox

import (
	"context"
	"os"

	"github.com/troupe-dev/troupe"
)

const sandboxExec = "/usr/bin/sandbox-exec"

// Sandbox starts confined commands by way of sandbox-exec.
type Sandbox struct{ off bool }

// New returns a Sandbox.
func New(o Options) *Sandbox { return &Sandbox{off: o.Landlock < 0} }

// Probe looks whether sandbox-exec is there.
func Probe(ctx context.Context) Support { return New(Options{}).Support(ctx) }

// Support is what there is to confine commands with.
func (s *Sandbox) Support(context.Context) Support { return s.report() }

func (s *Sandbox) report() Support {
	r := Support{OS: "darwin", LandlockNote: "not available on darwin", NamespacesNote: "not available on darwin",
		NotifyNote: "not available on darwin"}
	if _, err := os.Stat(sandboxExec); err != nil {
		r.LandlockNote = err.Error()
		return r
	}
	r.Untested = !s.off
	return r
}

// Levels are the sandboxes that can be had.
func (s *Sandbox) Levels() []troupe.Level { return s.report().Levels() }

// Command is a confined command that was started.
type Command struct {
	process *os.Process
	ledger  *ledger
}

// Process is the command's process.
func (c *Command) Process() *os.Process { return c.process }

// Done is called once, after the command and all that it started have ended.
func (c *Command) Done() troupe.Watched {
	return troupe.Watched{Blind: true, Restored: c.ledger.settle()}
}

// Start starts a program as os.StartProcess does, confined.
func (s *Sandbox) Start(c troupe.Confinement, bin string, argv []string, attr *os.ProcAttr) (*Command, error) {
	if c.Level != troupe.LevelNone {
		if len(s.Levels()) == 0 {
			return nil, &UnavailableError{Level: c.Level.Meet(troupe.LevelWorkspace), Why: "there is no sandbox-exec"}
		}
		argv = append([]string{"sandbox-exec", "-p", seatbelt(c), bin}, argv[1:]...)
		bin = sandboxExec
	}
	p, err := os.StartProcess(bin, argv, attr)
	if err != nil {
		return nil, err
	}
	return &Command{process: p, ledger: &ledger{}}, nil
}
