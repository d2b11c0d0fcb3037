package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	// What the program is made of, so that a change of it runs these tests again instead of
	// being answered from go's cache.
	_ "github.com/troupe-dev/troupe/internal/cli"
	"github.com/troupe-dev/troupe/internal/mcp/mcptest"
)

// binary is the real program. Scripts find it on their PATH.
var binary string

// built names a binary that is there already: `make test` gives the one that `make build` makes.
const built = "TROUPE_E2E_BINARY"

// withoutName is the name under which this binary is the command that makes a machine lack something; scripts
// find it beside the program.
const withoutName = "without"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == withoutName {
		fmt.Fprintln(os.Stderr, without(os.Args[1:]))
		os.Exit(1)
	}
	if filepath.Base(os.Args[0]) == mcptest.Name {
		if err := mcptest.Main(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code, err := build(m)
	if err == nil && code == 0 {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func build(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "troupe-e2e-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "troupe")
	if err := program(os.Getenv(built)); err != nil {
		return 1, err
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	for _, name := range []string{withoutName, mcptest.Name} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// program puts the binary where the tests want it: a copy, so that a build beside them changes
// nothing. Without one it is built with the flags of `make build`: with others, everything it is
// made of would be compiled once more.
func program(from string) error {
	if from != "" {
		data, err := os.ReadFile(from)
		if err != nil {
			return fmt.Errorf("%s: %w", built, err)
		}
		return os.WriteFile(binary, data, 0o755)
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", binary,
		"github.com/troupe-dev/troupe/cmd/troupe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build troupe: %w\n%s", err, out)
	}
	return nil
}
