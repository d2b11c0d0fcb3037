package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

func sendAll(tx store.Tx, mail []troupe.Mail) error {
	for _, m := range mail {
		if _, err := tx.Send(m); err != nil {
			return fmt.Errorf("send %s mail to session %s: %w", m.Kind, m.To, err)
		}
	}
	return nil
}

// child finds an agent below this session: a child by name or id, a descendant by id.
func (ts *tasks) child(tx store.Reader, ref string) (troupe.Session, error) {
	kids, err := tx.Sessions(store.Filter{Root: ts.a.root, Parent: ts.a.id, Name: ref, Limit: 1})
	if err != nil {
		return troupe.Session{}, fmt.Errorf("look for agent %q: %w", ref, err)
	}
	if len(kids) > 0 {
		return kids[0], nil
	}
	s, err := tx.Session(troupe.SessionID(ref))
	for up := s; err == nil && up.Parent != ""; {
		if up.Parent == ts.a.id {
			return s, nil
		}
		up, err = tx.Session(up.Parent)
	}
	if err != nil && !errors.Is(err, troupe.ErrNotFound) {
		return troupe.Session{}, fmt.Errorf("look for agent %q: %w", ref, err)
	}
	return troupe.Session{}, troupe.ErrNotFound
}

func (ts *tasks) noSuchAgent(ref string) string {
	var names []string
	for _, t := range ts.a.st.Tasks {
		if t.Kind.OfSession() {
			names = append(names, fmt.Sprintf("%q", t.Name))
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("there is no agent %q: you have started none", ref)
	}
	return fmt.Sprintf("there is no agent %q among yours, which are %s", ref, strings.Join(names, ", "))
}

// letter is a message on its way: to whom, and what of it.
type letter struct {
	troupe.SendMessage
	call turn.Call
	to   []troupe.Session
	mail []troupe.Mail
}

// sendMessage puts words into the mailboxes of other agents. Those that have ended go on with them.
func (ts *tasks) sendMessage(ctx context.Context, c turn.Call, in troupe.SendMessage) error {
	if in.Type.Answers() != "" {
		return ts.answerMember(ctx, c, in)
	}
	file, err := ts.keepLong(c, &in)
	if err != nil {
		return ts.a.stage(resultOf(c, err.Error(), true))
	}
	var sent []troupe.Mail
	err = ts.a.transact(ctx, func(tx store.Tx, emit func(troupe.Body) error) error {
		l := letter{SendMessage: in, call: c}
		if l.to, err = ts.receivers(tx, in.To); err != nil {
			return ts.refused(emit, c, err)
		}
		out, err := ts.write(tx, &l)
		if err != nil {
			return ts.refused(emit, c, err)
		}
		if hasSubagents(ts.a) {
			messaged(&out, &l)
		}
		if sent = l.mail; file != "" && len(sent) > 0 {
			out.Result.Blocks = append(out.Result.Blocks, troupe.Text("All of it is in "+file+
				", which the receiver is told."))
		}
		if err := sendAll(tx, sent); err != nil {
			return err
		}
		return emit(out)
	})
	if err != nil {
		return err
	}
	ts.a.tree.mailed(sent...)
	return nil
}

// unsentError is why a message is not sent, in words for the agent that wrote it.
type unsentError struct{ why string }

func (e *unsentError) Error() string { return e.why }

// refused answers a call whose message is not sent. Any other error is one of the store.
func (ts *tasks) refused(emit func(troupe.Body) error, c turn.Call, err error) error {
	var unsent *unsentError
	if errors.As(err, &unsent) {
		return emit(resultOf(c, unsent.why, true))
	}
	return err
}

// maxMessage is how many bytes of a message stand in the conversation of its receiver; the rest is in a file.
const maxMessage = 8 << 10

// keepLong puts a message that is too long into a file, of which the receiver is told.
func (ts *tasks) keepLong(c turn.Call, in *troupe.SendMessage) (file string, err error) {
	text, cut := turn.Cap(in.Text, maxMessage)
	if cut == 0 || ts.a.h.d.SaveResult == nil {
		return "", nil
	}
	file = filepath.Join(ts.a.h.d.OutputDir(ts.a.id), fmt.Sprintf("message-%d.%d.md", c.Reply, c.Index))
	if err := ts.a.h.d.SaveResult(file, in.Text); err != nil {
		return "", fmt.Errorf("not sent: it has %d bytes, and the file for what is beyond %d could not be written: %w",
			len(in.Text), maxMessage, err)
	}
	in.Text = fmt.Sprintf("%s\n[%d more bytes: all of it is in %s]", text, cut, file)
	return file, nil
}

// write makes the mail, and the result of the call that sends it.
func (ts *tasks) write(tx store.Reader, l *letter) (out troupe.ToolFinished, err error) {
	var reads, woken, gone []string
	var tasks []troupe.Task
	for _, to := range l.to {
		before := len(l.mail)
		live, err := ts.address(tx, l, to)
		sent := len(l.mail) > before
		if t, known := ts.a.st.Task(string(to.ID)); to.Parent == ts.a.id && !l.Cancel && sent &&
			(!known || t.Status != troupe.TaskRunning) {
			tasks = append(tasks, ts.next(to, live, l.call)) // it works for this session, whoever woke it
		}
		switch name := fmt.Sprintf("%q", ts.nameOf(to)); {
		case err != nil:
			return out, err
		case live:
			reads = append(reads, name)
		case !sent:
			gone = append(gone, fmt.Sprintf("%s has ended already (%s)", name, to.Status))
		default:
			woken = append(woken, name)
		}
	}
	var said []string
	switch {
	case len(reads) > 0 && l.Cancel:
		said = append(said, fmt.Sprintf("sent; %s stops after the step it is in, and can be sent another message later",
			strings.Join(reads, ", ")))
	case len(reads) > 0:
		said = append(said, "sent; "+cmp.Or(one(reads, "reads"), strings.Join(reads, ", ")+" read")+
			" it before the next step")
	}
	if len(gone) > 0 {
		said = append(said, strings.Join(gone, ", ")+"; nothing was sent there")
	}
	out = resultOf(l.call, strings.Join(said, "\n"), false)
	switch {
	case len(woken) > 0 && len(l.to) == 1:
		to := l.to[0]
		ts.goesOn(&out, to, fmt.Sprintf("%q had ended (%s) and goes on with this", ts.nameOf(to), to.Status))
	case len(woken) > 0:
		said = append(said, "sent; these had ended and go on with it: "+strings.Join(woken, ", "))
		out.Result.Blocks = []troupe.Block{troupe.Text(strings.Join(said, "\n"))}
	}
	if out.Task == nil {
		out.Tasks = tasks
	}
	ts.talked(l, &out)
	l.mail = append(l.mail, ts.chatter(l)...)
	return out, nil
}

// one is the only name with a verb; "" if there are more.
func one(names []string, verb string) string {
	if len(names) == 1 {
		return names[0] + " " + verb
	}
	return ""
}

// address makes the mail for one receiver; live: it is at work.
func (ts *tasks) address(tx store.Reader, l *letter, to troupe.Session) (live bool, err error) {
	below, err := ts.below(tx, to)
	switch {
	case err != nil:
		return false, err
	case !below && l.Cancel:
		return false, &unsentError{fmt.Sprintf("%q is no agent of yours, so it can be written to and not stopped",
			ts.nameOf(to))}
	case l.Type == troupe.MessageShutdown && (!below || to.Team == ""):
		return false, &unsentError{fmt.Sprintf("a shutdown_request is for members of the team that you lead, and %q "+
			"is none", ts.nameOf(to))}
	}
	at := troupe.Coord{Reply: l.call.Reply, Call: l.call.Index}
	now := ts.a.h.d.Now()
	halt, haltID := troupe.Stop{Tree: true, By: "its parent"}, troupe.CallMailID(ts.a.id, at, 1)
	if _, live, err = StopMail(tx, to.ID, halt, now, haltID); err != nil {
		return false, err
	}
	if l.Cancel && !live {
		return false, nil
	}
	if l.Type == troupe.MessageShutdown && !live { // an idle member is asked too, unless it has left already
		if idle, err := isIdle(tx, to); err != nil || !idle {
			return false, err
		}
	}
	m := troupe.Mail{ID: troupe.CallMailID(ts.a.id, at, 0), Root: ts.a.root, To: to.ID, From: ts.a.id,
		Kind: troupe.MailPrompt, SentAt: now, Blocks: []troupe.Block{troupe.Text(l.Text)}}
	if !below || to.Team != "" {
		m.Kind = troupe.MailMessage
		m.Message = &troupe.AgentMessage{Type: l.Type, Name: ts.nameFor(to), Summary: l.Summary, Re: l.Re,
			Approve: l.Approve}
		if l.Type == troupe.MessageWords {
			ts.streak(to, &m)
		}
		if l.Type == troupe.MessageShutdown {
			m.Message.Until = now.Add(troupe.ShutdownAfter)
		}
	}
	l.mail = append(l.mail, m)
	if !l.Cancel {
		return live, nil
	}
	stops, err := StopTree(tx, to.ID, halt, now, haltID)
	for i := range stops {
		stops[i].From = ts.a.id
	}
	l.mail = append(l.mail, stops...)
	return live, err
}

// goesOn makes the result of a message that has an agent begin another run. What tells the end of the run
// before does not end the task, whenever it is read.
func (ts *tasks) goesOn(out *troupe.ToolFinished, to troupe.Session, text string) {
	switch to.Parent {
	case ts.a.id:
		out.Task = new(ts.next(to, false, turn.Call{Call: troupe.Call{Reply: out.Result.Reply,
			Index: out.Result.Call}}))
		text += fmt.Sprintf(", with all it knew.\ntask id: %s\nIts end will arrive by itself as a <task-notification>.",
			to.ID)
	case "": // the one that people talk to
		text += "."
	default:
		text += fmt.Sprintf(", with all it knew.\ntask id: %s\nIts end is told to the agent that started it.", to.ID)
	}
	out.Result.Blocks = []troupe.Block{troupe.Text(text)}
}

// next is an agent as the task that its next run is, or the one that it is live in.
func (ts *tasks) next(to troupe.Session, live bool, c turn.Call) troupe.Task {
	t := ts.a.h.agentTask(to, troupe.Coord{Reply: c.Reply, Call: c.Index}, true)
	if t.Run = to.Run; !live {
		t.Run++
	}
	return *t
}

// below reports whether a session is this one's child, or one of theirs.
func (ts *tasks) below(tx store.Reader, s troupe.Session) (bool, error) {
	for s.Parent != "" {
		if s.Parent == ts.a.id {
			return true, nil
		}
		up, err := tx.Session(s.Parent)
		if err != nil {
			return false, fmt.Errorf("look for the agents above %s: %w", s.ID, err)
		}
		s = up
	}
	return false, nil
}

// receivers are the agents that a word of the model's means.
func (ts *tasks) receivers(tx store.Reader, ref string) ([]troupe.Session, error) {
	self := ts.a.st.Session
	member := self.Team != ""
	switch {
	case ref == troupe.EveryoneName:
		return ts.everyone(tx)
	case strings.EqualFold(ref, troupe.ParentName), strings.EqualFold(ref, troupe.LeadName) && member:
		if self.Parent == "" {
			return nil, &unsentError{"you were started by a person and by no agent: say it in your answer"}
		}
		up, err := tx.Session(self.Parent)
		if err != nil {
			return nil, fmt.Errorf("look for the parent of %s: %w", self.ID, err)
		}
		return []troupe.Session{up}, nil
	case strings.EqualFold(ref, troupe.LeadName):
		return nil, &unsentError{"you are in no team that another agent leads"}
	}
	s, err := ts.child(tx, ref)
	if err == nil || !errors.Is(err, troupe.ErrNotFound) {
		return []troupe.Session{s}, err
	}
	if !member {
		return nil, &unsentError{ts.noSuchAgent(ref)}
	}
	team, err := ts.team(tx)
	if err != nil {
		return nil, err
	}
	for _, s := range team {
		if strings.EqualFold(ts.nameOf(s), ref) || string(s.ID) == ref {
			return []troupe.Session{s}, nil
		}
	}
	return nil, &unsentError{fmt.Sprintf("there is no agent %q in your team, whose others are %s", ref,
		strings.Join(ts.names(team), ", "))}
}

// everyone is all of the team but this session.
func (ts *tasks) everyone(tx store.Reader) ([]troupe.Session, error) {
	if ts.a.st.Session.Team == "" && ts.a.st.Team == nil {
		return nil, &unsentError{"you are in no team; name the agent that the message is for"}
	}
	team, err := ts.team(tx)
	if err == nil && len(team) == 0 {
		err = &unsentError{"your team has no other members"}
	}
	return team, err
}

// team are the other agents of the team that this session leads or is a member of, the lead first.
func (ts *tasks) team(r store.Reader) ([]troupe.Session, error) {
	self := ts.a.st.Session
	lead, name := self.ID, ""
	var out []troupe.Session
	if self.Team != "" {
		up, err := r.Session(self.Parent)
		if err != nil {
			return nil, fmt.Errorf("look for the lead of team %q: %w", self.Team, err)
		}
		lead, name, out = self.Parent, self.Team, append(out, up)
	} else if t := ts.a.st.Team; t != nil {
		name = t.Name
	}
	members, err := membersOf(r, self.Root, lead, name)
	if err != nil {
		return nil, err
	}
	return append(out, slices.DeleteFunc(members, func(s troupe.Session) bool { return s.ID == self.ID })...), nil
}

// membersOf are the members of a team in order of their births.
func membersOf(r store.Reader, root, lead troupe.SessionID, team string) ([]troupe.Session, error) {
	kids, err := r.Sessions(store.Filter{Root: root, Parent: lead})
	if err != nil {
		return nil, fmt.Errorf("look for the members of team %q: %w", team, err)
	}
	return slices.DeleteFunc(kids, func(s troupe.Session) bool { return s.Team == "" || s.Team != team }), nil
}

// nameOf is what this session can call another one of its tree.
func (ts *tasks) nameOf(s troupe.Session) string {
	switch self := ts.a.st.Session; {
	case s.ID == self.Parent && self.Team != "":
		return troupe.LeadName
	case s.ID == self.Parent:
		return troupe.ParentName
	case s.Parent == "":
		return cmp.Or(s.Name, "main")
	}
	return s.Name
}

// nameFor is what another session can call this one.
func (ts *tasks) nameFor(to troupe.Session) string {
	self := ts.a.st.Session
	switch {
	case to.Parent == self.ID && to.Team != "":
		return troupe.LeadName
	case to.Parent == self.ID:
		return troupe.ParentName
	}
	return cmp.Or(self.Name, "main")
}

func (ts *tasks) names(all []troupe.Session) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = fmt.Sprintf("%q", ts.nameOf(s))
	}
	return out
}
