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
)

// binary is the real program, built once. Scripts find it on their PATH.
var binary string

func TestMain(m *testing.M) {
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
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-o", binary, "github.com/troupe-dev/troupe/cmd/troupe")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build troupe: %w\n%s", err, out)
	}
	return m.Run(), nil
}
