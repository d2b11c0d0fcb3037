package troupe

import (
	"fmt"
	"time"
)

// TaskID names one task of a session: for an agent its session id, for a command
// or a monitor "b" and the coordinates of its call ("b3.0").
type TaskID string

// TaskKind is what a task is made of.
type TaskKind string

// Kinds of task.
const (
	TaskAgent TaskKind = "agent" // a child session
	TaskShell TaskKind = "shell" // a command
	// TaskMonitor is a command or a watch of files, each line of which is told to the session.
	TaskMonitor TaskKind = "monitor"
	// TaskWorkflow is a child session that follows a workflow.
	TaskWorkflow TaskKind = "workflow"
	// TaskDream is a session that puts a memory in order. It is nobody's child.
	TaskDream TaskKind = "dream"
)

// OfSession reports whether the task is a child session. Any other runs in the process that hosts its session, and
// ends with it.
func (k TaskKind) OfSession() bool { return k != TaskShell && k != TaskMonitor }

// TaskStatus is how far a task has come.
type TaskStatus string

// The statuses of a task. All but the first are ends.
const (
	TaskRunning   TaskStatus = "running"
	TaskCompleted TaskStatus = "completed"
	TaskFailed    TaskStatus = "failed"
	TaskKilled    TaskStatus = "killed" // somebody stopped it, or its process went away
)

// Task is something at work on a session's behalf that can be watched and stopped. It is
// part of the fold of that session's log.
type Task struct {
	ID    TaskID   `json:"id"`
	Kind  TaskKind `json:"kind"`
	Name  string   `json:"name"`            // an agent's name, a command's first words, what is watched
	Title string   `json:"title,omitempty"` // what it is for
	Coord Coord    `json:"coord"`           // the call that began it
	// Run is the agent's run that a message has it begin: ends of earlier ones are not this task's. It is 0
	// for an agent that was born for the task, and for a command.
	Run int `json:"run,omitempty"`
	// Output is the file that holds, or will hold, all it says: an agent's final words, a
	// command's output as it is written.
	Output string `json:"output,omitempty"`
	// Background: the call that began it has its result, and the end comes as mail. A task
	// in the foreground is the result its call waits for.
	Background bool `json:"background"`
	// Reads: nothing that it does changes a file.
	Reads     bool       `json:"reads,omitempty"`
	Status    TaskStatus `json:"status"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   time.Time  `json:"ended_at,omitzero"`
	// End is the event of the session's log that brought the end; 0 while it runs.
	End int64 `json:"end,omitempty"`
}

// ShellTaskID is the id of the command or the monitor that a call began.
func ShellTaskID(c Coord) TaskID { return TaskID(fmt.Sprintf("b%d.%d", c.Reply, c.Call)) }

// Wait is what a call of TaskOutput waits for, and until when at the latest.
type Wait struct {
	Task  TaskID    `json:"task,omitempty"`
	Until time.Time `json:"until"`
	// Board: it waits for the lead of its team to answer about the board instead.
	Board bool `json:"board,omitempty"`
}

// Intent is the decoded input of a tool that does nothing itself: the session's driver
// carries it out. It is one
// of Spawn, SendMessage, TaskQuery, TaskStop, TeamCreate, TeamDelete, AskUser, EnterPlan, ExitPlan, and BoardCreate,
// BoardUpdate and BoardQuery.
type Intent interface{ intent() }

// SendMessage is the input of the tool of that name: words for another agent.
type SendMessage struct {
	To      string // a name, an id, LeadName, ParentName or EveryoneName
	Text    string
	Type    MessageType
	Summary string // a few words, for people who watch
	// Re is the message that it answers, and Approve its answer.
	Re      MailID
	Approve bool
	// Cancel has the agent stop after the step it is in; the message is in its log by then.
	Cancel bool
}

// TaskQuery is the TaskOutput tool's input. Without a Task it asks for the list.
type TaskQuery struct {
	Task    string // an id, or an agent's name
	Block   bool   // wait for its end
	Timeout time.Duration
	// Only are the statuses of sub-agents that the list is of; "" is all.
	Only SubagentFilter
}

// TaskStop is the input of the tool of that name: it ends a task now.
type TaskStop struct {
	Task string // an id, or an agent's name
}

func (Spawn) intent()       {}
func (SendMessage) intent() {}
func (TaskQuery) intent()   {}
func (TaskStop) intent()    {}
