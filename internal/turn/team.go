package turn

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// leave is until when a run has to come to an end that the lead of its team has asked to.
type leave struct {
	run   int
	until time.Time
}

// teamChanged notes the team that the session leads.
func teamChanged(f *fold, b troupe.TeamChanged) error {
	if f.s.Session.Depth > 0 {
		return f.refuse("only the main agent leads a team")
	}
	f.s.Team = b.Team
	for _, m := range b.Members {
		m.Status, m.EndedAt = troupe.TaskCompleted, f.e.At // idle
		f.s.Tasks = append(f.s.Tasks, m)
		f.s.forks = max(f.s.forks, m.Coord.Call+1) // what people make of the session is counted on from there
	}
	return nil
}

// wishedAway notes that the lead wants the run to come to an end. What anybody says later takes it back.
func wishedAway(f *fold, m troupe.Mail) {
	f.s.leave = leave{}
	if m.Message != nil && m.Message.Type == troupe.MessageShutdown {
		f.s.leave = leave{f.s.Session.Run, m.Message.Until}
	}
}

// leaveBy is when the run has to be over because the lead wants that; zero: it does not. A wish holds from when it
// was sent on, for a call may take long before anything is read.
func leaveBy(d *decision) (by time.Time) {
	if d.s.leave.run == d.s.Session.Run {
		by = d.s.leave.until
	}
	for _, m := range d.in.Unread {
		if !m.Kind.Words() {
			continue
		}
		if by = (time.Time{}); m.Message != nil && m.Message.Type == troupe.MessageShutdown {
			by = m.Message.Until
		}
	}
	return by
}

// LeavesBy is when the run there is has to be over because the lead of its team wants that; zero: it does not.
func LeavesBy(s *State, unread []troupe.Mail) time.Time {
	return leaveBy(&decision{s: s, in: &Inputs{Unread: unread}})
}

// dismissed reports whether the run has had its time to come to an end.
func dismissed(d *decision) bool {
	by := leaveBy(d)
	return d.s.Session.Status.Live() && !by.IsZero() && !d.in.Now.Before(by)
}

// renderMessage is how an agent's words appear to one that is not its child: with who says them, when they were sent
// and what they answer, and so that they can look like nothing else.
func renderMessage(m troupe.Mail) []troupe.Block {
	msg := m.Message
	if msg == nil {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<agent-message from=%q id=%q sent=%q", attr(msg.Name), attr(string(m.ID)), age(msg.Age()))
	if msg.Type != troupe.MessageWords {
		fmt.Fprintf(&b, " type=%q", attr(string(msg.Type)))
	}
	if msg.Re != "" {
		fmt.Fprintf(&b, " answers=%q", attr(string(msg.Re)))
	}
	if msg.Type == troupe.MessageShutdownResponse || msg.Type.Answers() != "" {
		fmt.Fprintf(&b, " approve=\"%v\"", msg.Approve)
	}
	fmt.Fprintf(&b, ">\n%s\n</agent-message>", troupe.Escape(troupe.JoinText(m.Blocks)))
	switch msg.Type {
	case troupe.MessagePlan:
		b.WriteString("\n" + reminder("This member plans, and changes nothing before its plan is approved. Answer "+
			"with SendMessage (type plan_approval_response, request_id "+attr(string(m.ID))+", approve true, or "+
			"false with what to change)."+others(msg.Lead)))
	case troupe.MessagePermission:
		b.WriteString("\n" + reminder("This member waits for leave to do this. Answer with SendMessage (type "+
			"permission_response, request_id "+attr(string(m.ID))+", approve true or false, and why). Allow only what "+
			"you would do yourself for the user's task."+others(msg.Lead)))
	case troupe.MessageWords, troupe.MessageShutdownResponse, troupe.MessagePlanResponse,
		troupe.MessagePermissionResponse, troupe.MessageAssigned, troupe.MessageChatter:
	case troupe.MessageShutdown:
		b.WriteString("\n" + reminder("Your team's lead wants you to come to an end. Finish or undo what is half "+
			"done, "+
			"answer with SendMessage (type shutdown_response, request_id "+attr(string(m.ID))+", approve true, or "+
			"false with why not), and end your turn. What is not over by "+
			msg.Until.UTC().Format(time.TimeOnly)+" UTC is stopped."))
	}
	if msg.Chatter > 0 {
		b.WriteString("\n" + reminder(Chatter(attr(msg.Name), msg.Chatter)))
	}
	return []troupe.Block{troupe.Text(b.String())}
}

// Chatter is what each of two agents is told that write to each other and do nothing.
func Chatter(with string, messages int) string {
	return fmt.Sprintf("You and %s have written each other %d messages, and neither has done anything between them. "+
		"Do "+
		"what is to be done, or end your turn: there is nothing to thank for. Your team's lead was told.", with,
		messages)
}

// talkedTo counts a message to another agent. Each of a pair counts what both have written since its own last call of
// a tool; the smaller number is since that of either, and it travels with the messages.
func talkedTo(f *fold, to troupe.SessionID, read int) {
	chat := maps.Clone(f.s.chat)
	if chat == nil {
		chat = make(map[troupe.SessionID]int)
	}
	if chat[to]++; read > 0 {
		chat[to] = min(chat[to], read)
	}
	f.s.chat = chat
}

// Streak is how many messages the session and another one have written to each other since either has done anything.
func Streak(s *State, with troupe.SessionID) int { return s.chat[with] }

// others says whose yes counts where the lead's does not.
func others(part troupe.LeadPart) string {
	if part == troupe.LeadMay {
		return ""
	}
	return " Your mode does not allow by itself what it would do then, so that a yes is the user's, who is asked " +
		"too; " +
		"your no counts."
}

// age is how long ago something was, in words.
func age(d time.Duration) string {
	if d < time.Second {
		return "just now"
	}
	return d.Truncate(time.Second).String() + " ago"
}

// renderIdle is how the lead of a team learns that a member has nothing to do any more: in one line, since most of what
// members say they say in messages.
func renderIdle(o troupe.Outcome) string {
	text, _, more := strings.Cut(strings.TrimSpace(o.Result), "\n")
	said := value(text, maxValue)
	if more = more || len(text) > maxValue; said == "" {
		said = "without a last word"
	}
	what := "is idle"
	switch o.TaskStatus() {
	case troupe.TaskCompleted:
	case troupe.TaskKilled:
		what = "was stopped (" + value(o.Error, maxValue) + ")"
	case troupe.TaskFailed, troupe.TaskRunning:
		what = "failed (" + value(o.Error, maxError) + ")"
	}
	var b strings.Builder
	b.WriteString(warning(o))
	fmt.Fprintf(&b, "<task-notification>\n<task-id>%s</task-id>\n<status>%s</status>\n<summary>Member \"%s\" of your "+
		"team "+
		"%s: %s</summary>\n", o.TaskID(), o.TaskStatus(), value(o.Name, maxValue), what, said)
	if more && o.Output != "" {
		fmt.Fprintf(&b, "<output-file>%s</output-file>\n", value(o.Output, maxError))
	}
	return b.String() + "</task-notification>"
}
