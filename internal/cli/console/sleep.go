package console

import (
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Asleep is what whoever ran a session is told when it was put away.
func Asleep(session string) error {
	return &troupe.UserError{Problem: fmt.Sprintf("session %s was put away, and is asleep", session),
		Hint: "Wake it with: troupe wake " + session, Code: troupe.ExitInterrupted, Err: troupe.ErrAsleep}
}

// Slept says what became of a session that was put away.
func Slept(c *Console, name string, s wire.Slept) string {
	var b strings.Builder
	fmt.Fprintf(&b, "asleep; wake it with: troupe wake %s\n", Line(name, 0))
	if s.Models > 0 {
		fmt.Fprintf(&b, "  cut off: %s of a model, asked for again when it wakes\n", Count(s.Models, "reply"))
	}
	for _, what := range s.Calls {
		fmt.Fprintf(&b, "  cut off: a call of %s, which may have taken effect\n", Line(what, 80))
	}
	for _, what := range s.Commands {
		fmt.Fprintf(&b, "  ended: the background command %s\n", Line(what, 80))
	}
	if s.Problem != "" {
		fmt.Fprintf(&b, "  stays: each worktree and copy of its agents, for they could not be listed: %s\n",
			Line(s.Problem, 0))
	}
	for _, f := range s.Folders {
		if f.Gone {
			fmt.Fprintf(&b, "  put away: %s (all of it is kept, and made again when it wakes)\n", Line(f.Name, 80))
		} else {
			fmt.Fprintf(&b, "  stays: %s, for %s\n", Line(c.ShortPath(f.Folder), 0), Line(f.Why, 0))
		}
	}
	return b.String()
}
