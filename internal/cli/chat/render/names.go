package render

import (
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Know tells the view of the sessions of its tree, in the order of their birth, which is what numbers
// them: an agent has the same number wherever it is shown, and after the conversation went on.
func (v *View) Know(sessions []wire.Session) {
	var known []*agent
	for _, s := range sessions {
		a := v.agent(s.ID)
		a.name, a.kind, a.title, a.parent = s.Name, s.Type, s.Title, s.Parent
		if s.ID != v.main {
			known = append(known, a)
		}
	}
	for _, a := range v.byNum {
		if !slices.Contains(known, a) {
			known = append(known, a)
		}
	}
	for i, a := range known {
		a.num = i + 1
	}
	v.byNum = known
}

// Knows reports whether the view was told of a session or has shown something of it.
func (v *View) Knows(id troupe.SessionID) bool { return v.agents[id] != nil }

// Find looks a sub-agent up by its number, its name, or the beginning of its id.
func (v *View) Find(word string) (troupe.SessionID, bool) {
	word = strings.TrimPrefix(strings.TrimSpace(word), "#")
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(v.byNum) {
		return v.byNum[n-1].id, true
	}
	var found *agent
	for _, a := range v.byNum {
		if strings.EqualFold(a.name, word) {
			return a.id, true
		}
		if troupe.IsIDPrefix(word) && strings.HasPrefix(string(a.id), word) {
			if found != nil {
				return "", false
			}
			found = a
		}
	}
	if found == nil {
		return "", false
	}
	return found.id, true
}

// Number is a sub-agent's number; 0 for others.
func (v *View) Number(id troupe.SessionID) int {
	if a := v.agents[id]; a != nil {
		return a.num
	}
	return 0
}

// Called is how an agent is named to people, with its number.
func (v *View) Called(id troupe.SessionID) string { return v.who(id) }

// Below reports whether a session is id, or works for it.
func (v *View) Below(session, id troupe.SessionID) bool {
	for session != id {
		a := v.agents[session]
		if a == nil || a.parent == "" {
			return false
		}
		session = a.parent
	}
	return true
}

// Of makes a view of the same tree in which one agent's words are shown whole, as the main agent's are
// in this one. What is kept for Whole is kept for both.
func (v *View) Of(id troupe.SessionID) *View {
	out := New(id, v.o)
	out.main, out.shelf = v.main, v.shelf
	for _, a := range v.agents {
		b := &agent{id: a.id, num: a.num, name: a.name, kind: a.kind, title: a.title, parent: a.parent,
			calls: make(map[troupe.Coord]troupe.Call)}
		out.agents[a.id] = b
	}
	for _, a := range v.byNum {
		out.byNum = append(out.byNum, out.agents[a.id])
	}
	return out
}

func (v *View) agent(id troupe.SessionID) *agent {
	a := v.agents[id]
	if a == nil {
		a = &agent{id: id, calls: make(map[troupe.Coord]troupe.Call)}
		if id != v.main {
			v.byNum = append(v.byNum, a)
			a.num = len(v.byNum)
		}
		v.agents[id] = a
	}
	return a
}

// isMain reports whether an agent is the one whose words are shown whole.
func (v *View) isMain(a *agent) bool { return a.id == v.root }
