package session

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// A member's request is told to the lead of its team as well, which answers it with a message (ADR 0051). Its no counts
// as anybody's. Its yes counts only for what it could do itself at that moment, by the same gate: so that no agent ever
// does more by it than its parent may. It is looked at when the request is opened, when the lead answers, and each time
// the call is judged with the answer.

// leadWait is how long a request waits for the lead where nobody else is asked.
const leadWait = 10 * time.Minute

// leadsPart is the part that the lead has in a request about the call. Where a person watches, the request is theirs:
// it shows in the conversation.
func (c *candidate) leadsPart(access troupe.Access) troupe.LeadPart {
	asked := c.call.Asked
	if c.self.Team == "" || !c.alone || asked != nil && len(asked.Wants) > 0 || !doneByLead(c.asLead(access)) {
		return ""
	}
	return troupe.LeadMay
}

// asLead is what the gate would say if the lead made the call where the member makes it.
func (c *candidate) asLead(access troupe.Access) troupe.Decision {
	q := c.query(c.call.Name, access)
	q.Chain = c.tree.chain.chain(c.self.Parent)
	return c.h.gate.Decide(q)
}

// doneByLead: it would be done at once, and not only tried without effect.
func doneByLead(d troupe.Decision) bool { return d.Effect == troupe.Allow && !gate.IsReadOnlyRun(d) }

// planPart is the part that the lead has in the approval of a member's plan: its mode has to allow by itself that files
// are changed, for that is what a plan is for. What the member may do then is what both allow, as ever.
func (rs *requests) planPart() troupe.LeadPart {
	s := rs.a.st.Session
	if s.Team == "" {
		return ""
	}
	if !leadCarriesOut(rs.a.tree, s.Parent) {
		return troupe.LeadTold
	}
	return troupe.LeadMay
}

func leadCarriesOut(t *tree, lead troupe.SessionID) bool {
	line := t.chain.chain(lead)
	_, mode, _ := gate.Standing(line)
	return mode.Self >= troupe.ClassEdit && mode.Ceiling >= troupe.ClassEdit && gate.PlanOf(line) == ""
}

// heeds reports whether an answer is one that counts: a person's or the runtime's, or that of the lead to a request
// that the lead was told of.
func (rs *requests) heeds(m troupe.Mail, r *troupe.Request) bool {
	if !m.Answer.Lead {
		return m.From == ""
	}
	s := rs.a.st.Session
	return s.Team != "" && m.From == s.Parent && (r.Lead == troupe.LeadMay ||
		r.Lead == troupe.LeadTold && m.Answer.Effect != troupe.Allow)
}

// tellLead writes to the lead about a request, in the transaction that opens it.
func (rs *requests) tellLead(r troupe.Request) error {
	s := rs.a.st.Session
	kind, text := troupe.MessagePlan, r.Action
	if r.Kind == troupe.RequestPermission {
		kind, text = troupe.MessagePermission, fmt.Sprintf("%s: %s\n\n%s", r.Tool, r.Decision.Why, r.Action)
	}
	text, err := rs.shortened(r, text)
	if err != nil {
		return err
	}
	rs.a.staged.mail = append(rs.a.staged.mail, troupe.Mail{ID: troupe.AskMailID(r.ID), Root: s.Root, To: s.Parent,
		From: s.ID, Kind: troupe.MailMessage, SentAt: rs.a.h.d.Now(), Blocks: []troupe.Block{troupe.Text(text)},
		OfTeam: troupe.OfTeam{Message: &troupe.AgentMessage{Type: kind, Name: s.Name, Lead: r.Lead}}})
	return nil
}

// shortened is a text as it stands in the lead's conversation: what is too long is in a file.
func (rs *requests) shortened(r troupe.Request, text string) (string, error) {
	short, cut := turn.Cap(text, maxMessage)
	if cut == 0 || rs.a.h.d.SaveResult == nil {
		return short, nil
	}
	file := filepath.Join(rs.a.h.d.OutputDir(rs.a.st.Session.Parent), fmt.Sprintf("request-%s.md", r.ID))
	if err := rs.a.h.d.SaveResult(file, text); err != nil {
		return "", fmt.Errorf("keep what is asked of the lead of a team: %w", err)
	}
	return fmt.Sprintf("%s\n[%d more bytes: all of it is in %s]", short, cut, file), nil
}

