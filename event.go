package troupe

import (
	"encoding/json"
	"fmt"
	"time"
)

// Event is one entry of a session's log. Seq is dense and starts at 1; it is the only
// order there is. At is for people.
type Event struct {
	Root    SessionID
	Session SessionID
	Seq     int64
	At      time.Time
	Body    Body
}

// Kind names a type of event body in the store and in stream-json.
type Kind string

// Body is the content of an event: one of the structs below.
type Body interface{ Kind() Kind }

// Kinds of event. Once released, a kind's meaning and fields only ever grow.
const (
	KindCreated          Kind = "session.created"
	KindStarted          Kind = "session.started"
	KindEnded            Kind = "session.ended"
	KindQueued           Kind = "session.queued"
	KindMailDelivered    Kind = "mail.delivered"
	KindCallSealed       Kind = "model.sealed"
	KindReplied          Kind = "model.replied"
	KindModelFailed      Kind = "model.failed"
	KindModelChanged     Kind = "model.changed"
	KindAuthorityChanged Kind = "authority.changed"
	KindToolJudged       Kind = "tool.judged"
	KindToolStarted      Kind = "tool.started"
	KindToolFinished     Kind = "tool.finished"
	KindRequestOpened    Kind = "request.opened"
	KindRequestAnswered  Kind = "request.answered"
	KindCompacted        Kind = "model.compacted"
	KindBudgetWarned     Kind = "budget.warned"
	KindSettingsChanged  Kind = "session.settings"
	KindBoardChanged     Kind = "board.changed"
	KindTeamChanged      Kind = "team.changed"
	KindHookRan          Kind = "hook.ran"
	KindAutoAsked        Kind = "auto.asked"
	KindAutoJudged       Kind = "auto.judged"
	KindWorkspaceReady   Kind = "workspace.ready"
	KindWorkspaceSaved   Kind = "workspace.saved"
	KindWorkspaceChanged Kind = "workspace.changed"
	KindWorkspaceMerged  Kind = "workspace.merged"
	KindVerifyStarted    Kind = "verify.started"
	KindVerifyEnded      Kind = "verify.ended"
	KindHandoffAsked     Kind = "handoff.asked"
	KindHandoffJudged    Kind = "handoff.judged"
	KindSlept            Kind = "session.slept"
	KindWoke             Kind = "session.woke"
	KindImported         Kind = "session.imported"
	KindSessionChanged   Kind = "session.changed"
)

// Created is the first event of every session: everything it was born with.
type Created struct {
	Parent SessionID `json:"parent,omitempty"`
	Coord  Coord     `json:"coord"`
	Name   string    `json:"name"`
	Title  string    `json:"title,omitempty"`
	Depth  int       `json:"depth"`
	Cwd    string    `json:"cwd"`
	// Workspace is where its tools act; the zero value: in Cwd.
	Workspace Workspace `json:"workspace,omitzero"`
	Profile   Profile   `json:"profile"`
	Authority Authority `json:"authority"`
	Caps      *Caps     `json:"caps,omitempty"`     // roots only, as
	Settings  *Settings `json:"settings,omitempty"` // these; old logs have none
	// Background: its parent went on without waiting for it.
	Background bool `json:"background,omitempty"`
	// Fork is set in a fork: what it was told and has said begins with what its parent had.
	Fork   *Fork   `json:"fork,omitempty"`
	Caller *Caller `json:"caller,omitempty"` // who began the tree; roots only
}

// Started admits the session to its first run, or begins another after an end.
type Started struct {
	Run    int     `json:"run"`
	Caller *Caller `json:"caller,omitempty"` // who set it to work, if no agent did
	// Again: it was set to work by nothing but the ends of its tasks, so that its limit of model replies goes on
	// from the run before.
	Again bool `json:"again,omitempty"`
	// Keep: the work in its folder could not be kept at the end of the run before, and this one does nothing but come
	// to that end again, unless it is told something meanwhile.
	Keep bool `json:"keep,omitempty"`
}

// Queued says what keeps a run from beginning: another session may change the same files, and has to end before.
// Without
// Behind that is over, and it waits for an active slot.
type Queued struct {
	Behind SessionID `json:"behind,omitempty"`
	Why    string    `json:"why,omitempty"` // for people
}

