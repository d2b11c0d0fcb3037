package sim

import (
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/turn"
)

// plans has a plan for each session, which is sometimes not written yet.
type plans struct{ w *world }

// File implements session.Plans.
func (plans) File(s troupe.Session) string { return "/sim-plans/" + string(s.ID) }

// Read implements session.Plans.
func (p plans) Read(string) (string, error) {
	if p.w.one(6) {
		return "", nil
	}
	return "a plan", nil
}

func samePlanning(a, b *troupe.Planning) bool { return a == b || a != nil && b != nil && *a == *b }

// answeredInPerson: what an agent puts to a person is answered as that person said, or not at all. No rule answers it.
func (h *watch) answeredInPerson(e troupe.Event, q *troupe.Request, b troupe.RequestAnswered) {
	said := h.w.people.said[b.Mail].answer
	switch res := &h.w.res; {
	case b.Mail == "":
	case q.Kind == troupe.RequestQuestion:
		res.Answers++
	case q.Kind == troupe.RequestTool:
		res.Carried++
	case b.Effect == troupe.Allow:
		res.Approved++
	default:
		res.Rejected++
	}
	switch {
	case b.Mail == "" && b.Effect != troupe.Deny:
		h.w.broken("session %s: event %d has %s answer the %s %s, and no person did", e.Session, e.Seq, b.By, q.Kind,
			q.ID)
	case b.Mail == "":
	case said == nil || said.Request != q.ID || said.Effect != b.Effect || said.Mode != b.Mode ||
		!sameSaid(said.Said, b.Said) || (said.Result == nil) != (b.Result == nil) ||
		said.Result != nil && *said.Result != *b.Result:
		h.w.broken("session %s: event %d answers %s with %+v; what was said is %+v", e.Session, e.Seq, q.ID, b, said)
	}
}

func sameSaid(a, b []troupe.Said) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Text != b[i].Text || strings.Join(a[i].Choices, ",") != strings.Join(b[i].Choices, ",") {
			return false
		}
	}
	return true
}

// planned: a session that changes its own authority begins to plan, and keeps the mode before; or its plan was approved
// by a person, and that mode comes back, or the one that the person chose.
func (h *watch) planned(st *turn.State, e troupe.Event, b troupe.AuthorityChanged) {
	was, now := st.Authority, b.Authority
	switch {
	case b.By == "the agent itself":
		if want := was.InMode(troupe.ModePlan, plans{}.File(st.Session)); was.Mode == troupe.ModePlan ||
			now.Mode != want.Mode || !samePlanning(now.Planning, want.Planning) {
			h.w.broken("session %s: event %d has it plan as %+v; it was %+v", e.Session, e.Seq, now, was)
		}
	case strings.HasPrefix(b.By, "the approval"):
		approved := false
		for i := range st.Calls {
			c := &st.Calls[i]
			approved = approved || c.Stage != turn.CallDone && c.Asked != nil && c.Asked.Kind == troupe.RequestPlan &&
				c.Answer != nil && c.Answer.Effect == troupe.Allow &&
				(c.AnsweredBy != nil || c.Answer.Lead && h.leadCould(st, c, e)) &&
				was.Planning != nil && (now.Mode == was.Planning.Before && c.Answer.Mode == "" ||
				now.Mode == c.Answer.Mode)
		}
		if !approved || now.Planning != nil {
			h.w.broken("session %s: event %d ends plan mode as %+v; it was %+v, and nobody approved that", e.Session,
				e.Seq, now, was)
		}
	}
}

// ownPlan: what an agent that plans writes into its own plan is not its parent's to allow. What its parent denies by a
// rule is denied.
func ownPlan(l gate.Layer, access troupe.Access) bool {
	return l.Mode == troupe.ModePlan && len(access.Writes) == 1 && access.Writes[0] == l.Plan
}

// briefMode is a mode in the trace, without the address of anything.
func briefMode(a troupe.Authority) string {
	if a.Planning == nil {
		return " mode " + string(a.Mode)
	}
	return " mode " + string(a.Mode) + ", before " + string(a.Planning.Before) + ", in " + a.Planning.File
}

// writesWhilePlanning: while an agent of the line plans nothing is written but the plan of the session that calls.
func (h *watch) writesWhilePlanning(st *turn.State, e troupe.Event, c *turn.Call) {
	file := accessOf(c.Name, c.Input).Writes
	if c.Name != "Edit" || len(file) != 1 || file[0] == (plans{}).File(st.Session) {
		return
	}
	free := false
	h.law.chains(e.Session, e.At, h.w.now, func(line []gate.Layer) bool {
		free = true
		for i := range line {
			free = free && line[i].Mode != troupe.ModePlan
		}
		return !free
	})
	if !free {
		h.w.broken("session %s: event %d writes %s in plan mode", e.Session, e.Seq, file[0])
	}
}
