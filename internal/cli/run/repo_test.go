package run

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/cli/console"
)

// TestRepositoryFlags: what a repository needs is refused without one, one is refused where a session has its folder,
// and an empty value is none of either.
func TestRepositoryFlags(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"--ref main": "go with --repo", "--push": "go with --repo", "--pull-request": "go with --repo",
		"--repo https://h/r --cwd /src":      "both say where to work",
		"--repo https://h/r --resume x":      "begins a new session",
		"--repo https://h/r --continue":      "begins a new session",
		"--repo=":                            "--repo is empty",
		"--repo https://h/r --ref=":          "--ref is empty",
		"--repo https://h/r --ref main":      "",
		"--repo https://h/r --pull-request":  "",
		"--repo https://h/r --push --name x": "",
	} {
		var b bytes.Buffer
		c := &console.Console{Out: &b, Err: &b, Cwd: "/src"}
		cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
		configure(cmd, c, func(_ context.Context, f flags, _ Input, _ []string) error {
			_, err := base(c, f)
			return err
		})
		cmd.SetOut(io.Discard)
		cmd.SetArgs(append(strings.Fields(said), "-p", "look"))
		err := cmd.ExecuteContext(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", said, err, want)
		}
	}
}
