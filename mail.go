package troupe

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// MailKind says what a piece of mail is. A receiver acts on the kind, never on the text.
type MailKind string

// Kinds of mail.
const (
	// MailPrompt is an instruction: a person's or a parent's words.
	MailPrompt MailKind = "prompt"
	// MailMessage is what another agent says that is not the receiver's parent; Message is set.
	MailMessage MailKind = "message"
	// MailTaskEnded tells a session that a task of its own is over, a child's run or a
	// command in the background; Ended is set.
	MailTaskEnded MailKind = "task_ended"
	// MailNotice is the runtime's own word about something that has changed. It starts no
	// run; it is read with whatever comes next.
	MailNotice MailKind = "notice"
	// MailStop ends a run; Stop is set.
	MailStop MailKind = "stop"
	// MailAnswer answers a request; Answer is set.
	MailAnswer MailKind = "answer"
	// MailGrant changes the receiver's authority: it adds Rule, or sets Mode.
	MailGrant MailKind = "grant"
	// MailModel moves the receiver to another model; Model is set.
	MailModel MailKind = "model"
	// MailCompact has the receiver shorten its conversation; Blocks may say what to keep.
	MailCompact MailKind = "compact"
	// MailBoard wants something of the board or answers that; Board is set.
	MailBoard MailKind = "board"
	// MailMonitor tells a session what a monitor of its own has printed or seen; Heard is set.
	MailMonitor MailKind = "monitor"
	// MailFork has the receiver forked for what Blocks say; Forked is set.
	MailFork MailKind = "fork"
)

// Control reports whether mail of this kind is acted on as soon as it arrives, instead of
// becoming part of the conversation when its turn comes.
func (k MailKind) Control() bool {
	switch k {
	case MailStop, MailAnswer, MailGrant, MailModel, MailCompact, MailFork, MailBoard:
		return true
	case MailPrompt, MailMessage, MailTaskEnded, MailNotice, MailMonitor:
	}
	return false
}

// Words reports whether mail of this kind is what a person or an agent says to the receiver, which owes it an answer.
func (k MailKind) Words() bool { return k == MailPrompt || k == MailMessage }

// Mail is a durable message to a session. It stands in the receiver's tree until the
// transaction that logs its delivery marks it delivered.
type Mail struct {
	ID   MailID    `json:"id"`
	Root SessionID `json:"root"` // of the receiver
	To   SessionID `json:"to"`
	From SessionID `json:"from,omitempty"` // "" is a person
	// Caller is who had it sent; nil: the sessions themselves, or it was sent by a version that
	// did not note it.
	Caller *Caller   `json:"caller,omitempty"`
	Kind   MailKind  `json:"kind"`
	SentAt time.Time `json:"sent_at"`

	Blocks []Block `json:"blocks,omitempty"` // MailPrompt, MailMessage, MailNotice, MailCompact, MailFork
	// Brief is what the runtime tells besides: before the first words, and in a notice what of it
	// has changed.
	Brief *Brief `json:"brief,omitempty"`
	// Uses is the command that a person's words began with.
	Uses *SkillUse `json:"uses,omitempty"` // MailPrompt
	// Typed is what a person typed, where Blocks hold words of others as well: of a command's file, of a server, of
	// attached files. nil: a person's Blocks are all theirs.
	Typed *string `json:"typed,omitempty"` // MailPrompt
	// Read are files whose whole content stands in Blocks, as it was then: the receiver has read them.
	Read   []FileTouch `json:"read,omitempty"`   // MailPrompt, MailFork
	Ended  *Outcome    `json:"ended,omitempty"`  // MailTaskEnded
	Stop   *Stop       `json:"stop,omitempty"`   // MailStop
	Answer *Answer     `json:"answer,omitempty"` // MailAnswer
	Rule   *Rule       `json:"rule,omitempty"`   // MailGrant
	Mode   Mode        `json:"mode,omitempty"`   // MailGrant; of auto Model is the one that judges
	Model  string      `json:"model,omitempty"`  // MailModel
	OfTeam
	// Quiet mail wakes nobody: the receiver has itself been told to stop.
	Quiet bool `json:"quiet,omitempty"`
}

