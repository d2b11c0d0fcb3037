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
	if len(told) > 0 {
		_, err := tw.tellMembers(ctx, cmp.Or(by, troupe.LeadName), func(s troupe.Session) (troupe.MailID,
			troupe.MessageType, string) {
			return troupe.MailID(fmt.Sprintf("board:%s:%d:%s", tw.a.id, tw.a.st.Session.Seq, s.ID)),
				troupe.MessageAssigned, told[strings.ToLower(s.Name)]
		})
		if err != nil {
			return err
		}
	}
	if !tw.a.st.Board.Opens(changed) {
		return nil
	}
	_, err := tw.offer(ctx)
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

// membersEnded does on the board what the ends of members' runs mean: what one had begun that failed, was stopped or
// left is given back, in the transaction that logs its end, for no other process does it later; then those that are
// idle are offered open items.
func (tw *teamwork) membersEnded(ctx context.Context, ends []troupe.Outcome) error {
	if tw.a.st.Team == nil {
		return nil
	}
	ends = slices.DeleteFunc(ends, func(o troupe.Outcome) bool { return o.Team != tw.a.st.Team.Name })
	if len(ends) == 0 {
		return nil
	}
	for _, o := range ends {
		if items := tw.a.st.Board.GivenBack(o.Name); (o.Status != troupe.Completed || o.Left) && len(items) > 0 {
			if err := tw.a.stage(troupe.BoardChanged{Items: items}); err != nil {
				return err
			}
		}
	}
	offered, err := tw.offer(ctx)
	for _, o := range ends {
		if err == nil && o.Status == troupe.Completed && !offered[o.Session] {
			err = tw.stuck(ctx, o)
		}
	}
	return err
}

// mostOffers is how many open items a member is offered and leaves before it is offered no more: each offer costs it a
// model call, and what it is not for it finds in the list.
const mostOffers = 3

// offer has members that are idle know of open items, each of one that no other is offered at this moment, and of each
// once.
func (tw *teamwork) offer(ctx context.Context) (offered map[troupe.SessionID]bool, err error) {
	if len(tw.a.st.Board.Pending()) == 0 {
		return nil, nil
	}
	var mail []troupe.Mail
	err = tw.a.flush(ctx, func(tx store.Tx) error {
		mail, offered = nil, map[troupe.SessionID]bool{}
		members, err := membersOf(tx, tw.a.root, tw.a.id, tw.a.st.Team.Name)
		if err != nil {
			return err
		}
		given, err := onOffer(tx, members, tw.a.st.Board.Pending())
		if err != nil {
			return err
		}
		for _, s := range members {
			idle, err := isIdle(tx, s)
			if err != nil {
				return err
			}
			items := tw.a.st.Board.Next(s.Name)
			for _, it := range items[:min(len(items), mostOffers)] {
				if !idle || given[it.ID] {
					continue
				}
				m := troupe.Mail{ID: troupe.OfferMailID(s.ID, it.ID), Root: tw.a.root, To: s.ID, From: tw.a.id,
					Kind: troupe.MailMessage, SentAt: tw.a.h.d.Now(),
					OfTeam: troupe.OfTeam{Message: &troupe.AgentMessage{Type: troupe.MessageAssigned,
						Name: troupe.LeadName}},
					Blocks: []troupe.Block{troupe.Text("This task is open: " + tw.a.st.Board.Line(it) +
						"\nTaskUpdate with status in_progress takes it; if it is not for you, end your turn.")}}
				fresh, err := tx.Send(m)
				if err != nil {
					return fmt.Errorf("offer a task to session %s: %w", s.ID, err)
				}
				if fresh {
					mail, offered[s.ID], given[it.ID] = append(mail, m), true, true
					break
				}
			}
		}
		return nil
	})
	if err == nil {
		tw.a.tree.mailed(mail...)
	}
	return offered, err
}

// onOffer are the items that a member has been offered and has not read of.
func onOffer(r store.Reader, members []troupe.Session, items []troupe.BoardItem) (map[string]bool, error) {
	out := map[string]bool{}
	for _, s := range members {
		unread, err := r.Unread(s.ID)
		if err != nil {
			return nil, fmt.Errorf("read the mail of session %s: %w", s.ID, err)
		}
		for _, m := range unread {
			for _, it := range items {
				out[it.ID] = out[it.ID] || m.ID == troupe.OfferMailID(s.ID, it.ID)
			}
		}
	}
	return out, nil
}

// isIdle reports whether a member of a team has ended well, has nothing to read, and was not asked to leave.
func isIdle(r store.Reader, s troupe.Session) (bool, error) {
	works, err := hasWork(r, s)
	if err != nil || works || s.Status != troupe.Completed {
		return false, err
	}
	last, err := r.Events(s.ID, s.Seq-1, 1)
	if err != nil || len(last) == 0 {
		return false, err
	}
	end, ok := last[0].Body.(troupe.Ended)
	return !ok || !end.Outcome.Left, nil
}
