package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// boardWait is how long a member waits for its lead to answer about the board. The lead answers whatever else it does,
// so this is for a store that cannot be written.
const boardWait = time.Minute

// onBoard carries out what a call wants of the board. What changes and the call's result are one transaction. A member
// of a team asks its lead, in whose log the board stands: who asks first has an item.
func (tw *teamwork) onBoard(ctx context.Context, i int, d troupe.Decision, in troupe.Intent) error {
	c := tw.a.st.Calls[i]
	if tw.a.st.Session.Team != "" {
		return tw.askBoard(ctx, c, d, in)
	}
	changed, text, err := tw.changeBoard(in, "")
	if err != nil {
		return tw.a.stage(resultOf(c, err.Error(), true))
	}
	if err := tw.a.stage(resultOf(c, text, false)); err != nil {
		return err
	}
	return tw.tellOfBoard(ctx, in, changed, "")
}

// changeBoard does what an intent wants. An error is worded for the agent, and nothing has changed.
func (tw *teamwork) changeBoard(in troupe.Intent, by string) (changed []troupe.BoardItem, text string, err error) {
	changed, text, err = tw.a.st.Board.Do(in, by)
	if err != nil || len(changed) == 0 {
		return nil, tw.a.h.d.Mask(text), err
	}
	for i := range changed {
		it := &changed[i]
		for _, words := range []*string{&it.Subject, &it.Description, &it.ActiveForm, &it.Owner} {
			*words = tw.a.h.d.Mask(*words)
		}
		it.Comments = slices.Clone(it.Comments) // the board before shares them
		for j := range it.Comments {
			it.Comments[j].Text = tw.a.h.d.Mask(it.Comments[j].Text)
		}
	}
	if err := tw.a.stage(troupe.BoardChanged{Items: changed}); err != nil {
		return nil, "", err
	}
	tw.a.hooks.board(in, changed)
	return changed, tw.a.h.d.Mask(text), nil
}

// askBoard sends the lead what a call wants of the board, and has the call wait for the answer.
func (tw *teamwork) askBoard(ctx context.Context, c turn.Call, d troupe.Decision, in troupe.Intent) error {
	at := troupe.Coord{Reply: c.Reply, Call: c.Index}
	wish, _ := troupe.NewBoardMail(at, tw.a.st.Session.Name, in)
	now := tw.a.h.d.Now()
	m := troupe.Mail{ID: troupe.CallMailID(tw.a.id, at, 0), Root: tw.a.root, To: tw.a.st.Session.Parent, From: tw.a.id,
		Kind: troupe.MailBoard, SentAt: now, OfTeam: troupe.OfTeam{Board: &wish}}
	err := tw.a.transact(ctx, func(tx store.Tx, emit func(troupe.Body) error) error {
		if err := sendAll(tx, []troupe.Mail{m}); err != nil {
			return err
		}
		return emit(troupe.ToolStarted{Reply: c.Reply, Call: c.Index, Name: c.Name, Decision: d,
			Wait: &troupe.Wait{Board: true, Until: now.Add(boardWait)}})
	})
	if err == nil {
		tw.a.tree.mailed(m)
	}
	return err
}

// boardFor does what a member wants of the board, and answers it. The note of the mail, what changes and the answer are
// one transaction, which is that of all members who asked meanwhile: each one of its own would have a large team wait
// for its lead.
func (tw *teamwork) boardFor(ctx context.Context, m troupe.Mail) error {
	if err := tw.a.stage(troupe.MailDelivered{Mail: []troupe.Mail{m}}); err != nil {
		return err
	}
	tw.a.staged.read(tw.a.st.Session.Seq, m.ID)
	in := m.Board.Intent()
	changed, text, err := tw.changeBoard(in, m.Board.By)
	answer := troupe.BoardMail{Coord: m.Board.Coord, Text: text}
	if err != nil {
		answer.Text, answer.Failed = err.Error(), true
	}
	tw.a.staged.mail = append(tw.a.staged.mail, troupe.Mail{ID: troupe.BoardMailID(m.ID), Root: tw.a.root, To: m.From,
		From: tw.a.id, Kind: troupe.MailBoard, SentAt: tw.a.h.d.Now(), OfTeam: troupe.OfTeam{Board: &answer}})
	return tw.tellOfBoard(ctx, in, changed, m.Board.By)
}

