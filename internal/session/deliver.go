package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

func (a *actor) receive(m troupe.Mail) {
	if a.known[m.ID] {
		return
	}
	if a.known == nil {
		a.known = make(map[troupe.MailID]bool)
	}
	a.known[m.ID] = true
	a.unread = append(a.unread, m)
}

// deliver logs mail: the end of a task as the result of the call that waits for it, an
// answer and a grant as what they bring about, all else as words or as what it is.
func (a *actor) deliver(ctx context.Context, mail []troupe.Mail) error {
	a.unread = without(a.unread, mail)
	var words, others []troupe.Mail
	var ends []troupe.Outcome
	for _, m := range mail { // nothing else is in the transaction of what members wanted of the board
		if !boardWish(m) {
			others = append(others, m)
		} else if err := a.team.boardFor(ctx, m); err != nil {
			return err
		}
	}
	if len(others) < len(mail) {
		if err := a.flush(ctx, nil); err != nil {
			return err
		}
	}
	for _, m := range others {
		if m.Kind == troupe.MailFork {
			if err := a.births.forkFor(ctx, m); err != nil {
				return err
			}
			continue
		}
		m.Ended = inWordsOf(a, m.Ended)
		body := a.act(m)
		if m.Ended != nil {
			ends = append(ends, *m.Ended)
		}
		if body == nil {
			m.Ended = a.tasks.withOutputFile(m.Ended)
			if a.st.Earlier(m.Ended) {
				told := *m.Ended
				told.Earlier, m.Ended = true, &told
			}
			words = append(words, m)
			if m.Message != nil {
				read := *m.Message
				read.Waited, m.Message = max(0, a.h.d.Now().Sub(m.SentAt).Milliseconds()), &read
			}
			if m.Stop != nil && a.tasks.own[m.Stop.Task] != nil {
				a.tasks.own[m.Stop.Task]() // its end is told as any other
			}
			continue
		}
		if err := a.stage(body); err != nil {
			return err
		}
		a.staged.read(a.st.Session.Seq, m.ID)
		if body.Kind() == troupe.KindAuthorityChanged {
			if err := a.grant(ctx); err != nil {
				return err
			}
		}
	}
	if len(words) > 0 {
		if err := a.stage(troupe.MailDelivered{Mail: words}); err != nil {
			return err
		}
	}
	for _, m := range words {
		a.staged.read(a.st.Session.Seq, m.ID)
	}
	return a.team.membersEnded(ctx, ends)
}

// boardWish reports whether a member asks for something about the board.
func boardWish(m troupe.Mail) bool { return m.Kind == troupe.MailBoard && m.Board.Intent() != nil }

// grant has what was granted count for the whole tree, once it is in the log: what others do by
// it then cannot come before it.
func (a *actor) grant(ctx context.Context) error {
	if err := a.flush(ctx, nil); err != nil {
		return err
	}
	a.tree.granted(&a.st)
	return nil
}

// act does what a piece of mail asks for, and returns the event that it is logged as; nil if it is words, or comes too
// late for anything else.
func (a *actor) act(m troupe.Mail) troupe.Body {
	switch m.Kind {
	case troupe.MailTaskEnded:
		if turn.Checks(&a.st, m.Ended) {
			return troupe.VerifyEnded{Reply: a.st.Reply(), Outcome: *m.Ended, Mail: m.ID}
		}
		i := a.st.Answers(m.Ended)
		if i < 0 {
			return nil
		}
		c := a.st.Calls[i]
		if c.Wait != nil {
			m.Ended = a.tasks.withOutputFile(m.Ended)
		}
		return endOfTask(c, m)
	case troupe.MailAnswer:
		return a.requests.settle(m)
	case troupe.MailBoard:
		i := turn.AnswersBoard(&a.st, *m.Board)
		if i < 0 {
			return nil
		}
		out := resultOf(a.st.Calls[i], m.Board.Text, m.Board.Failed)
		out.Mail = m.ID
		return out
	case troupe.MailGrant:
		auth, by := a.st.Authority, "mode "+string(m.Mode)
		switch {
		case m.Rule != nil:
			auth.Rules, by = append(slices.Clone(auth.Rules), *m.Rule), m.Rule.Source
		case m.Mode != "":
			auth = auth.InMode(m.Mode, fileOfPlan(a))
			auth.AutoModel = cmp.Or(m.Model, auth.AutoModel)
		default:
			return nil
		}
		return troupe.AuthorityChanged{Authority: auth, By: by, Mail: m.ID, Caller: m.Caller}
	case troupe.MailModel:
		a.convo = conversation{}
		return troupe.ModelChanged{Model: m.Model, Why: "it was chosen", Mail: m.ID, Caller: m.Caller}
	case troupe.MailPrompt, troupe.MailMessage, troupe.MailNotice, troupe.MailStop, troupe.MailCompact, troupe.MailFork,
		troupe.MailMonitor:
	}
	return nil
}

// endOfTask is the end of a task as the result of the call that waits for it.
func endOfTask(c turn.Call, m troupe.Mail) troupe.ToolFinished {
	text := turn.RenderOutcome(*m.Ended)
	if c.Wait != nil {
		text = turn.RenderNotification(*m.Ended)
	}
	out := resultOf(c, text, c.Wait == nil && m.Ended.Status != troupe.Completed)
	out.DurationMS, out.Outcome, out.Mail = m.Ended.DurationMS, m.Ended, m.ID
	return out
}

// nudge has the model go on, in the runtime's own words.
func (a *actor) nudge(text string) error {
	return a.stage(troupe.MailDelivered{Mail: []troupe.Mail{{
		ID: troupe.MailID(fmt.Sprintf("nudge:%s:%d", a.id, a.st.Session.Seq)), Root: a.root, To: a.id, From: a.id,
		Kind: troupe.MailNotice, SentAt: a.h.d.Now(), Blocks: []troupe.Block{troupe.Text(text)},
	}}})
}

// without returns what of all is not in some, which is a part of it. It changes neither: they
// may share memory.
func without(all, some []troupe.Mail) []troupe.Mail {
	if len(some) == len(all) {
		return nil
	}
	gone := make(map[troupe.MailID]bool, len(some))
	for _, m := range some {
		gone[m.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(m troupe.Mail) bool { return gone[m.ID] })
}
