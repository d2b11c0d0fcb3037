package run

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/cli/panes"
)

func teammateModes() (out []string) {
	for _, m := range troupe.TeammateModes() {
		out = append(out, string(m))
	}
	return out
}

// checkTeammates refuses a mode that there is not, and panes where no conversation is held at a terminal.
func (f flags) checkTeammates(c *console.Console, args []string) error {
	switch mode := troupe.TeammateMode(f.teammates); {
	case f.teammates == "":
		return nil
	case !slices.Contains(teammateModes(), f.teammates):
		return console.Usage("there is no teammate mode %q; there are auto, tmux, iterm2 and in-process", f.teammates)
	case mode == troupe.TeammatesAuto || mode == troupe.TeammatesInProcess:
		return nil
	case f.input != formatWords || !f.talks(c, args) || !c.InTTY || !c.OutTTY:
		return console.Usage("--teammate-mode %s is for a conversation at a terminal; without one members have no "+
			"panes, and troupe attach shows one in another terminal", f.teammates)
	}
	return nil
}

// teammates says where members of a team have panes. A mode of the command line that cannot be had is an error at once;
// one of the settings is told when there is a team.
func teammates(ctx context.Context, c *console.Console, h *home.Home, flag string) (
	func(context.Context, troupe.SessionID) panes.Found, error) {
	mode := h.TeammateMode()
	place := panes.Place{Lookup: c.Lookup}
	if flag != "" {
		mode = troupe.TeammateMode(flag)
		if missing := panes.Detect(ctx, mode, place).Missing; missing != "" && mode != troupe.TeammatesAuto {
			return nil, &troupe.UserError{Problem: fmt.Sprintf("--teammate-mode %s cannot be had: %s", flag, missing),
				Hint: "Without the flag, members have panes where there can be some.", Code: troupe.ExitUsage}
		}
	}
	viewer, err := viewerCommand(c)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, root troupe.SessionID) panes.Found {
		place := place
		place.Viewer, place.Root = viewer, root
		return panes.Detect(ctx, mode, place)
	}, nil
}

// viewerCommand shows an agent in a terminal whose programs do not have the environment of this process, but look into
// the same home.
func viewerCommand(c *console.Console) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that shows agents in panes: %w", err)
	}
	out := []string{"env"}
	for _, name := range [...]string{"HOME", "TROUPE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
		"XDG_RUNTIME_DIR", "NO_COLOR"} {
		if v, ok := c.Lookup(name); ok && v != "" {
			out = append(out, name+"="+v)
		}
	}
	return append(out, self, "attach"), nil
}
