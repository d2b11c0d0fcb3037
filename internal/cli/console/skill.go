package console

import (
	"strings"

	"github.com/troupe-dev/troupe"
)

// ofSkill is what a person should know of the use of a skill, a line each: what it leaves of the tools, and what of its
// text was not done.
func ofSkill(u *troupe.SkillUse) (lines []string) {
	if u == nil {
		return nil
	}
	if n := u.Narrows; n != nil {
		text := "the skill " + Line(u.Name, 60) + " leaves "
		switch {
		case n.Tools == nil:
			text += "all tools"
		case len(n.Tools) == 0:
			text += "no tool"
		default:
			text += "only " + Line(strings.Join(n.Tools, ", "), 300)
		}
		if len(n.Without) > 0 {
			text += " without " + Line(strings.Join(n.Without, ", "), 200)
		}
		lines = append(lines, text+" until your next prompt, and allows none of them")
	}
	for _, l := range u.Left {
		lines = append(lines, Line(l, 400))
	}
	return lines
}

// SkillsOf is what a person should know of the skills that an event brings into use, a line each.
func SkillsOf(body troupe.Body) (lines []string) {
	switch b := body.(type) {
	case troupe.ToolFinished:
		return ofSkill(b.Skill)
	case troupe.MailDelivered:
		for i := range b.Mail {
			lines = append(lines, ofSkill(b.Mail[i].Uses)...)
		}
	}
	return lines
}
