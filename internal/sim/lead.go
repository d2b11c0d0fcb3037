package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/turn"
)

// leading is what is known of a team that its lead begins with, and of what members ask the lead.
type leading struct {
	whole  bool            // the transaction that is looked at has begun a team
	joined []troupe.Task   // its members, by the lead's log
	yeses  []troupe.Mail   // answers of the lead, in that transaction
	asks   []troupe.MailID // that members have to tell their lead, by that transaction
	board  int64           // the event of the lead's log that changed the list last
	rested int64           // and the last that told it of the end of a member
}

// drawLead is an answer of the lead to a member that waits for one; false: none does.
func (w *world) drawLead() (input string, ok bool) {
	for _, id := range w.watch.order {
		st := w.watch.states[id]
		for i := range st.Calls {
			r := st.Calls[i].Request
			if st.Session.Team == "" || r == nil || r.Lead == "" {
				continue
			}
			kind, says := "q", "+"
			if r.Kind == troupe.RequestPlan {
				kind = "p"
			}
			if w.one(3) {
				says = "-"
			}
			return ">" + kind + says + st.Session.Name, true
		}
	}
	return "", false
}

// answersAsLead reads such an answer.
func answersAsLead(input string) (m troupe.SendMessage, ok bool) {
	rest, ok := strings.CutPrefix(input, ">")
	if !ok || len(rest) < 3 {
		return m, false
	}
	m = troupe.SendMessage{To: rest[2:], Text: "so I say", Type: troupe.MessagePermissionResponse,
		Approve: rest[1] == '+'}
	if rest[0] == 'p' {
		m.Type = troupe.MessagePlanResponse
	}
	return m, true
}

// leadSays notes an answer of a lead.
func (h *watch) leadSays(m troupe.Mail) {
	if m.Kind != troupe.MailAnswer || !m.Answer.Lead {
		return
	}
	h.w.res.Led++
	h.yeses = append(h.yeses, m)
	if h.w.people.said == nil {
		h.w.people.said, h.w.people.drafts = make(map[troupe.MailID]saying), make(map[troupe.MailID]saying)
	}
	if _, ok := h.w.people.said[m.ID]; !ok {
		ans := *m.Answer
		h.w.people.said[m.ID] = saying{answer: &ans, at: h.w.now}
	}
}

// asksLead: what a member asks its lead for is told to the lead in the same transaction. The lead may say yes only to
// what it could do itself.
func (h *watch) asksLead(st *turn.State, e troupe.Event, b troupe.RequestOpened) {
	if b.Lead == "" {
		return
	}
	h.asks = append(h.asks, troupe.AskMailID(b.ID))
	if b.Lead == troupe.LeadMay && b.Call < len(st.Calls) && !h.leadCould(st, &st.Calls[b.Call], e) {
		h.w.broken("session %s: event %d leaves %s(%s) to its lead, which could not do it itself", e.Session, e.Seq,
			st.Calls[b.Call].Name, st.Calls[b.Call].Input)
	}
}

// leadCould reports whether the lead of a member may have been able to do what a call asks for, where the member does
// it; for a plan, whether it works in a mode in which plans are carried out.
func (h *watch) leadCould(st *turn.State, c *turn.Call, e troupe.Event) (could bool) {
	id := st.Session.ID
	access := accessOf(c.Name, c.Input)
	h.law.chains(id, e.At, h.w.now, func(line []gate.Layer) bool {
		above := line[:len(line)-1]
		if c.Name == "ExitPlanMode" {
			mode := above[len(above)-1].Mode
			could = mode == troupe.ModeAcceptEdits || mode == troupe.ModeBypass || mode == troupe.ModeAuto
			return !could
		}
		d := h.law.decide(id, c, access, above)
		could = d.Effect == troupe.Allow && d.Step != gate.StepReadOnlyRun
		return !could
	})
	return could
}

// byLead: what begins by a lead's yes is what the lead could do itself, at that moment too.
func (h *watch) byLead(st *turn.State, e troupe.Event, c *turn.Call) {
	if c.Answer != nil && c.Answer.Lead && c.Answer.Effect == troupe.Allow && !h.leadCould(st, c, e) {
		h.w.broken("session %s: event %d begins %s(%s) by the yes of its lead, which could not do it itself", e.Session,
			e.Seq, c.Name, c.Input)
	}
}

// teamBegins: a team that its lead begins with is whole from the first transaction on, and idle at no cost. What
// members ask their lead, it is told, and what it answers is what its model said.
func (h *watch) teamBegins() {
	for _, id := range h.asks {
		if !slices.ContainsFunc(h.sent, func(l letter) bool { return l.id == id }) {
			h.w.broken("a member waits for its lead, which was not told: %s", id)
		}
	}
	for _, m := range h.yeses {
		st := h.states[m.From]
		said := st != nil && slices.ContainsFunc(st.Calls, func(c turn.Call) bool {
			in, ok := answersAsLead(c.Input)
			return c.Name == "SendMessage" && ok && in.Approve == (m.Answer.Effect == troupe.Allow)
		})
		if !said || h.states[m.To] == nil || h.states[m.To].Session.Parent != m.From {
			h.w.broken("session %s answers %s for session %s with %q, and its model has said nothing of the kind",
				m.From,
				m.Answer.Request, m.To, m.Answer.Effect)
		}
	}
	names := members()[:2]
	if h.whole && len(h.joined) != len(names) {
		h.w.broken("a team of %v begins with %+v", names, h.joined)
	}
	for i, t := range h.joined {
		st := h.states[troupe.SessionID(t.ID)]
		if i < len(names) && (st == nil || st.Session.Name != names[i] || st.Session.Team != crew ||
			st.Session.Status != troupe.Completed || st.Session.Tally.Turns > 0) {
			h.w.broken("a team of %v begins with %+v, and one of them is not idle", names, h.joined)
		}
	}
	h.whole, h.joined, h.asks, h.yeses = false, nil, nil, nil
}

// stuckRests: once nobody in the team is at work, one who keeps others of it waiting was asked to go on.
func (h *watch) stuckRests() error {
	root := h.states[h.w.root]
	if root.Team == nil || h.board > h.rested || root.Session.Status != troupe.Completed {
		return nil // since the list changed nobody came to rest, or the lead itself could not go on
	}
	var keeps []string
	for _, k := range root.Board.Keeping() {
		for _, id := range h.order {
			s := h.states[id].Session
			if s.Team == "" || !strings.EqualFold(s.Name, k.Item.Owner) {
				continue
			}
			if h.mail[letter{id, troupe.StuckMailID(id, k.Item.ID)}] != nil {
				return nil
			}
			keeps = append(keeps, k.Item.Owner+" by #"+k.Item.ID)
		}
	}
	if len(keeps) > 0 {
		return fmt.Errorf("nobody in the team is at work, and none of these was asked to go on: %v", keeps)
	}
	return nil
}
