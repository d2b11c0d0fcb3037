package troupe

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// RequestID names a request. It begins with its session's id, so that any unique beginning of it
// finds it.
type RequestID string

// NewRequestID is the id of the nth request (from 1) about one call: each has its own, however
// often the call asks.
func NewRequestID(s SessionID, c Coord, n int) RequestID {
	id := fmt.Sprintf("%s.%d.%d", s, c.Reply, c.Call)
	if n > 1 {
		id += fmt.Sprintf(".%d", n)
	}
	return RequestID(id)
}

// RequestKind is what a request is about, and so who acts on its answer and how.
type RequestKind string

// Kinds of request.
const (
	RequestPermission RequestKind = "permission" // may this call run?
	RequestCost       RequestKind = "cost"       // may agents be started that together cost that much?
	RequestBackground RequestKind = "background" // may agents in the background have these rules?
	RequestQuestion   RequestKind = "question"   // which of these, or in your own words?
	RequestPlan       RequestKind = "plan"       // shall this plan be carried out?
	RequestTool       RequestKind = "tool"       // what comes of this call, which a client of the API carries out?
)

// MostTold is how many wishes of a command are told in the sentence that says why it is asked about; more are listed.
const MostTold = 5

// OfAgent reports whether an agent itself puts the request to a person or a client: no rule, mode or hook answers it.
func (k RequestKind) OfAgent() bool {
	return k == RequestQuestion || k == RequestPlan || k == RequestTool
}

// Midway reports whether the call that it is about is under way while it is open.
func (b RequestBody) Midway() bool { return b.Server != "" }

// AboutBirths reports whether agents are to be started, which no rule allows or denies.
func (k RequestKind) AboutBirths() bool { return k == RequestCost || k == RequestBackground }

// LeadPart is what the lead of a member's team has to say to a request of the member.
type LeadPart string

// Parts of a lead. Without one the request is a person's alone.
const (
	LeadTold LeadPart = "told" // it was told, and can say no
	// LeadMay: it was told, and could do itself what is asked about. Its yes counts for as long as that is so.
	LeadMay LeadPart = "may"
)

// Request is a durable question to somebody with authority. It is a row of its tree, written with
// the events that open and settle it.
type Request struct {
	ID      RequestID
	Root    SessionID
	Session SessionID
	Coord   // the call it is about
	RequestBody
	Opened time.Time
	// Settled is when it was answered, or its run was stopped; zero while it is open. Answer is nil
	// if there was none.
	Settled time.Time
	Answer  *Answer
}

// RequestBody is what a request says.
type RequestBody struct {
	Kind     RequestKind `json:"kind,omitempty"`
	Reason   WaitReason  `json:"reason"` // WaitApproval or WaitQuestion
	Decision Decision    `json:"decision"`
	Tool     string      `json:"tool"`
	// Action is exactly what would be done: the command, the change as a diff, the input.
	Action string `json:"action"`
	// Until is when it is denied if it has no answer by then; zero: it waits for ever.
	Until time.Time `json:"until,omitzero"`
	// Input is that of the call, for a request of kind tool.
	Input json.RawMessage `json:"input,omitempty"`
	// Questions are what a request of kind question asks.
	Questions []Question `json:"questions,omitempty"`
	// Server is the MCP server that asks them, in the middle of the call; "": the agent does. That call is under way
	// meanwhile, and goes on with the answer. None of its questions has an answer by default.
	Server string `json:"server,omitempty"`
	// With lists further calls of the reply that the answer is for as well.
	With []int `json:"with,omitempty"`
	// Wants is what the command attempted in its sandbox and was not let, and Output what it
	// had printed. Opens is the level in which a yes runs it again: LevelGranted is with exactly
	// these, LevelWorkspace with these and the whole workspace; "" (of earlier versions) is the same.
	Opens  Level     `json:"opens,omitempty"`
	Wants  []Attempt `json:"wants,omitempty"`
	Output string    `json:"output,omitempty"`
	// Ran is the run of the command that wanted them, if it could change something: what it changed stays, whatever
	// the answer is.
	Ran *CommandRun `json:"ran,omitempty"`
	// Places tells where the call would read and write, links followed: leave is for these places, and not for
	// those that the same names lead to by then.
	Places string `json:"places,omitempty"`
	// Mode is the mode of the root in which this would not be asked about; "" if none but bypassPermissions is.
	Mode Mode `json:"mode,omitempty"`
	// Auto: the model of mode auto has said yes to it already, and nobody waits for an answer.
	Auto bool `json:"auto,omitempty"`
	// Lead is the part of the lead of the member's team that asks; "" where no member does.
	Lead LeadPart `json:"lead,omitempty"`
	// Rules are what leave grants besides: what agents that are to work in the background would
	// have to ask for. Needs are the same by the call that starts the agent: each gets its own.
	Rules []string         `json:"rules,omitempty"`
	Needs map[int][]string `json:"needs,omitempty"`
}

