package session

import (
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// streak notes in a message how long its sender and receiver have done nothing but write to each other, and whether
// that is too long: once when it becomes so, and again each time it is as long once more.
func (ts *tasks) streak(to troupe.Session, m *troupe.Mail) {
	n, most := turn.Streak(&ts.a.st, to.ID)+1, ts.a.tree.settings().Policy.MaxMessages
	m.Message.Streak = n
	if most > 0 && n > most && (n-1)%most == 0 {
		m.Message.Chatter = n
	}
}

// chatter tells the lead of those that write to each other, if it is none of them.
func (ts *tasks) chatter(l *letter) []troupe.Mail {
	self, text, first := ts.a.st.Session, "", troupe.Mail{}
	for _, m := range l.mail {
		if self.Team == "" || m.To == self.Parent || m.Message == nil || m.Message.Chatter == 0 {
			continue
		}
		first = m
		text += fmt.Sprintf("%s and %s have written each other %d messages, and neither has done anything between "+
			"them.\n", ts.a.tree.chain.path(self.ID), ts.a.tree.chain.path(m.To), m.Message.Chatter)
	}
	if text == "" {
		return nil
	}
	text += "They were told. See whether one of them needs a decision."
	return []troupe.Mail{{ID: "chatter:" + first.ID, Root: first.Root, To: self.Parent, From: self.ID,
		Kind: troupe.MailMessage, SentAt: first.SentAt, Blocks: []troupe.Block{troupe.Text(text)},
		OfTeam: troupe.OfTeam{Message: &troupe.AgentMessage{Type: troupe.MessageChatter, Name: self.Name}}}}
}

// talked notes in the result of a call to whom it has written, and tells its agent where that is chatter.
func (ts *tasks) talked(l *letter, out *troupe.ToolFinished) {
	for _, m := range l.mail {
		if m.Message == nil || m.Message.Streak == 0 {
			continue
		}
		out.Sent = append(out.Sent, m.To)
		to := slices.IndexFunc(l.to, func(s troupe.Session) bool { return s.ID == m.To })
		if n := m.Message.Chatter; n > 0 {
			out.Result.Blocks = append(out.Result.Blocks, troupe.Text(turn.Chatter(ts.nameOf(l.to[to]), n)))
		}
	}
}
