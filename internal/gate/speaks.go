package gate

import "github.com/troupe-dev/troupe/internal/gate/rule"

// Speaks reports whether a rule is about a call, as one that forbids or asks would be: in doubt it is. Of the query
// it is told what the call does and where; the line of authority and what a machine has do not count.
func (t *Tools) Speaks(r *rule.Rule, q Query) bool {
	if q.Access.Tool != "" { // it is about the tool that it goes to
		q.via, q.Tool = t.Facts(q.Tool), q.Access.Tool
	}
	q.known = t
	q.Chain = []Layer{{}}
	c := newCall(&q)
	switch {
	case matchesCall(r, &c):
		return true
	case !c.isCommand():
		return false
	case r.Kind == rule.KindCommand:
		return !c.clear() || c.shell.read.RunsInput() || c.obscures() != ""
	}
	return len(r.Paths) > 0 && r.Edits() && c.writesUnknown()
}
