package cmd

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/cli/console"
)

// newVersion makes the command.
func newVersion(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Say which version this is", Args: console.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			platform := runtime.GOOS + "/" + runtime.GOARCH
			if asJSON {
				return c.JSON(map[string]string{"version": c.Version, "go": runtime.Version(), "platform": platform})
			}
			_, err := fmt.Fprintf(c.Out, "troupe %s (%s, %s)\n", c.Version, runtime.Version(), platform)
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
