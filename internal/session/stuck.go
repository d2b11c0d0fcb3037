package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Who of a team could wait for whom: a call waits for what is below its agent, and a request for the lead, whose own
// waits end with the message that brings it. What is left are the items of the board. Items never wait for each other
// in a circle, but their owners do where one has begun what another one's wait for, and is idle.

// stuck looks for an item that others wait for and whose owner has left it: once no member is at work, or where the
// owner waits for these too, and none of them works. That one is released: it is asked, once for each item, to go on.
// The others that wait, and the lead, are told who and why.
func (tw *teamwork) stuck(ctx context.Context, o troupe.Outcome) error {
	keeps := tw.a.st.Board.Keeping()
	if len(keeps) == 0 {
		return nil
	}
	busy, err := tw.busy(ctx)
	if err != nil {
		return err
	}
	for _, k := range keeps {
		works := func(name string) bool { return busy[strings.ToLower(name)] }
		if len(busy) > 0 && (len(k.Circle) == 0 || works(k.Item.Owner) || slices.ContainsFunc(k.Circle, works)) {
			continue
		}
		why := strings.TrimSpace(tw.a.st.Board.Line(k.Item) + " keeps waiting:\n" + tw.a.st.Board.Lines(k.Waiting))
		circle := "No member of the team is at work. "
		if len(k.Circle) > 0 {
			circle = "Agents of the team wait for each other. "
		}
		sent, err := tw.tellMembers(ctx, troupe.LeadName, func(s troupe.Session) (troupe.MailID, troupe.MessageType,
			string) {
			if !strings.EqualFold(s.Name, k.Item.Owner) {
				return "", "", ""
			}
			return troupe.StuckMailID(s.ID, k.Item.ID), troupe.MessageAssigned,
				circle + "Go on with this task of yours, or " +
					"write to the lead what is in the way: " + why
		})
		if err != nil {
			return err
		}
		notice := circle + why
		if sent > 0 {
			notice += "\n" + troupe.Escape(k.Item.Owner) + " was asked to go on with it."
		}
		if err := tw.noticeStuck(ctx, o, k, notice, sent > 0); err != nil {
			return err
		}
		if sent > 0 {
			return nil // one is enough: what it does may release the others
		}
	}
	return nil
}

// noticeStuck tells those that wait, with what they read next, and the lead, which reads it now. It wakes nobody.
func (tw *teamwork) noticeStuck(ctx context.Context, o troupe.Outcome, k turn.Keeper, text string, asked bool) error {
	note := func(to troupe.SessionID) troupe.Mail {
		return troupe.Mail{ID: "note:" + troupe.StuckMailID(to, k.Item.ID), Root: tw.a.root, To: to, From: o.Session,
			Kind: troupe.MailNotice, SentAt: tw.a.h.d.Now(), Blocks: []troupe.Block{troupe.Text(text)}}
	}
	var mail []troupe.Mail
	err := tw.a.flush(ctx, func(tx store.Tx) error {
		mail = nil
		members, err := membersOf(tx, tw.a.root, tw.a.id, tw.a.st.Team.Name)
		if err != nil {
			return err
		}
		all := []troupe.Mail{note(tw.a.id)}
		for _, s := range members {
			if asked && k.Waits(s.Name) && !strings.EqualFold(s.Name, k.Item.Owner) {
				all = append(all, note(s.ID))
			}
		}
		for _, m := range all {
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
	return err
}

// busy are the members of the team that are at work, or about to be, in lower case.
func (tw *teamwork) busy(ctx context.Context) (names map[string]bool, err error) {
	err = tw.a.h.d.Store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
		names = map[string]bool{}
		members, err := membersOf(r, tw.a.root, tw.a.id, tw.a.st.Team.Name)
		for _, s := range members {
			works, err := hasWork(r, s)
			if err != nil {
				return err
			}
			if works {
				names[strings.ToLower(s.Name)] = true
			}
		}
		return err
	})
	return names, err
}

// hasWork reports whether a session is at work, or has mail that sets it to work.
func hasWork(r store.Reader, s troupe.Session) (bool, error) {
	if s.Status.Live() {
		return true, nil
	}
	unread, err := r.Unread(s.ID)
	if err != nil {
		return false, fmt.Errorf("read the mail of session %s: %w", s.ID, err)
	}
	for _, m := range unread {
		if s.WokenBy(m) {
			return true, nil
		}
	}
	return false, nil
}
