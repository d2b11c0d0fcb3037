package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

const (
	name    = "replay"
	encoder = "replay/1"
)

// Player plays a recording. As a model.Provider it stands in for every one there is: what it
// is sent are the neutral values themselves.
type Player struct {
	header   Header
	volatile *volatile
	paths    map[troupe.SessionID]string
	agents   map[string]*part
	tools    map[toolKey]*Tool
	results  map[resultKey]int               // the reply whose call a piece of mail brought the result of
	woken    map[troupe.MailID]troupe.MailID // the end before which a message had not been sent, by the message
	words    []troupe.Mail                   // what a person said to the root behind its first prompt
	pictures []troupe.Image                  // that came with the prompt
	folders  *Folders
	total    int  // calls recorded
	off      bool // the recorded run was broken off: by a person, or with its process

	intent func(tool string) bool

	broken chan struct{} // closed when a difference is found
	over   chan struct{} // closed when the run is where the recorded one was broken off

	mu       sync.Mutex
	made     int              // calls that were recorded and have been made
	done     map[toolKey]bool // calls that have been given their results
	mismatch *Mismatch
}

type resultKey struct {
	agent string
	mail  troupe.MailID
}

type toolKey struct {
	agent       string
	reply, call int
}

// part is one agent's part in the recording.
type part struct {
	agent    Agent
	messages []troupe.Message // all it ever sent, without what is volatile
	calls    []*cue
	byReply  map[int][]*cue
	last     int // where its last line stands

	// Guarded by the player's mutex.
	ended bool        // its last run has, now
	made  map[int]int // calls made, by reply
	seen  map[troupe.MailID]bool
	// How many of a reply's calls, of those that did something by themselves, have no result yet.
	unserved map[int]int
	proven   proven
}

// cue is one recorded call.
type cue struct {
	*Call
	at         int              // its place in the recording
	n          int              // of the agent's calls, from 1
	begin, end int              // of the part's messages: what it sent
	pending    []troupe.Message // for a summary: what it sent besides
	stops      bool             // the run is stopped in this call or behind it, now as then
}

// proven is what of an agent's request has been compared already.
type proven struct {
	head       string
	generation int
	messages   int
}

var _ model.Provider = (*Player)(nil)

// New makes a player of a recording, which it takes over. Here is where it is played: the
// recorded folders are read as these. Intent tells the tools by which agents work together: what
// those answer tells of running times.
func New(rec Recording, here Place, intent func(tool string) bool) *Player {
	then := rec.Header.Place
	if swap := today(then, here); len(swap) > 0 {
		rec.Map(swap.in)
	}
	p := &Player{
		header: rec.Header, volatile: newVolatile(alike(then, here)),
		paths: make(map[troupe.SessionID]string), agents: make(map[string]*part), tools: make(map[toolKey]*Tool),
		results: make(map[resultKey]int), done: make(map[toolKey]bool), woken: make(map[troupe.MailID]troupe.MailID),
		intent: intent, broken: make(chan struct{}), over: make(chan struct{}),
	}
	p.folders = newFolders(p)
	for _, l := range rec.Lines {
		if l.Tool != nil {
			p.tools[toolKey{l.Tool.Agent, l.Tool.Reply, l.Tool.Call}] = l.Tool
			if l.Tool.Mail != "" {
				p.results[resultKey{l.Tool.Agent, l.Tool.Mail}] = l.Tool.Reply
			}
		}
	}
	for at, l := range rec.Lines {
		switch {
		case l.Agent != nil:
			p.paths[l.Agent.Session] = l.Agent.Path
			p.agents[l.Agent.Path] = &part{agent: *l.Agent, last: at, byReply: make(map[int][]*cue),
				made: make(map[int]int), seen: make(map[troupe.MailID]bool), unserved: make(map[int]int)}
		case l.Call != nil:
			p.add(l.Call, at)
		case l.Folder != nil:
			p.folders.add(l.Folder)
		}
	}
	for key, t := range p.tools {
		if a := p.agents[key.agent]; a != nil && t.ran() {
			a.unserved[key.reply]++
		}
	}
	p.castStops(&rec)
	p.words, p.pictures = rec.Words(), rec.pictures()
	return p
}

// Prompt is what the run began with.
func (p *Player) Prompt() (string, []troupe.Image) { return p.header.Prompt, p.pictures }

// Words are what a person said to the root behind its first prompt, under the ids that Order
// waits for. They may all be sent at once.
func (p *Player) Words() []troupe.Mail { return slices.Clone(p.words) }

