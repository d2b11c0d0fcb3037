package chat

import (
	"context"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// know looks up, before a line is acted on, whether it is a command of a file. The conversation's own come first.
func know(ctx context.Context, v *conversation, line string) {
	name, _, ok := wire.SlashCommand(line)
	if !ok || wire.BuiltInCommand(strings.ToLower(name)) {
		return
	}
	v.m.skills = map[string]bool{}
	for _, s := range skillsOf(ctx, v) {
		v.m.skills[strings.ToLower(s.Name)] = true
	}
}

// skillsOf are the commands of files that people can say here. That they cannot be read is said where one is used.
func skillsOf(ctx context.Context, v *conversation) []wire.Skill {
	list, err := v.trees.api.Skills(ctx, wire.SkillQuery{Place: placeOf(v)})
	if err != nil {
		return nil
	}
	var out []wire.Skill
	for _, s := range list.Skills {
		if s.People {
			out = append(out, s)
		}
	}
	return out
}

// ofFile reports whether a line is a command of a file.
func (m *machine) ofFile(line string) bool {
	name, _, ok := wire.SlashCommand(line)
	return ok && !wire.BuiltInCommand(strings.ToLower(name)) && m.skills[strings.ToLower(name)]
}

// literal keeps what is no command of a file from being taken for one.
func literal(m *machine, text string) string {
	if _, _, ok := wire.SlashCommand(text); ok && !m.ofFile(text) {
		return "/" + strings.TrimSpace(text)
	}
	return text
}

// mostSkillsHelp is how many commands of files /help lists.
const mostSkillsHelp = 20

// skillHelp is the part of /help about commands of files.
func skillHelp(list []wire.Skill, width int) string {
	var b strings.Builder
	for i, s := range list {
		if i == mostSkillsHelp {
			fmt.Fprintf(&b, "  and %d more: `troupe skills`\n", len(list)-i)
			break
		}
		head := "/" + s.Name
		if s.Hint != "" {
			head += " " + s.Hint
		}
		room := 120
		if width > 2*helpIndent {
			room = width - helpIndent
		}
		b.WriteString(helpRow(console.Line(head, max(min(room, 60), 20)), []string{console.Line(s.Description, room)}))
	}
	return b.String()
}