// MailDelivered puts mail into the conversation, in this order.
type MailDelivered struct {
	Mail []Mail `json:"mail"`
}

// CallSealed begins a model call: from here on it is settled, byte for byte, what the
// model is sent. Refs are the numbers of the events whose content is new since the seal
// before, in the order it is encoded. Chain is a running hash over everything the
// generation has sent, so that a later process can tell whether it still encodes the same.
type CallSealed struct {
	Reply      int     `json:"reply"` // the reply it asks for; a retry repeats the number
	Generation int     `json:"generation"`
	Model      string  `json:"model"`
	Encoder    string  `json:"encoder"`
	Refs       []int64 `json:"refs,omitempty"`
	Chain      string  `json:"chain"`
	// Because says why the generation is not the one of the seal before.
	Because string `json:"because,omitempty"`
	// Compact: the call asks for a summary of the conversation and not for the reply.
	Compact bool `json:"compact,omitempty"`
	// Reserved is held back from the tree's limits until the call has ended.
	Reserved Reservation `json:"reserved,omitzero"`
}

// Replied is a whole model reply, and its entry in the bill.
type Replied struct {
	Reply      int        `json:"reply"`
	Blocks     []Block    `json:"blocks"`
	Stop       StopReason `json:"stop"`
	Model      string     `json:"model"`
	Usage      Usage      `json:"usage"`
	Cost       Money      `json:"cost"`
	Unpriced   bool       `json:"unpriced,omitempty"` // the price table does not know the model
	RequestID  string     `json:"request_id,omitempty"`
	DurationMS int64      `json:"duration_ms"`
	// Doubt says why Usage is an estimate although the provider counted.
	Doubt string `json:"doubt,omitempty"`
}

// ModelFault classes what went wrong with a model call, by what can be done about it.
type ModelFault string

// Faults of model calls.
const (
	FaultRetry       ModelFault = "retry"       // overload, rate limit, server or network error: again, later
	FaultInterrupted ModelFault = "interrupted" // we went away or were told to stop: again if the run goes on
	FaultAuth        ModelFault = "auth"        // key missing, wrong or expired
	FaultNoModel     ModelFault = "no_model"    // the provider does not know the model
	FaultTooLong     ModelFault = "too_long"    // the conversation does not fit the window
	FaultBad         ModelFault = "bad_request" // anything else that trying again will not help
)

// ModelFailed ends a model call that brought no whole reply. What it had said and cost by
// then is kept here and counted; it is not shown to the model again.
type ModelFailed struct {
	Reply   int        `json:"reply"`
	Attempt int        `json:"attempt"` // 1 for the first
	Fault   ModelFault `json:"fault"`
	Message string     `json:"message"`
	// RetryAt is when the next attempt may start; zero if there is none.
	RetryAt time.Time `json:"retry_at,omitzero"`
	Partial string    `json:"partial,omitempty"`
	Usage   Usage     `json:"usage"`
	Cost    Money     `json:"cost"`
}

// ModelChanged moves the session to another model, which begins a new generation.
type ModelChanged struct {
	Model string `json:"model"`
	// Effort is that of its replies from here on; "": as before.
	Effort Effort `json:"effort,omitempty"`
	// Skill is the skill in use that wants it so. Back: both are again as they were before such a skill.
	Skill string `json:"skill,omitempty"`
	Back  bool   `json:"back,omitempty"`
	Why   string `json:"why"`
	Mail  MailID `json:"mail,omitempty"` // the mail that brought it
	// Caller is who chose it; nil: Troupe itself did, because the one before was not to be had.
	Caller *Caller `json:"caller,omitempty"`
}

// AuthorityChanged replaces the session's mode and rules from here on.
type AuthorityChanged struct {
	Authority Authority `json:"authority"`
	By        string    `json:"by,omitempty"`
	Mail      MailID    `json:"mail,omitempty"` // the mail that brought it
	Caller    *Caller   `json:"caller,omitempty"`
}

// ToolJudged is what something else than rules said about a call, before it began: it is asked once.
type ToolJudged struct {
	Reply int `json:"reply"`
	Call  int `json:"call"`
	Judgement
}

