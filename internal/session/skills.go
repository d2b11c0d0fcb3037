package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
)

// Skills are those of a folder, as sessions are told of them.
type Skills interface {
	// Describe lists those that are allowed, by their names and files, in room bytes.
	Describe(allowed func(name, file string) bool, room int) string
	// Whole is what a model is told of one that it uses, and its file; ok is false if it may not.
	Whole(name string) (text, file string, ok bool)
}

// skillsFor tells a session which skills it can use.
func (h *Hub) skillsFor(at Surroundings, b briefing) string {
	if at.Skills == nil {
		return ""
	}
	return h.bornWith(at, b) + h.listed(at, b)
}

// bornWith are the skills whose texts a session is told at its birth, as far as rules let it use them.
func (h *Hub) bornWith(at Surroundings, b briefing) string {
	var out strings.Builder
	hidden := gate.Hidden(b.line, []string{at.Folder}, h.d.Home)
	line := slices.Clone(b.line)
	if n := len(line); n > 0 {
		line[n-1].Offered, line[n-1].Without = nil, nil // it need not have the tool
	}
	for _, name := range b.profile.Skills {
		text, file, ok := at.Skills.Whole(name)
		d := h.gate.Decide(gate.Query{Tool: "Skill", Access: troupe.Access{Agent: name}, Chain: line})
		switch {
		case !ok:
			fmt.Fprintf(&out, "(The skill %s, which your definition names, is not to be had here.)\n\n",
				troupe.Escape(name))
		case hidden != nil && hidden(file) || d.Effect == troupe.Deny:
			fmt.Fprintf(&out, "(The skill %s, which your definition names, is denied by a rule.)\n\n",
				troupe.Escape(name))
		default:
			out.WriteString(troupe.Quote("skill", text) + "\n\n")
		}
	}
	return out.String()
}

func (h *Hub) listed(at Surroundings, b briefing) string {
	if may := mayUse(h, b.profile, b.line, at.Folder); may != nil {
		return at.Skills.Describe(may, h.roomForAgents(b.model))
	}
	return ""
}

// mayUse tells which skills rules leave to a session, by name and file; nil: it has no tool for them.
func mayUse(h *Hub, p troupe.Profile, line []gate.Layer, folder string) func(skill, file string) bool {
	for _, name := range p.Tools {
		t, ok := h.d.Tools.Find(name)
		if !ok || t.Argument != troupe.SkillArgument {
			continue
		}
		hidden := gate.Hidden(line, []string{folder}, h.d.Home)
		return func(skill, file string) bool {
			access := troupe.Access{Class: t.Class, Agent: skill}
			return (hidden == nil || !hidden(file)) &&
				h.gate.Decide(gate.Query{Tool: name, Access: access, Chain: line}).Effect != troupe.Deny
		}
	}
	return nil
}

// skillFolders are the folders of skills that a session uses.
func skillFolders(uses []troupe.SkillUse) []string {
	var out []string
	for _, u := range uses {
		if u.Folder != "" {
			out = append(out, u.Folder)
		}
	}
	return out
}

// skillFiles are the files of skills.
func skillFiles(uses []troupe.SkillUse) (out []string) {
	for _, u := range uses {
		out = append(out, u.File)
	}
	return out
}

// follow has a skill that the last event began or ended count for the session and all below it. What it takes away
// may count before the log has it; what a person's next words give back is theirs.
func (a *actor) follow() {
	if a.st.SkillsChanged() && a.tree.chain.has(a.id) {
		a.tree.granted(&a.st)
	}
}