// Leave is what a yes grants besides to the agents that it starts, as rules of the root: each holds for
// one of them and all below it. asker is the session that asks, at the call that does.
func (b RequestBody) Leave(asker SessionID, at Coord, source string) []Rule {
	var out []Rule
	for _, call := range append([]int{at.Call}, b.With...) {
		needs := b.Needs[call]
		if b.Needs == nil {
			needs = b.Rules // of earlier versions
		}
		for _, text := range needs {
			out = append(out, Rule{Effect: Allow, Text: text, Source: source,
				For: ChildID(asker, Coord{Reply: at.Reply, Call: call})})
		}
	}
	return out
}

// WithKind is the body with its kind: versions before this one told it by the decision alone.
func (b RequestBody) WithKind() RequestBody {
	switch {
	case b.Kind != "":
	case b.Reason == WaitQuestion:
		b.Kind = RequestQuestion
	case b.Decision.Step == "cost":
		b.Kind = RequestCost
	case b.Decision.Step == "background":
		b.Kind = RequestBackground
	default:
		b.Kind = RequestPermission
	}
	return b
}

// Answer is what somebody with authority said to a request.
type Answer struct {
	Request RequestID `json:"request,omitempty"`
	// Coord is the call that was asked about, in answers without the id of their request: those of
	// earlier versions, and of recordings.
	Coord  Coord  `json:"coord"`
	By     string `json:"by"`     // "you (process 4711)", "a rule that was granted since", …
	Effect Effect `json:"effect"` // also of a plan: it is carried out, or not
	Note   string `json:"note,omitempty"`
	// Rule is what was granted beyond this one call, if anything; it is sent to the root as
	// a MailGrant of its own.
	Rule string `json:"rule,omitempty"`
	// Said answers a request of kind question: what was said to each of its questions, in their order.
	Said []Said `json:"said,omitempty"`
	// Result answers a request of kind tool: what came of the call.
	Result *Carried `json:"result,omitempty"`
	// Once is the key under which it was sent, as no other caller can have it; "": it had none.
	Once string `json:"once,omitempty"`
	// Mode is the one in which an approved plan is carried out; "" is the one before it.
	Mode Mode `json:"mode,omitempty"`
	// Auto: the model of mode auto gave it. It counts for as long as the gate leaves the call to that model.
	Auto bool `json:"auto,omitempty"`
	// Lead: the lead of the team gave it. A yes counts for as long as the lead could do itself what was asked about.
	Lead bool `json:"lead,omitempty"`
}

const askMail = "ask:"

// AskMailID is the id of the message that tells the lead of a team of a request.
func AskMailID(id RequestID) MailID { return MailID(askMail + string(id)) }

// Asks is the request that a message tells of; "": it is no such message.
func (id MailID) Asks() RequestID {
	if r, ok := strings.CutPrefix(string(id), askMail); ok {
		return RequestID(r)
	}
	return ""
}

// AnswerMailID makes the answer to a request a single piece of mail: the first one counts.
func AnswerMailID(id RequestID) MailID { return MailID("answer:" + id) }
