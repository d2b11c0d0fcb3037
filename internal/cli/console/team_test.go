package console

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/wire"
)

// TestTeamColors: names of a roster are in the colors that their definitions give them, where there is color, and the
// columns stand below each other all the same.
func TestTeamColors(t *testing.T) {
	t.Parallel()
	team := wire.Team{Name: "t", Members: []wire.Teammate{
		{Name: "main", Lead: true, State: wire.TeammateIdle},
		{Name: "Ann", Type: "worker", State: wire.TeammateIdle, Color: "red", Items: []string{"1", "2"}},
		{Name: "Benedict", Type: "worker", State: wire.TeammateLeaving, Color: "cyan"},
		{Name: "Carl", Type: "worker", State: wire.TeammateIdle, Color: "none of ours"},
	}}
	const plain = "team     t\nNAME      ROLE    STATE    TASKS  SAID LAST\nmain      lead    idle\n" +
		"Ann       worker  idle     #1 #2\nBenedict  worker  leaving\nCarl      worker  idle\n"
	colored := strings.NewReplacer("Ann", "\x1b[31mAnn\x1b[0m", "Benedict", "\x1b[36mBenedict\x1b[0m").Replace(plain)
	for want, env := range map[string]string{plain: "NO_COLOR", colored: "FORCE_COLOR"} {
		var b strings.Builder
		c := &Console{Out: &b, Width: 100, Lookup: func(name string) (string, bool) { return "1", name == env }}
		if err := c.Team(team); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(b.String()) {
			got = append(got, strings.TrimRight(line, " \n")+"\n")
		}
		if strings.Join(got, "") != want {
			t.Errorf("%s:\n%q\nand not\n%q", env, strings.Join(got, ""), want)
		}
	}
}