// PersonsPrompt reports whether the mail is a person's words, and not an agent's.
func (m Mail) PersonsPrompt() bool { return m.Kind == MailPrompt && m.From == "" }

// Wakes reports whether the mail begins another run of a session that has ended, if that lets itself be woken
// (see Session.WokenBy).
func (m Mail) Wakes() bool {
	switch m.Kind {
	case MailPrompt, MailMessage, MailCompact:
		return true
	case MailTaskEnded, MailMonitor:
		return !m.Quiet
	case MailNotice, MailStop, MailAnswer, MailGrant, MailModel, MailFork, MailBoard:
	}
	return false
}

// Stop ends a run of a session. What it had is kept, and it can be resumed.
type Stop struct {
	// Run is the run that is meant. A stop that arrives when that run is over ends nothing.
	Run int `json:"run"`
	// Now interrupts what is under way; otherwise the step it is in is finished first.
	Now bool `json:"now,omitempty"`
	// Tree stops its tasks in the background too; otherwise they go on.
	Tree bool `json:"tree,omitempty"`
	// Task ends this command in the background, and nothing else.
	Task TaskID `json:"task,omitempty"`
	// Void takes earlier stops of the run back: it was resumed before they had ended it.
	Void bool   `json:"void,omitempty"`
	By   string `json:"by"` // who wanted it, for people
}

