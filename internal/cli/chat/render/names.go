package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Cast are the agents of a tree, by the names and numbers under which they are shown.
type Cast struct {
	main   troupe.SessionID
	agents map[troupe.SessionID]*agent
	byNum  []*agent // sub-agents, in the order of their birth
}

// Know tells of the sessions of the tree, in the order of their birth, which is what numbers
// them: an agent has the same number wherever it is shown, and after the conversation went on.
func (c *Cast) Know(sessions []wire.Session) {
	var known []*agent
	for _, s := range sessions {
		a := c.agent(s.ID)
		a.name, a.kind, a.title, a.parent = s.Name, s.Type, s.Title, s.Parent
		if s.ID != c.main {
			known = append(known, a)
		}
	}
	for _, a := range c.byNum {
		if !slices.Contains(known, a) {
			known = append(known, a)
		}
	}
	for i, a := range known {
		a.num = i + 1
	}
	c.byNum = known
}

// Knows reports whether a session was told of, or anything of it was shown.
func (c *Cast) Knows(id troupe.SessionID) bool { return c.agents[id] != nil }

// Find looks a sub-agent up by its number, its name, or the beginning of its id.
func (c *Cast) Find(word string) (troupe.SessionID, bool) {
	word = strings.TrimPrefix(strings.TrimSpace(word), "#")
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(c.byNum) {
		return c.byNum[n-1].id, true
	}
	var found *agent
	for _, a := range c.byNum {
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
func (c *Cast) Number(id troupe.SessionID) int {
	if a := c.agents[id]; a != nil {
		return a.num
	}
	return 0
}

// Role is the type of the main agent; "" if it was not told.
func (c *Cast) Role() string {
	if a := c.agents[c.main]; a != nil {
		return a.kind
	}
	return ""
}

// Called is how an agent is named to people, with its number.
func (c *Cast) Called(id troupe.SessionID) string { return c.who(id) }

// Below reports whether a session is id, or works for it.
func (c *Cast) Below(session, id troupe.SessionID) bool {
	for session != id {
		a := c.agents[session]
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
	out.Cast, out.shelf = &Cast{main: v.Cast.main, agents: make(map[troupe.SessionID]*agent)}, v.shelf
	for _, a := range v.Cast.agents {
		b := &agent{id: a.id, num: a.num, name: a.name, kind: a.kind, title: a.title, color: a.color, parent: a.parent,
			calls: make(map[troupe.Coord]troupe.Call)}
		out.Cast.agents[a.id] = b
	}
	for _, a := range v.Cast.byNum {
		out.Cast.byNum = append(out.Cast.byNum, out.Cast.agents[a.id])
	}
	return out
}

func (c *Cast) agent(id troupe.SessionID) *agent {
	a := c.agents[id]
	if a == nil {
		a = &agent{id: id, calls: make(map[troupe.Coord]troupe.Call)}
		if id != c.main {
			c.byNum = append(c.byNum, a)
			a.num = len(c.byNum)
		}
		c.agents[id] = a
	}
	return a
}

func (c *Cast) who(id troupe.SessionID) string {
	a := c.agents[id]
	switch {
	case a == nil:
		return string(id)
	case a.num == 0:
		return "the main agent"
	case a.name == "":
		return fmt.Sprintf("#%d", a.num)
	}
	return fmt.Sprintf("#%d %s", a.num, console.Middle(console.Line(a.name, 0), 30))
}

// isMain reports whether an agent is the one whose words are shown whole.
func (v *View) isMain(a *agent) bool { return a.id == v.root }
