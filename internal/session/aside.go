package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Aside is a place where calls are made for a person's words, before the session is told them. They are judged and
// confined as calls of the session are; nobody is asked about one.
type Aside struct {
	Session troupe.Session
	// Line is the session's line of authority, and Roles are its tree's.
	Line  []gate.Layer
	Roles Roles
	// Use is the command that the words begin with: what it leaves of the tools counts for its own calls too.
	Use troupe.SkillUse
}

// Place is where calls are made for the words to a session of a tree that is hosted here; ok is false if it is not.
func (h *Hub) Place(s troupe.Session) (place Aside, ok bool) {
	t := h.hold(s.Root)
	if t == nil {
		return Aside{}, false
	}
	defer h.unhold(t)
	line := t.chain.chain(s.ID)
	return Aside{Session: s, Line: line, Roles: t.kinds()}, len(line) > 0
}

// Aside makes a call. What it comes to is in words; refused is why it was not made, or not all of it, "" if it was.
func (h *Hub) Aside(ctx context.Context, at Aside, call troupe.Call) (out tool.Output, refused string) {
	d, ok := h.d.Tools.Find(call.Name)
	if !ok || d.Runner == nil {
		return out, "there is no tool " + call.Name
	}
	t := newTree(h, at.Session.Root)
	t.roles = rolesOf(at.Roles)
	t.chain.aside(h.gate, at)
	c := candidate{call: turn.Call{Call: call}, snapshot: &snapshot{h: h, tree: t, self: at.Session,
		also: skillFolders([]troupe.SkillUse{at.Use}), hooks: hooksOf(t)}}
	j := c.judge(ctx, d.Runner)
	switch {
	case j.stopped:
		return out, "it was stopped"
	case j.refused != "":
		return out, j.refused
	case j.decision.Effect != troupe.Allow:
		return out, "permission denied: " + h.maskDecision(j.decision).Why + howToAllow(j.decision)
	}
	if q, ok := j.prepared.(tool.Queuer); ok {
		if !q.TakeTurn(ctx, j.env, true) {
			return out, "it was stopped"
		}
		defer q.LeaveTurn()
	}
	if j.changes() {
		defer h.folders.invalidate()()
	}
	out, err := runPrepared(ctx, j.prepared, j.env)
	if err != nil {
		return out, fmt.Sprintf("the tool itself failed: %v", err)
	}
	out = h.maskOutput(out)
	return out, heldBack(out, j.decision)
}

// howToAllow names the rule that would have allowed a call that was not made, unless the reason does.
func howToAllow(d troupe.Decision) string {
	if d.Grant == "" || d.Effect == troupe.Deny && strings.Contains(d.Why, d.Grant) {
		return ""
	}
	return "; " + gate.HowToGrant(d.Grant)
}

// heldBack says what a command attempted that its sandbox kept it from.
func heldBack(out tool.Output, d troupe.Decision) string {
	var wants []troupe.Attempt
	for _, c := range out.Evidence.Commands {
		if c.Watched != nil {
			wants = append(wants, c.Watched.Attempts...)
		}
	}
	if len(wants) == 0 {
		return ""
	}
	return "it " + ranAs(d.Sandbox) + " and wanted to " + Wanted(wants) + ", which is denied" + howToAllow(d)
}

// aside is a line of authority with no session but the last.
func (l *chain) aside(tools *gate.Tools, at Aside) {
	l.layers = make(map[troupe.SessionID]layer, len(at.Line))
	var parent troupe.SessionID
	for i, g := range slices.Clone(at.Line) {
		id := troupe.SessionID(fmt.Sprintf("above:%d", i))
		if i == len(at.Line)-1 {
			id = at.Session.ID
			// A person's words end what earlier skills took away.
			g = tools.Following(g, []troupe.SkillUse{at.Use})
		}
		l.layers[id] = layer{parent: parent, gate: g}
		parent = id
	}
}
