package troupe

import "time"

// Team is a group of agents that stay: the main agent, which leads it, and agents that it has started as members.
// A member that has nothing to do waits for mail, and costs nothing until it comes.
type Team struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"` // what it is for
}

// NewMember is an agent that a team begins with. It is there from the birth of its lead on, and idle until it is
// written to.
type NewMember struct {
	Name   string `json:"name"`
	Type   string `json:"type,omitempty"`   // "" is GeneralAgent
	Prompt string `json:"prompt,omitempty"` // what it is told of its part, before any message
}

// TeamChanged says which team the session leads from here on; nil: none any more.
type TeamChanged struct {
	Team *Team `json:"team,omitempty"`
	// Members are those that were born with the session. Others are in the events of the calls that started them.
	Members []Task `json:"members,omitempty"`
}

// Kind implements Body.
func (TeamChanged) Kind() Kind { return KindTeamChanged }

// TeamCreate is the input of the tool of that name.
type TeamCreate struct{ Team Team }

// TeamDelete is the input of the tool of that name.
type TeamDelete struct{}

func (TeamCreate) intent() {}
func (TeamDelete) intent() {}

// LeadName is what members of a team call the agent that leads it; ParentName is what an agent calls the one that
// started it, and EveryoneName all other members of its team. No agent can have one of them as its name.
const (
	LeadName     = "lead"
	ParentName   = "parent"
	EveryoneName = "*"
)

// MessageType says what an agent wants of the one that it writes to.
type MessageType string

// Types of message. Those with an answer name the message that they answer.
const (
	MessageWords            MessageType = ""
	MessageShutdown         MessageType = "shutdown_request"  // of the lead: end what you do, and stay ended
	MessageShutdownResponse MessageType = "shutdown_response" // with Approve: it does; else why not

	// What a member asks about its plan and about its calls is the runtime's to send; the answers are its lead's.
	MessagePlan               MessageType = "plan_approval_request"
	MessagePlanResponse       MessageType = "plan_approval_response"
	MessagePermission         MessageType = "permission_request"
	MessagePermissionResponse MessageType = "permission_response"
)

// MessageChatter is the runtime's, to the lead: two of its team write to each other and do nothing.
const MessageChatter MessageType = "chatter"

// MessageAssigned is the runtime's, in the name of the lead: an item of the board that is the receiver's, or could be.
const MessageAssigned MessageType = "task_assigned"

// MessageTypes are those that an agent may name.
func MessageTypes() []string {
	return []string{string(MessageShutdown), string(MessageShutdownResponse), string(MessagePlanResponse),
		string(MessagePermissionResponse)}
}

// Answers is the kind of request that a message of this type answers; "": it answers none.
func (t MessageType) Answers() RequestKind {
	switch t {
	case MessagePlanResponse:
		return RequestPlan
	case MessagePermissionResponse:
		return RequestPermission
	case MessageWords, MessageShutdown, MessageShutdownResponse, MessagePlan, MessagePermission, MessageAssigned,
		MessageChatter:
	}
	return ""
}

// AgentMessage is what a piece of mail from one agent to another says beside its words.
type AgentMessage struct {
	Type MessageType `json:"type,omitempty"`
	// Name is what the receiver can call the sender.
	Name    string `json:"name"`
	Summary string `json:"summary,omitempty"` // a few words, for people who watch
	// Re is the message that it answers, and Approve whether it agrees to what that asked for.
	Re      MailID `json:"re,omitempty"`
	Approve bool   `json:"approve,omitempty"`
	// Waited is for how long it lay in the mailbox; set in the log.
	Waited int64 `json:"waited_ms,omitempty"`
	// Lead is the receiver's part in the request that it tells of.
	Lead LeadPart `json:"lead,omitempty"`
	// Streak is how many messages its sender and receiver have written to each other without a tool call between
	// them, as the sender knows it. Chatter is the same where both are told that it is too many.
	Streak  int `json:"streak,omitempty"`
	Chatter int `json:"chatter,omitempty"`
	// Until is when a run of the receiver is ended that is not over by then; of MessageShutdown.
	Until time.Time `json:"until,omitzero"`
}

// Age is how old the message was when it was read.
func (m AgentMessage) Age() time.Duration { return time.Duration(m.Waited) * time.Millisecond }

// ShutdownAfter is how long a member of a team has to come to an end of its own once it was asked to.
const ShutdownAfter = 2 * time.Minute

// OfTeam is what mail about working together holds.
type OfTeam struct {
	Heard  *Heard  `json:"heard,omitempty"`  // MailMonitor
	Forked *Forked `json:"forked,omitempty"` // MailFork
	// Message is what an agent's words are, and from which agent.
	Message *AgentMessage `json:"message,omitempty"` // MailMessage
	Board   *BoardMail    `json:"board,omitempty"`   // MailBoard
}

// TeammateMode says where a person sees the members of a team. They run in the same place whatever it is.
type TeammateMode string

// The modes of showing teammates.
const (
	TeammatesAuto      TeammateMode = "auto" // in panes where there can be some
	TeammatesTmux      TeammateMode = "tmux"
	TeammatesITerm2    TeammateMode = "iterm2"
	TeammatesInProcess TeammateMode = "in-process" // in the conversation alone
)

// TeammateModes are all of them.
func TeammateModes() []TeammateMode {
	return []TeammateMode{TeammatesAuto, TeammatesTmux, TeammatesITerm2, TeammatesInProcess}
}
