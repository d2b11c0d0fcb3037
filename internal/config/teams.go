package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Team is a team that is begun by its name.
type Team struct {
	Description string
	Members     []troupe.NewMember // besides the main agent, which leads it
}

// teamsOf reads the teams of a file.
func teamsOf(p *parser, n node, to *map[string]Team) {
	if !p.want(n, kindObject, "an object in braces") {
		return
	}
	*to = make(map[string]Team, len(n.members))
	for _, m := range n.members {
		prefix := "teams." + m.key + "."
		if _, twice := (*to)[m.key]; twice || strings.TrimSpace(m.key) == "" {
			p.fail(m.at, quote(m.key)+" cannot be the name of a team: it is empty, or stands here twice")
			return
		}
		var t Team
		p.object(m.value, prefix, map[string]func(node){
			"description": func(n node) { p.str(n, &t.Description) },
			"members":     func(n node) { membersOf(p, n, prefix+"members.", &t.Members) },
		})
		if p.err == nil && len(t.Members) == 0 {
			p.fail(m.at, "the team "+quote(m.key)+" has no `members`")
			return
		}
		(*to)[m.key] = t
	}
}

func membersOf(p *parser, n node, prefix string, to *[]troupe.NewMember) {
	if !p.want(n, kindArray, "a list in brackets") {
		return
	}
	for _, item := range n.items {
		var m troupe.NewMember
		p.object(item, prefix, map[string]func(node){
			"name":   func(n node) { p.str(n, &m.Name) },
			"type":   func(n node) { p.str(n, &m.Type) },
			"prompt": func(n node) { p.str(n, &m.Prompt) },
		})
		if p.err == nil && strings.TrimSpace(m.Name) == "" {
			p.fail(item.at, "a member of a team has no `name`, by which others write to it")
			return
		}
		*to = append(*to, m)
	}
}

// teammatesOf reads where members of a team are shown.
func teammatesOf(p *parser, n node, to *troupe.TeammateMode) {
	if !p.want(n, kindString, "a mode in quotes") {
		return
	}
	mode := troupe.TeammateMode(n.text)
	if slices.Contains(troupe.TeammateModes(), mode) {
		*to = mode
		return
	}
	problem := fmt.Sprintf("%s is %s, but the modes are auto, tmux, iterm2 and in-process", quote(p.key), quote(n.text))
	if !p.lenient {
		p.fail(n.at, problem)
		return
	}
	p.warn(n.at, p.key, problem+"; it is left out")
}