// answerMember answers a request of a member of the team that the session leads.
func (ts *tasks) answerMember(ctx context.Context, c turn.Call, in troupe.SendMessage) error {
	var sent troupe.Mail
	err := ts.a.transact(ctx, func(tx store.Tx, emit func(troupe.Body) error) error {
		m, err := ts.answerTo(tx, in)
		if err != nil {
			return ts.refused(emit, c, err)
		}
		fresh, err := tx.Send(m)
		if err != nil {
			return fmt.Errorf("send %s mail to session %s: %w", m.Kind, m.To, err)
		}
		if !fresh {
			return emit(resultOf(c, "not sent: it was answered already, and the first answer counts", true))
		}
		sent = m
		return emit(resultOf(c, "sent; it goes on with your answer", false))
	})
	if err == nil && sent.ID != "" {
		ts.a.tree.mailed(sent)
	}
	return err
}

// answerTo is the answer as mail. An unsentError says why there is none.
func (ts *tasks) answerTo(tx store.Reader, in troupe.SendMessage) (m troupe.Mail, err error) {
	to, err := ts.receivers(tx, in.To)
	if err != nil {
		return m, err
	}
	r, err := ts.askedOfLead(tx, to, in)
	if err != nil {
		return m, err
	}
	if in.Approve && r.Kind == troupe.RequestPlan && leadCarriesOut(ts.a.tree, ts.a.id) && r.Lead != troupe.LeadMay {
		return m, &unsentError{"Your mode allows it now, but it did not when this was asked, and that counts: your " +
			"yes " +
			"does not. It is for the user to say. Your no would count"}
	}
	if in.Approve && (r.Lead != troupe.LeadMay ||
		r.Kind == troupe.RequestPlan && !leadCarriesOut(ts.a.tree, ts.a.id)) {
		return m, &unsentError{"your own mode does not allow by itself what is asked for, so that your yes does not " +
			"count: it is for the user to say. Your no would count"}
	}
	ans := troupe.Answer{Request: r.ID, Coord: r.Coord, By: "the lead of the team", Effect: troupe.Deny,
		Note: ts.a.h.d.Mask(in.Text), Lead: true}
	if in.Approve {
		ans.Effect = troupe.Allow
	}
	return troupe.Mail{ID: troupe.AnswerMailID(r.ID), Root: ts.a.root, To: r.Session, From: ts.a.id,
		Kind: troupe.MailAnswer, SentAt: ts.a.h.d.Now(), Answer: &ans}, nil
}

// askedOfLead finds the request that an answer is for: the open one with its id, or without an id the only one of its
// kind that waits.
func (ts *tasks) askedOfLead(tx store.Reader, to []troupe.Session, in troupe.SendMessage) (r troupe.Request,
	err error) {
	team := ts.a.st.Team
	if team == nil || len(to) != 1 || to[0].Parent != ts.a.id || to[0].Team != team.Name {
		return r, &unsentError{fmt.Sprintf("a %s is for one member of the team that you lead", in.Type)}
	}
	rows, err := tx.Requests(store.RequestFilter{Root: ts.a.root, IDPrefix: string(to[0].ID) + ".", Open: true})
	if err != nil {
		return r, fmt.Errorf("look for requests of session %s: %w", to[0].ID, err)
	}
	rows = slices.DeleteFunc(rows, func(r troupe.Request) bool {
		return r.Session != to[0].ID || r.Lead == "" || r.Kind != in.Type.Answers() ||
			in.Re != "" && r.ID != in.Re.Asks()
	})
	switch {
	case len(rows) == 1:
		return rows[0], nil
	case len(rows) > 1:
		return r, &unsentError{fmt.Sprintf("%q waits for %d answers; request_id says which one this is, by the id of "+
			"the message that asked", ts.nameOf(to[0]), len(rows))}
	}
	return r, &unsentError{fmt.Sprintf("%q does not wait for this answer: nothing of the kind is open, or it was "+
		"answered already", ts.nameOf(to[0]))}
}