// Judgement is what a hook or a person's model says about a call. Rules that deny are stronger.
type Judgement struct {
	By     string `json:"by"`               // what it was, for people
	Effect Effect `json:"effect,omitempty"` // "": it has nothing to say
	Why    string `json:"why,omitempty"`
	// Input replaces what the model wrote, which stays in the event of its reply; "": it stands.
	Input string `json:"input,omitempty"`
	// Context is told to the model beside the call's result.
	Context string `json:"context,omitempty"`
}

// ToolStarted is written before a call may have its first effect. A call that was started
// and never finished may have taken effect; one without this event has not. Read-only
// calls are not announced: they can simply run again.
type ToolStarted struct {
	Reply    int       `json:"reply"`
	Call     int       `json:"call"`
	Name     string    `json:"name"`
	Decision Decision  `json:"decision"`
	Child    SessionID `json:"child,omitempty"` // the session this call gave birth to
	// Task is the command or the child as a task; it is in the foreground until ToolFinished
	// says otherwise.
	Task *Task `json:"task,omitempty"`
	// Wait is set for a call that only waits for a task.
	Wait *Wait `json:"wait,omitempty"`
	// Absent: the file that the call writes was not there when the call was judged. Earlier versions did not note it.
	Absent bool `json:"absent,omitempty"`
}

// Reported is the result of a run that has to follow a schema, or what is wrong with it.
type Reported struct {
	Object json.RawMessage `json:"object,omitempty"` // nil: it does not follow the schema
	Wrong  string          `json:"wrong,omitempty"`
}

// ToolFinished is a call's one result.
type ToolFinished struct {
	Name       string    `json:"name"`
	Result     Result    `json:"result"`
	Evidence   Evidence  `json:"evidence,omitzero"`
	DurationMS int64     `json:"duration_ms"`
	Denied     *Decision `json:"denied,omitempty"`      // set if the gate refused the call
	Interrupt  bool      `json:"interrupted,omitempty"` // it may have taken effect
	Outcome    *Outcome  `json:"outcome,omitempty"`     // set for the end of a child
	Mail       MailID    `json:"mail,omitempty"`        // the mail that brought it
	// Task: what the call began goes on in the background, as this. Tasks are those that a message to all has going.
	Task  *Task  `json:"task,omitempty"`
	Tasks []Task `json:"tasks,omitempty"`
	// Sent are the agents that the call has written to.
	Sent []SessionID `json:"sent,omitempty"`
	// Usage and Cost are of a model that the tool itself asked.
	Usage Usage `json:"usage,omitzero"`
	Cost  Money `json:"cost,omitempty"`
	// Skill is the skill that the call began to use.
	// Reported is what an agent has given as the result of its run; nil: the call gave none.
	Reported *Reported `json:"reported,omitempty"`
	Skill    *SkillUse `json:"skill,omitempty"`
	// Caller is who had it go on in the background, if neither the model did nor the time.
	Caller *Caller `json:"caller,omitempty"`
}

// RequestOpened records that somebody with authority was asked. The request's kind is
// RequestBody.Kind: Kind is the event's.
type RequestOpened struct {
	ID    RequestID `json:"id,omitempty"` // "" in logs of versions before ids
	Reply int       `json:"reply"`
	Call  int       `json:"call"`
	RequestBody
}

// RequestAnswered records the answer: who, and what.
type RequestAnswered struct {
	ID          RequestID   `json:"id,omitempty"`
	RequestKind RequestKind `json:"kind,omitempty"` // the request's
	Reply       int         `json:"reply"`
	Call        int         `json:"call"`
	By          string      `json:"by"`
	Effect      Effect      `json:"effect"` // Allow or Deny
	Note        string      `json:"note,omitempty"`
	Rule        string      `json:"rule,omitempty"`   // what was granted beyond this call
	Said        []Said      `json:"said,omitempty"`   // of a question
	Result      *Carried    `json:"result,omitempty"` // of a tool that a client carries out
	Once        string      `json:"once,omitempty"`   // the key under which it was sent
	Mode        Mode        `json:"mode,omitempty"`   // of an approved plan
	Mail        MailID      `json:"mail,omitempty"`   // the mail that brought it; "" if a deadline did
	Caller      *Caller     `json:"caller,omitempty"` // who answered; nil: a rule or a deadline did
	Auto        bool        `json:"auto,omitempty"`   // the model of mode auto did
	Lead        bool        `json:"lead,omitempty"`   // the lead of the team did
	// Input replaces what was asked about, and Places are those of the call with it; only hooks say that.
	Input  string `json:"input,omitempty"`
	Places string `json:"places,omitempty"`
}