// Forked is a wish for a fork, and what came of it: the task that it is, or why there is none.
type Forked struct {
	Title   string `json:"title"` // what it is for, in a few words
	Task    *Task  `json:"task,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// Outcome is the typed result of one task: of one run of a session, or of a command.
type Outcome struct {
	Kind       TaskKind  `json:"kind,omitempty"`    // "" is an agent
	Task       TaskID    `json:"task,omitempty"`    // of a command or a monitor
	Session    SessionID `json:"session,omitempty"` // of an agent
	Run        int       `json:"run"`
	Coord      Coord     `json:"coord"` // the parent's call this answers
	Name       string    `json:"name"`
	Type       string    `json:"type"`
	Status     Status    `json:"status"`
	Cause      Cause     `json:"cause,omitempty"`
	Limit      string    `json:"limit,omitempty"`  // that ended it, as BudgetWarned names it
	Result     string    `json:"result,omitempty"` // final words, whole
	Error      string    `json:"error,omitempty"`
	Evidence   Evidence  `json:"evidence"`
	Tally      Tally     `json:"tally"` // of this run
	DurationMS int64     `json:"duration_ms"`
	// SilentMS is for how long the model had not answered the agent, or one that it waited for, when it was ended.
	SilentMS int64 `json:"silent_ms,omitempty"`
	// Workspace is what became of the agent's own folder; nil: it had none, or shared another's.
	Workspace *WorkspaceResult `json:"workspace,omitempty"`
	// Output is the file with all of Result; "" if there is none.
	Output string `json:"output,omitempty"`
	Handed
	AsTold
}

// Handed is what is handed over beside the words of an agent.
type Handed struct {
	// Stopped names the commands in the background that were ended with the agent.
	Stopped []string `json:"stopped,omitempty"`
	// Structured is Result as the object that the agent's schema asked for; nil: none was asked for, or none came.
	Structured json.RawMessage `json:"structured,omitempty"`
	// Flags are what the check of a result found in it that its reader should know; nil: nothing, or there was none.
	Flags []Flag `json:"flags,omitempty"`
	// Verified is what came of the check by an agent that the call asked for; nil: it asked for none.
	Verified *Verified `json:"verified,omitempty"`
	// Unchecked is why the model that was to check the result has not; "": it has, or none was to.
	Unchecked string `json:"unchecked,omitempty"`
}

// AsTold is what an end is to the one that is told of it.
type AsTold struct {
	// Team is the team that the agent is a member of: it is idle, and not gone.
	Team string `json:"team,omitempty"`
	// Left is set where a member ended because its lead had asked it to.
	Left bool `json:"left,omitempty"`
	// Earlier is set where the end is told after the receiver has had the agent begin a later run.
	Earlier bool `json:"earlier,omitempty"`
	// Vocabulary is the one of the receiver, in whose words it is told; "" is VocabularyAgents.
	Vocabulary Vocabulary `json:"vocabulary,omitempty"`
}

// OfTask reports whether mail of this kind tells a session of a task of its own. It is no words: a session that came to
// no end of its own, or has no reply left, is not set to work by it.
func (k MailKind) OfTask() bool { return k == MailTaskEnded || k == MailMonitor }

// TaskID is the id under which the receiver knows the task.
func (o Outcome) TaskID() TaskID {
	if !o.Kind.OfSession() {
		return o.Task
	}
	return TaskID(o.Session)
}

// TaskStatus is the end of the task as a task's.
func (o Outcome) TaskStatus() TaskStatus {
	switch o.Status {
	case Completed:
		return TaskCompleted
	case Cancelled:
		return TaskKilled
	case Failed, MaxTurns, Spawning, Running, Waiting:
	}
	return TaskFailed
}

// ChildEndedMailID makes the end of one run of one child a single piece of mail, however
// often it is sent.
func ChildEndedMailID(child SessionID, run int) MailID {
	return MailID(fmt.Sprintf("end:%s:%d", child, run))
}

// Heard is what a monitor has told since it was last heard of.
type Heard struct {
	Task   TaskID `json:"task"`
	Name   string `json:"name"`
	Output string `json:"output,omitempty"` // the file with all of it
	// Lines are the last of them, and Left how many came before these and are in the file alone.
	Lines []string `json:"lines"`
	Left  int      `json:"left,omitempty"`
	// Until is when the session is next told of its monitors, if that is not soon: they have told as much as they may
	// for now. They go on.
	Until time.Time `json:"until,omitzero"`
}

// HeardMailID is the id of the nth piece of mail that an actor under the lease's epoch sends of a monitor, when its log
// had seq events.
func HeardMailID(owner SessionID, t TaskID, epoch, seq int64, n int) MailID {
	return MailID(fmt.Sprintf("heard:%s:%s:%d:%d:%d", owner, t, epoch, seq, n))
}

// ShellEndedMailID makes the end of a command a single piece of mail.
func ShellEndedMailID(owner SessionID, t TaskID) MailID {
	return MailID(fmt.Sprintf("end:%s:%s", owner, t))
}

// CallMailID is the id of the nth piece of mail that a call of a session sends.
func CallMailID(from SessionID, c Coord, n int) MailID {
	return MailID(fmt.Sprintf("call:%s:%d:%d:%d", from, c.Reply, c.Call, n))
}

// PromptMailID is the id of the prompt that a birth carries.
func PromptMailID(child SessionID) MailID { return MailID("prompt:" + string(child)) }

// BoardMailID is the id of the answer to a wish about the board.
func BoardMailID(wish MailID) MailID { return "board:" + wish }

// OfferMailID is the id under which an item of the board is offered to a member of a team, once.
func OfferMailID(to SessionID, item string) MailID {
	return MailID(fmt.Sprintf("offer:%s:%s", to, item))
}

// StuckMailID is the id under which an agent is told once that an item of the board keeps others waiting.
func StuckMailID(to SessionID, item string) MailID {
	return MailID(fmt.Sprintf("stuck:%s:%s", to, item))
}

const newsMail = "news:"

// NewsMailID is the id of what a session is told of tools that servers got or took back, when its log had seq events.
func NewsMailID(s SessionID, seq int64) MailID {
	return MailID(fmt.Sprintf("%s%s:%d", newsMail, s, seq))
}

// News reports whether it is one of NewsMailID.
func (id MailID) News() bool { return strings.HasPrefix(string(id), newsMail) }

// Flag is a rule that the check of a result fired, before the parent read it.
type Flag struct {
	Rule string `json:"rule"` // its name
	Why  string `json:"why"`  // completes "this result …"
}
