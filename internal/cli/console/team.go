package console

import (
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe/internal/wire"
)

// Team lists the agents of a team. Names are in the color that an agent's definition gives it, if there is color.
func (c *Console) Team(t wire.Team) error {
	if len(t.Members) == 0 {
		return c.Say("There is no team: the main agent makes one if you ask for it, and `troupe team` begins with one.")
	}
	head := "team     " + Line(t.Name, 0)
	if t.Description != "" {
		head += ": " + Line(t.Description, 0)
	}
	if _, err := fmt.Fprintln(c.Out, head); err != nil {
		return err
	}
	table := c.Table(Column{Title: "NAME"}, Column{Title: "ROLE", Spare: 1}, Column{Title: "STATE"},
		Column{Title: "TASKS", Spare: 2}, Column{Title: "SAID LAST"})
	for _, m := range t.Members {
		name, role, items := painted(Line(m.Name, 40)), Line(m.Type, 24), ""
		if code := AgentColor(m.Color, 0); code != 0 && c.Color(c.OutTTY) {
			name = painted(Paint(true, code, string(name)))
		}
		if m.Lead {
			role = "lead"
		}
		for _, id := range m.Items {
			items += " #" + id
		}
		table.Row(name, role, m.State, strings.TrimSpace(items), Line(m.Said, 200))
	}
	return table.Write()
}
