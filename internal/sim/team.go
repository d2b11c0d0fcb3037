package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// crew is the one team that a tree has, and its members as they are drawn.
const crew = "crew"

// newMembers are those that the team is begun with.
func (w *world) newMembers() (out []troupe.NewMember) {
	if !w.climate.begun {
		return nil
	}
	for _, name := range members()[:2] {
		out = append(out, troupe.NewMember{Name: name, Type: []string{"worker", "planner", "careful"}[w.rng.IntN(3)]})
	}
	return out
}

// coordinating are the tools of a main agent that has others do all work.
func coordinating() []string {
	return []string{"Agent", "AskUserQuestion", "MergeWorktree", "SendMessage", "TaskCreate", "TaskOutput", "TaskStop",
		"TaskUpdate"}
}

// coordinates: an agent that has others do all work does none itself, and waits for none of them.
func (h *watch) coordinates(e troupe.Event, name string, failed bool) {
	if h.w.climate.coordinator && e.Session == h.w.root && !failed && !slices.Contains(coordinating(), name) {
		h.w.broken("session %s: event %d has it use %s, and it has others do all work", e.Session, e.Seq, name)
	}
}

// leadWait is how long what a member asks waits for its lead where nobody else is asked.
const leadWait = 10 * time.Minute

func members() []string { return []string{"Ann", "Bob", "Cyd"} }

// drawTeam is what a model asks for that leads a team or is of one; false: something else.
func (w *world) drawTeam(id troupe.SessionID) (name, input string, ok bool) {
	st := w.watch.states[id]
	who := members()[w.rng.IntN(len(members()))]
	if input, ok := w.drawLead(); ok && st != nil && st.Session.Depth == 0 && !w.one(4) {
		return "SendMessage", input, true
	}
	switch {
	case !w.climate.teams || st == nil:
	case st.Session.Team != "":
		switch w.rng.IntN(8) {
		case 0:
			return "SendMessage", "lead", true
		case 1:
			return "SendMessage", "*", true
		case 2:
			return "SendMessage", who, true
		case 3:
			return "SendMessage", "?lead", true
		case 4, 5:
			item := 1 + w.rng.IntN(3)
			switch w.rng.IntN(4) {
			case 0: // it has a task that waits for another one
				return "TaskUpdate", fmt.Sprintf("%d pending %s 0 %d", item, st.Session.Name, 1+item%3), true
			case 1:
				return "TaskUpdate", fmt.Sprintf("%d completed - 0 0", item), true
			}
			return "TaskUpdate", fmt.Sprintf("%d in_progress - 0 0", item), true
		}
	case st.Session.Depth > 0:
	case st.Team == nil:
		return "TeamCreate", "", w.one(4)
	default:
		switch w.rng.IntN(9) {
		case 0, 1, 2:
			return "Agent", "=" + who + []string{"", "@planner", "@careful"}[w.rng.IntN(3)], true
		case 3:
			return "SendMessage", "*", true
		case 4:
			return "SendMessage", who, true
		case 5:
			return "SendMessage", "!" + who, true
		case 6:
			return "TeamDelete", "", w.one(3)
		case 7:
			return "TaskCreate", "", true
		case 8:
			return "TaskOutput", strings.ToUpper(who) + "&", true
		}
	}
	return "", "", false
}

// message reads a message as it is drawn: to whom, behind what kind it is of.
func message(input string, cancel bool) troupe.SendMessage {
	if m, ok := answersAsLead(input); ok {
		return m
	}
	m := troupe.SendMessage{To: input, Text: "how far are you?", Cancel: cancel}
	if to, ok := strings.CutPrefix(input, "!"); ok {
		m.To, m.Type, m.Cancel = to, troupe.MessageShutdown, false
	}
	if to, ok := strings.CutPrefix(input, "?"); ok {
		m.To, m.Type, m.Approve, m.Cancel = to, troupe.MessageShutdownResponse, true, false
	}
	return m
}

// teamwork is what is kept of the tree's team.
type teamwork struct {
	team teamed // of the transaction that is looked at
	led  bool   // the tree has had one
}

// teamed are what members of a team wish for and are told in one transaction.
type teamed struct {
	wish    *troupe.BoardMail // that the lead is at
	answers []troupe.Mail
	failed  []string // members whose failed or stopped runs the lead is told of
}

// heard notes mail that the lead of a team reads.
func (t *teamed) heard(m troupe.Mail) {
	switch {
	case m.Board != nil && m.Board.Intent() != nil:
		t.wish = m.Board
	case m.Ended != nil && m.Ended.Team != "" && m.Ended.Status != troupe.Completed:
		t.failed = append(t.failed, m.Ended.Name)
	}
}

