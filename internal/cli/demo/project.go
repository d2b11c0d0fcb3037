package demo

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/tools/txtar"

	"github.com/troupe-dev/troupe"
)

//go:embed login.txtar
var loginProject []byte

// unpackProject writes the project with the bug into an empty folder.
func unpackProject(dir string) error {
	for _, f := range txtar.Parse(loginProject).Files {
		p := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return fmt.Errorf("unpack the demo's project: %w", err)
		}
		if err := os.WriteFile(p, f.Data, 0o644); err != nil {
			return fmt.Errorf("unpack the demo's project: %w", err)
		}
	}
	return nil
}

// commitProject makes the project a repository with one commit, whatever the user's own settings of git are.
func commitProject(ctx context.Context, dir string) error {
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "porch"},
		{"config", "user.email", "porch@example.com"}, {"add", "."}, {"commit", "-qm", "As it is"}} {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "commit.gpgSign=false"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return &troupe.UserError{Problem: fmt.Sprintf("the demo's project could not be put into a repository: "+
				"git %s: %v\n%s", args[0], err, out), Hint: needs("git"), Err: err}
		}
	}
	return nil
}

// needs is what is to be done about a program that is not there; "" if it is.
func needs(program string) string {
	if _, err := exec.LookPath(program); err != nil {
		return "The demo runs `" + program + "`, and it is not on your PATH."
	}
	return ""
}