func (p *Player) add(c *Call, at int) {
	a := p.agents[c.Agent]
	if a == nil {
		return // Read refuses such a line
	}
	p.total++
	q := &cue{Call: c, at: at, n: len(a.calls) + 1}
	if c.Anew {
		q.begin = len(a.messages)
	} else if n := len(a.calls); n > 0 {
		q.begin = a.calls[n-1].begin
	}
	for _, m := range c.Messages {
		m = p.volatile.message(m, p.measured(c.Agent))
		if c.Compact {
			q.pending = append(q.pending, m)
		} else {
			a.messages = append(a.messages, m)
		}
	}
	q.end = len(a.messages)
	q.stops = c.Stopped
	if n := len(a.calls); n > 0 && c.Run > a.calls[n-1].Run {
		for _, id := range c.Mail {
			p.woken[id] = troupe.ChildEndedMailID(a.agent.Session, c.Run-1)
		}
	}
	a.calls = append(a.calls, q)
	a.byReply[c.Reply] = append(a.byReply[c.Reply], q)
	a.last = at
}

// measured reports of an agent's results whether the runtime wrote them.
func (p *Player) measured(path string) func(reply, call int) bool {
	return func(reply, call int) bool {
		t := p.tools[toolKey{path, reply, call}]
		return t != nil && p.intent(t.Name)
	}
}

// Name implements model.Provider.
func (p *Player) Name() string { return name }

// Encoder implements model.Provider.
func (p *Player) Encoder() string { return encoder }

// EncodeHead implements model.Provider.
func (p *Player) EncodeHead(h model.Head) ([]byte, error) {
	out := head{Model: h.Model, System: h.System, MaxTokens: h.MaxTokens}
	for _, t := range h.Tools {
		out.Tools = append(out.Tools, tool(t))
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode for a replay: %w", err)
	}
	return b, nil
}

// EncodeMessage implements model.Provider.
func (p *Player) EncodeMessage(m troupe.Message) ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode for a replay: %w", err)
	}
	return b, nil
}

// Stream implements model.Provider: it compares what is sent with what was sent, and answers
// as it was answered, at once. A recorded fault comes again, without the time it asked for.
func (p *Player) Stream(ctx context.Context, r model.Request, sink func(model.Delta)) (troupe.Reply, error) {
	q, a, err := p.next(ctx, r.Agent)
	if err != nil {
		return troupe.Reply{}, err
	}
	if err := p.compare(a, q, r); err != nil {
		return troupe.Reply{}, err
	}
	p.count()
	if f := q.Failed; f != nil {
		if f.Fault == troupe.FaultInterrupted && q.stops {
			<-ctx.Done()
		}
		return troupe.Reply{}, f.err()
	}
	say(q.Said.Blocks, sink)
	return troupe.Reply{Blocks: slices.Clone(q.Said.Blocks), Stop: q.Said.Stop, Usage: q.Said.Usage,
		Model: q.Said.Model}, nil
}

func (f *Failed) err() error {
	e := &model.Error{Fault: f.Fault, Message: f.Message, Usage: f.Usage}
	if f.Partial != "" {
		e.Partial = []troupe.Block{troupe.Text(f.Partial)}
	}
	return e
}

func say(blocks []troupe.Block, sink func(model.Delta)) {
	if sink == nil {
		return
	}
	for _, b := range blocks {
		switch {
		case b.Type == troupe.TextBlock:
			sink(model.Delta{Text: b.Text})
		case b.Type == troupe.ThinkingBlock && b.Text != "":
			sink(model.Delta{Thinking: b.Text})
		case b.Call != nil:
			sink(model.Delta{Tool: b.Call.Name})
		}
	}
}

// next finds the recorded call for one that is made now.
func (p *Player) next(ctx context.Context, who model.Agent) (*cue, *part, error) {
	a := p.agents[who.Path]
	if a == nil {
		// The root may have been given another name; its id is the recorded one.
		a = p.agents[p.paths[who.Session]]
	}
	if a == nil {
		return nil, nil, p.differ(&Mismatch{
			Agent: who.Path, Reply: who.Reply, Kind: Extra, at: p.total,
			What: fmt.Sprintf("there is no agent %s in the recording, and now it asks for reply %d", who.Path,
				who.Reply),
		})
	}
	p.mu.Lock()
	k := a.made[who.Reply]
	cues := a.byReply[who.Reply]
	if k < len(cues) {
		a.made[who.Reply]++
		p.mu.Unlock()
		return cues[k], a, nil
	}
	p.mu.Unlock()
	if a.stopsBefore(who.Reply) || len(a.calls) == 0 && !finished(a.agent.Status) {
		// It was told to stop before it came to this call, and will be again.
		<-ctx.Done()
		return nil, nil, &model.Error{Fault: troupe.FaultInterrupted, Message: "the model call was interrupted",
			Err: ctx.Err()}
	}
	return nil, nil, p.differ(&Mismatch{
		Agent: who.Path, Reply: who.Reply, Kind: Extra, at: a.last,
		What: fmt.Sprintf("%s made a %s call (for reply %d); the recording has %s", who.Path, ordinal(p.callsOf(a)+1),
			who.Reply, a.extent()),
	})
}

// callsOf counts the calls that an agent has made.
func (p *Player) callsOf(a *part) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, k := range a.made {
		n += k
	}
	return n
}

// stopsBefore reports whether the agent is stopped before it comes to a call for a reply that
// was not recorded.
func (a *part) stopsBefore(reply int) bool {
	n := len(a.calls)
	return n > 0 && a.calls[n-1].stops && reply >= a.calls[n-1].Reply
}