// Answer is what was said.
func (b RequestAnswered) Answer() *Answer {
	return &Answer{
		Request: b.ID, Coord: Coord{Reply: b.Reply, Call: b.Call}, By: b.By, Effect: b.Effect, Note: b.Note,
		Rule: b.Rule,
		Said: b.Said, Result: b.Result, Once: b.Once, Mode: b.Mode, Auto: b.Auto, Lead: b.Lead,
	}
}

// Compacted begins another generation with a summary in the place of what was said. It ends
// the call that was sealed for it, and stands in the bill. The log before it stays as it is.
type Compacted struct {
	Generation int     `json:"generation"`
	Blocks     []Block `json:"blocks"`          // the conversation's first message from here on
	Brief      *Brief  `json:"brief,omitempty"` // what stands before them
	Covers     int64   `json:"covers"`          // the last event the summary speaks of
	Why        string  `json:"why"`
	Model      string  `json:"model"`
	Usage      Usage   `json:"usage"`
	Cost       Money   `json:"cost"`
	Unpriced   bool    `json:"unpriced,omitempty"`
	DurationMS int64   `json:"duration_ms"`
}

// BudgetWarned tells the session, once for each limit, that most of it is used up.
type BudgetWarned struct {
	Limit string `json:"limit"` // "tokens", "cost", "turns", "time"; "tree …" for the tree's; LimitRepeats
	Text  string `json:"text"`
}

// LimitRepeats is reached by a session that makes the same calls again and again. It is told each time that it begins
// to.
const LimitRepeats = "repeats"

// SettingsChanged replaces the settings of a root's tree from here on: it goes on with others.
type SettingsChanged struct {
	Settings Settings `json:"settings"`
	Caller   *Caller  `json:"caller,omitempty"` // who goes on with it
}

// Ended is the end of a run.
type Ended struct {
	Outcome Outcome `json:"outcome"`
	// Cut is set where a repair of the database wrote this end, because the log's own was lost.
	Cut *Cut `json:"cut,omitempty"`
}

// Cut is what is known of the end of a log that a repair could not save.
type Cut struct {
	Events int64 `json:"events,omitempty"` // how many are lost, as far as that is known
	// Reply is the last reply that they may speak of. The next one has a higher number: what is named after
	// the coordinates of a call, such as agents, mail and outputs, is there already.
	Reply  int    `json:"reply,omitempty"`
	Tally  Tally  `json:"tally,omitzero"`   // what they have cost, as far as that was noted elsewhere
	Agents []Task `json:"agents,omitempty"` // whose births are in them
}

// Kind implements Body.
func (Created) Kind() Kind          { return KindCreated }
func (Started) Kind() Kind          { return KindStarted }
func (Ended) Kind() Kind            { return KindEnded }
func (MailDelivered) Kind() Kind    { return KindMailDelivered }
func (CallSealed) Kind() Kind       { return KindCallSealed }
func (Replied) Kind() Kind          { return KindReplied }
func (ModelFailed) Kind() Kind      { return KindModelFailed }
func (ModelChanged) Kind() Kind     { return KindModelChanged }
func (AuthorityChanged) Kind() Kind { return KindAuthorityChanged }
func (ToolJudged) Kind() Kind       { return KindToolJudged }
func (ToolStarted) Kind() Kind      { return KindToolStarted }
func (Queued) Kind() Kind           { return KindQueued }
func (ToolFinished) Kind() Kind     { return KindToolFinished }
func (RequestOpened) Kind() Kind    { return KindRequestOpened }
func (RequestAnswered) Kind() Kind  { return KindRequestAnswered }
func (Compacted) Kind() Kind        { return KindCompacted }
func (BudgetWarned) Kind() Kind     { return KindBudgetWarned }
func (SettingsChanged) Kind() Kind  { return KindSettingsChanged }
func (HookRan) Kind() Kind          { return KindHookRan }