// owns: an item that one member has is not another's to change.
func (h *watch) owns(e troupe.Event, b troupe.BoardChanged) {
	if h.team.wish == nil {
		return
	}
	by := h.team.wish.By
	for _, it := range b.Items {
		for _, was := range h.states[h.w.root].Board.Items {
			if was.ID == it.ID && was.Owner != "" && !strings.EqualFold(was.Owner, by) &&
				(was.Owner != it.Owner || was.Status != it.Status) {
				h.w.broken("session %s: with event %d %s has made task #%s of %s %q of %s", e.Session, e.Seq, by, it.ID,
					was.Owner, it.Status, it.Owner)
			}
		}
	}
}

// claims: who is told to have an item has it, and what a member had begun that failed or was stopped is given back.
func (h *watch) claims() {
	root := h.states[h.w.root]
	for _, m := range h.team.answers {
		wish := h.mail[letter{h.w.root, troupe.MailID(strings.TrimPrefix(string(m.ID), "board:"))}]
		if wish == nil || wish.Board == nil || wish.Board.Update == nil || m.Board.Failed {
			continue
		}
		in := wish.Board.Update
		for _, it := range root.Board.Items {
			if it.ID == in.Item && in.Owner == "" && in.Status == troupe.BoardInProgress &&
				!strings.EqualFold(it.Owner, wish.Board.By) {
				h.w.broken("%s is told %q, and the list has task #%s as %q's", wish.Board.By, m.Board.Text, it.ID,
					it.Owner)
			}
		}
	}
	for _, name := range h.team.failed {
		for _, it := range root.Board.Items {
			if it.Status == troupe.BoardInProgress && strings.EqualFold(it.Owner, name) {
				h.w.broken("%s failed or was stopped, and still has task #%s", name, it.ID)
			}
		}
	}
	h.team = teamed{}
}

// offered: an open task is offered to each member once.
func (h *watch) offered(m troupe.Mail) {
	var item string
	if n, _ := fmt.Sscanf(troupe.JoinText(m.Blocks), "This task is open: #%s", &item); m.Message == nil || n == 0 {
		return
	}
	for _, l := range h.sent[:len(h.sent)-1] {
		if o := h.mail[l]; l.to == m.To && o.Message != nil &&
			strings.HasPrefix(troupe.JoinText(o.Blocks), "This task is open: #"+item+" ") {
			h.w.broken("session %s is offered task #%s once more", m.To, item)
		}
	}
}

// sends: what a call is told to have been sent was sent in the same transaction.
func (h *watch) sends(e troupe.Event, b troupe.ToolFinished) {
	if b.Name != "SendMessage" || b.Result.IsError ||
		!strings.HasPrefix(troupe.JoinText(b.Result.Blocks), "sent;") {
		return
	}
	id := troupe.CallMailID(e.Session, troupe.Coord{Reply: b.Result.Reply, Call: b.Result.Call}, 0)
	if !slices.ContainsFunc(h.sent, func(l letter) bool {
		m := h.mail[l]
		return l.id == id || m.Kind == troupe.MailAnswer && m.From == e.Session && m.SentAt.Equal(e.At)
	}) {
		h.w.broken("session %s: event %d says of a message that it was sent, and nothing was", e.Session, e.Seq)
	}
	h.w.res.Messages++
}

// disbands: no team ends while one of its members is at work.
func (h *watch) disbands(e troupe.Event, b troupe.TeamChanged) {
	if b.Team != nil {
		h.led = true
		return
	}
	for _, id := range h.order {
		if s := h.states[id].Session; s.Team != "" && s.Parent == e.Session && s.Status.Live() {
			h.w.broken("session %s: event %d ends the team although %q is %s", e.Session, e.Seq, s.Name, s.Status)
		}
	}
}

// dismissed: a member that its lead wanted to come to an end begins no model call when its time for that is up, unless
// it was told something else since.
func (h *watch) dismissed(e troupe.Event, s troupe.Session) {
	if s.Team == "" {
		return
	}
	var by *posted
	for _, l := range h.sent {
		if m := h.mail[l]; l.to == s.ID && m.Kind.Words() && !m.SentAt.Before(h.docket.began[s.ID]) {
			by = m
		}
	}
	if by == nil || by.Message == nil || by.Message.Type != troupe.MessageShutdown {
		return
	}
	noticed := h.noticed(s.ID, by.SentAt.Add(troupe.ShutdownAfter+h.docket.asleep[s.ID]))
	if noticed.Before(h.w.stalled) {
		noticed = h.w.stalled
	}
	if e.At.After(noticed.Add(h.w.grace())) {
		h.w.broken("session %s: event %d begins a model call, and it was to be at its end by %s", s.ID, e.Seq, noticed)
	}
}