// tellOfBoard tells members of the team what a change of the board means for them: an item that is theirs now, and one
// of theirs that waits for nothing any more. By is who made the change, and is told nothing.
func (tw *teamwork) tellOfBoard(ctx context.Context, in troupe.Intent, changed []troupe.BoardItem, by string) error {
	if tw.a.st.Team == nil || len(changed) == 0 {
		return nil
	}
	told := make(map[string]string) // owner in lower case: words
	tell := func(it troupe.BoardItem, words string) {
		if it.Owner != "" && !strings.EqualFold(it.Owner, by) {
			told[strings.ToLower(it.Owner)] += words + ": " + tw.a.st.Board.Line(it) + "\n"
		}
	}
	if up, ok := in.(troupe.BoardUpdate); ok && up.Owner != "" {
		for _, it := range changed {
			if it.ID == strings.TrimPrefix(strings.TrimSpace(up.Item), "#") && it.Status != troupe.BoardCompleted {
				tell(it, "This task is yours now")
			}
		}
	}
	if up, ok := in.(troupe.BoardUpdate); ok && up.Comment != "" {
		for _, it := range changed {
			if n := len(it.Comments); it.ID == strings.TrimPrefix(strings.TrimSpace(up.Item), "#") && n > 0 {
				tell(it, fmt.Sprintf("%s says %q of this task of yours", it.Comments[n-1].By,
					it.Comments[n-1].Text))
			}
		}
	}
	for _, it := range tw.a.st.Board.Freed(changed) {
		tell(it, "This task of yours is not blocked any more")
	}
	if len(told) == 0 {
		return nil
	}
	_, err := tw.tellMembers(ctx, cmp.Or(by, troupe.LeadName), func(s troupe.Session) (troupe.MailID,
		troupe.MessageType, string) {
		return troupe.MailID(fmt.Sprintf("board:%s:%d:%s", tw.a.id, tw.a.st.Session.Seq, s.ID)), troupe.MessageAssigned,
			told[strings.ToLower(s.Name)]
	})
	return err
}

// tellMembers writes to the members of the team for which say has words, unless that mail was sent before. By is whose
// words these are: the lead's, or those of the member whose change of the board they are about.
func (tw *teamwork) tellMembers(ctx context.Context, by string,
	say func(troupe.Session) (troupe.MailID, troupe.MessageType,
		string),
) (sent int, err error) {
	var mail []troupe.Mail
	err = tw.a.flush(ctx, func(tx store.Tx) error {
		mail = nil
		members, err := membersOf(tx, tw.a.root, tw.a.id, tw.a.st.Team.Name)
		if err != nil {
			return err
		}
		for _, s := range members {
			id, kind, text := say(s)
			if text == "" {
				continue
			}
			m := troupe.Mail{ID: id, Root: tw.a.root, To: s.ID, From: tw.a.id, Kind: troupe.MailMessage,
				SentAt: tw.a.h.d.Now(),
				OfTeam: troupe.OfTeam{Message: &troupe.AgentMessage{Type: kind, Name: by}},
				Blocks: []troupe.Block{troupe.Text(strings.TrimSpace(text))}}
			fresh, err := tx.Send(m)
			if err != nil {
				return fmt.Errorf("send %s mail to session %s: %w", m.Kind, m.To, err)
			}
			if fresh {
				mail = append(mail, m)
			}
		}
		return nil
	})
	if err == nil {
		tw.a.tree.mailed(mail...)
	}
	return len(mail), err
}

// membersEnded does on the board what the ends of members' runs mean: what one had begun that failed or was stopped
// is given back, in the transaction that logs its end, for no other process does it later; then one that is idle is
// offered an open item, each one once.
func (tw *teamwork) membersEnded(ctx context.Context, ends []troupe.Outcome) error {
	if tw.a.st.Team == nil {
		return nil
	}
	ends = slices.DeleteFunc(ends, func(o troupe.Outcome) bool { return o.Team != tw.a.st.Team.Name })
	for _, o := range ends {
		if items := tw.a.st.Board.GivenBack(o.Name); o.Status != troupe.Completed && len(items) > 0 {
			if err := tw.a.stage(troupe.BoardChanged{Items: items}); err != nil {
				return err
			}
		}
	}
	for _, o := range ends {
		if err := tw.offer(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// mostOffers is how many open items a member is offered and leaves before it is offered no more: each offer costs it a
// model call, and what it is not for it finds in the list.
const mostOffers = 3

// offer has a member that is idle know of an open item.
func (tw *teamwork) offer(ctx context.Context, o troupe.Outcome) error {
	if o.Status != troupe.Completed {
		return nil
	}
	items := tw.a.st.Board.Next(o.Name)
	for _, it := range items[:min(len(items), mostOffers)] {
		id := troupe.OfferMailID(o.Session, it.ID)
		sent, err := tw.tellMembers(ctx, troupe.LeadName, func(s troupe.Session) (troupe.MailID, troupe.MessageType,
			string) {
			if s.ID != o.Session || s.Status.Live() {
				return "", "", ""
			}
			return id, troupe.MessageAssigned, "This task is open: " + tw.a.st.Board.Line(it) +
				"\nTaskUpdate with status " +
				"in_progress takes it; if it is not for you, end your turn."
		})
		if err != nil || sent > 0 {
			return err
		}
	}
	return tw.stuck(ctx, o)
}