// lastMade is the call that the agent made last for this reply or the one before; nil if it
// made none. It is called with the player's mutex held.
func (a *part) lastMade(reply int) *cue {
	for _, r := range [...]int{reply, reply - 1} {
		if k := a.made[r]; k > 0 && k <= len(a.byReply[r]) {
			return a.byReply[r][k-1]
		}
	}
	return nil
}

func (a *part) extent() string {
	n := fmt.Sprint(len(a.calls))
	if !finished(a.agent.Status) {
		n += ", and was broken off there"
	}
	return n
}

// compare holds a request against the recorded one.
func (p *Player) compare(a *part, q *cue, r model.Request) error {
	p.mu.Lock()
	was := a.proven
	p.mu.Unlock()
	if r.Generation != was.generation {
		was = proven{}
	}
	then, now, err := p.requests(a, q, r, was)
	if err != nil {
		return &model.Error{
			Fault: troupe.FaultBad, Err: err,
			Message: fmt.Sprintf("replay: the request of %s for reply %d cannot be read: %v", q.Agent, q.Reply, err),
		}
	}
	if diff, where := differs(then, now); diff != "" {
		return p.differ(&Mismatch{
			Agent: q.Agent, Reply: q.Reply, Kind: Request, Diff: diff, at: q.at,
			What: fmt.Sprintf("%s sent something else for reply %d (its %s call) than when it was recorded, %s",
				q.Agent, q.Reply, ordinal(q.n), where),
		})
	}
	if q.Compact {
		return nil // nothing of it stays
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a.proven = proven{string(r.Head), r.Generation, len(r.Messages)}
	return nil
}

// requests are the recorded request and the one that is made, without what is volatile and
// without what was compared before.
func (p *Player) requests(a *part, q *cue, r model.Request, was proven) (then, now request, err error) {
	then = request{model: p.volatile.text(q.Model, false), system: p.volatile.text(a.agent.System, false),
		tools: a.agent.Tools}
	now = then
	if string(r.Head) != was.head {
		var h head
		if err := json.Unmarshal(r.Head, &h); err != nil {
			return then, now, err
		}
		now.model, now.system, now.tools = p.volatile.text(h.Model, false), p.volatile.text(h.System, false), nil
		for _, t := range h.Tools {
			now.tools = append(now.tools, t.Name)
		}
	}
	if whole := q.end - q.begin + len(q.pending); q.Clip || q.Compact && len(r.Messages) == 1 && whole > 1 {
		return then, now, nil // its one message is a rendering of what was compared
	}
	from := 0
	if !q.Anew {
		from = min(was.messages, len(r.Messages), q.end-q.begin)
	}
	then.messages = append(slices.Clone(a.messages[q.begin+from:q.end]), q.pending...)
	then.skipped, now.skipped = from, from
	for _, b := range r.Messages[from:] {
		var m troupe.Message
		if err := json.Unmarshal(b, &m); err != nil {
			return then, now, err
		}
		now.messages = append(now.messages, p.volatile.message(m, p.measured(q.Agent)))
	}
	if q.Compact {
		now.messages = unasked(now.messages)
	}
	return then, now, nil
}

// unasked takes the request for a summary off what is sent: the last block, whose words are
// the runtime's own.
func unasked(msgs []troupe.Message) []troupe.Message {
	if len(msgs) == 0 {
		return msgs
	}
	last := &msgs[len(msgs)-1]
	if n := len(last.Blocks); n > 1 {
		last.Blocks = last.Blocks[:n-1]
		return msgs
	}
	return msgs[:len(msgs)-1]
}

// count notes that a recorded call was made.
func (p *Player) count() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	p.checkOver()
}

// ErrNotRecorded is a tool call for which the recording has no result.
var ErrNotRecorded = errors.New("the recording has no result for this call")

// OtherTools are the tools that agents of the recorded run had and that are neither Troupe's nor of MCP servers: a
// client carried them out.
func (p *Player) OtherTools(known func(name string) bool) (out []string) {
	for _, a := range p.agents {
		for _, name := range a.agent.Tools {
			if !known(name) && !strings.HasPrefix(name, "mcp__") && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// ServerTools are the tools of MCP servers that agents of the recorded run had, and the types of agent that had them by
// name alone.
func (p *Player) ServerTools() (tools []string, byName map[string]bool) {
	byName = map[string]bool{}
	for _, a := range p.agents {
		for _, name := range slices.Concat(a.agent.Tools, a.agent.Deferred) {
			if strings.HasPrefix(name, "mcp__") {
				tools = append(tools, name)
			}
		}
		// One that has tools itself, and may get others, calls only those by name.
		if slices.Contains(a.agent.Tools, "CallMcpTool") && !slices.ContainsFunc(a.agent.Tools,
			func(name string) bool { return strings.HasPrefix(name, "mcp__") }) {
			byName[a.agent.Type] = true
		}
	}
	return tools, byName
}