// Kinds lists every kind this version knows.
func Kinds() []Kind {
	return []Kind{
		KindCreated, KindStarted, KindEnded, KindMailDelivered, KindCallSealed, KindReplied,
		KindModelFailed, KindModelChanged, KindAuthorityChanged, KindToolJudged, KindToolStarted,
		KindToolFinished, KindRequestOpened, KindRequestAnswered, KindCompacted, KindBudgetWarned,
		KindSettingsChanged, KindBoardChanged, KindTeamChanged, KindHookRan, KindAutoAsked, KindAutoJudged,
		KindWorkspaceReady, KindWorkspaceSaved, KindWorkspaceChanged, KindWorkspaceMerged, KindQueued, KindHandoffAsked,
		KindHandoffJudged, KindVerifyStarted, KindVerifyEnded, KindSlept, KindWoke, KindImported,
		KindSessionChanged,
	}
}

// EncodeBody is the stored form of a body: plain JSON, without its kind.
func EncodeBody(b Body) ([]byte, error) {
	out, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", b.Kind(), err)
	}
	return out, nil
}

// DecodeBody reverses EncodeBody. An unknown kind is ErrNewer.
func DecodeBody(k Kind, data []byte) (Body, error) {
	switch k {
	case KindCreated:
		return decode[Created](k, data)
	case KindStarted:
		return decode[Started](k, data)
	case KindEnded:
		return decode[Ended](k, data)
	case KindQueued:
		return decode[Queued](k, data)
	case KindVerifyStarted:
		return decode[VerifyStarted](k, data)
	case KindVerifyEnded:
		return decode[VerifyEnded](k, data)
	case KindHandoffAsked:
		return decode[HandoffAsked](k, data)
	case KindHandoffJudged:
		return decode[HandoffJudged](k, data)
	case KindMailDelivered:
		return decode[MailDelivered](k, data)
	case KindCallSealed:
		return decode[CallSealed](k, data)
	case KindReplied:
		return decode[Replied](k, data)
	case KindModelFailed:
		return decode[ModelFailed](k, data)
	case KindModelChanged:
		return decode[ModelChanged](k, data)
	case KindAuthorityChanged:
		return decode[AuthorityChanged](k, data)
	case KindToolJudged:
		return decode[ToolJudged](k, data)
	case KindToolStarted:
		return decode[ToolStarted](k, data)
	case KindToolFinished:
		return decode[ToolFinished](k, data)
	case KindRequestOpened:
		b, err := decode[RequestOpened](k, data)
		if o, ok := b.(RequestOpened); ok {
			o.RequestBody = o.WithKind()
			b = o
		}
		return b, err
	case KindRequestAnswered:
		return decode[RequestAnswered](k, data)
	case KindCompacted:
		return decode[Compacted](k, data)
	case KindBudgetWarned:
		return decode[BudgetWarned](k, data)
	case KindSettingsChanged:
		return decode[SettingsChanged](k, data)
	case KindBoardChanged:
		return decode[BoardChanged](k, data)
	case KindTeamChanged:
		return decode[TeamChanged](k, data)
	case KindHookRan:
		return decode[HookRan](k, data)
	case KindAutoAsked:
		return decode[AutoAsked](k, data)
	case KindAutoJudged:
		return decode[AutoJudged](k, data)
	case KindWorkspaceReady:
		return decode[WorkspaceReady](k, data)
	case KindWorkspaceSaved:
		return decode[WorkspaceSaved](k, data)
	case KindWorkspaceChanged:
		return decode[WorkspaceChanged](k, data)
	case KindWorkspaceMerged:
		return decode[WorkspaceMerged](k, data)
	case KindSlept:
		return decode[Slept](k, data)
	case KindWoke:
		return decode[Woke](k, data)
	case KindImported:
		return decode[Imported](k, data)
	case KindSessionChanged:
		return decode[SessionChanged](k, data)
	default:
		return nil, fmt.Errorf("event kind %q: %w", k, ErrNewer)
	}
}

func decode[T Body](k Kind, data []byte) (Body, error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("decode %s: %w", k, err)
	}
	return v, nil
}
