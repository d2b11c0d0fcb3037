package workflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// agentTool is the tool by which steps become agents.
const agentTool = "Agent"

// progress is how far a workflow has come: what the conversation says of it.
type progress struct {
	document

	tries map[string]*try       // the last one of each step
	calls map[troupe.Coord]*try // by the call that began it
}

// anew parts the name of a step from how often it was begun, in the name of an agent: no step's name holds it.
const anew = "~"

// try is one time that a step was begun.
type try struct {
	step   string
	number int
	status troupe.TaskStatus
	// result is what the step's agent reported, as the runtime quotes it: in what other agents are told it can look
	// like nothing else. plain is its words alone.
	result, plain string
	why           string // of a step that came to nothing
	again         bool   // a person has said something since it failed
}

func read(messages [][]byte) (*progress, error) {
	p := &progress{tries: map[string]*try{}, calls: map[troupe.Coord]*try{}}
	for i, raw := range messages {
		var m troupe.Message
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, fmt.Errorf("read the workflow's conversation: %w", err)
		}
		blocks := m.Blocks
		if i == 0 {
			var err error
			if p.document, err = readDocument(blocks); err != nil {
				return nil, err
			}
			continue
		}
		for _, b := range blocks {
			switch {
			case b.Type == troupe.CallBlock:
				p.begun(b.Call)
			case b.Type == troupe.ResultBlock:
				p.answered(b.Result)
			case b.Type == troupe.TextBlock && m.Role == troupe.User:
				p.told(b.Text)
			}
		}
	}
	return p, nil
}

func (p *progress) begun(c *troupe.Call) {
	var in struct {
		Name string `json:"name"`
	}
	if c.Name != agentTool || json.Unmarshal([]byte(c.Input), &in) != nil {
		return
	}
	step, _, _ := strings.Cut(in.Name, anew)
	t := &try{step: step, status: troupe.TaskRunning, number: 1}
	if before := p.tries[step]; before != nil {
		t.number = before.number + 1
	}
	p.tries[step], p.calls[troupe.Coord{Reply: c.Reply, Call: c.Index}] = t, t
}

// agent is the name of the agent that a step begins with now. Names in a tree are never given twice.
func (p *progress) agent(s Step) string {
	if before := p.tries[s.Name]; before != nil {
		return s.Name + anew + strconv.Itoa(before.number+1)
	}
	return s.Name
}

// answered takes the result of a call: an agent that was started ends later, one that was not never does.
func (p *progress) answered(r *troupe.Result) {
	t := p.calls[troupe.Coord{Reply: r.Reply, Call: r.Call}]
	if t != nil && r.IsError {
		t.status, t.why = troupe.TaskFailed, troupe.JoinText(r.Blocks)
	}
}

// told takes a text: the end of a step, another word of the runtime, or a person's.
func (p *progress) told(text string) {
	warning, note, is := strings.Cut(text, "<task-notification>\n")
	if !is {
		if !strings.HasPrefix(text, "<") { // all that the runtime says stands between tags
			p.retry()
		}
		return
	}
	t := p.calls[coordOf(field(note, "tool-use-id"))]
	if t == nil {
		return
	}
	// An agent's words cannot hold this tag, but they can that of a result: theirs ends with the last one.
	note, evidence, _ := strings.Cut(note, "\n</task-notification>")
	t.status, t.why, t.plain, t.again = troupe.TaskStatus(field(note, "status")), field(note, "summary"), "", false
	rest := ""
	at, end := strings.Index(note, "\n<result"), strings.LastIndex(note, "\n</result>\n")
	if at >= 0 && end > at {
		_, t.plain, _ = strings.Cut(note[at+1:end], ">\n")
		rest, _, _ = strings.Cut(note[end+len("\n</result>\n"):], "<usage>") // where its words go on
	}
	t.result = fmt.Sprintf("%s<agent-result agent=%q>\n%s\n%s</agent-result>%s", warning, t.step,
		cmp.Or(t.plain, "(it ended without a final text)"), rest, evidence)
}

// retry has all that failed begin again.
func (p *progress) retry() {
	for _, t := range p.tries {
		if t.failed() {
			t.again = true
		}
	}
}

func (t *try) failed() bool {
	return t.status == troupe.TaskFailed || t.status == troupe.TaskKilled
}

// field is what stands in a line of a notification.
func field(note, name string) string {
	_, rest, _ := strings.Cut(note, "<"+name+">")
	value, _, _ := strings.Cut(rest, "</"+name+">")
	return value
}

func coordOf(s string) (c troupe.Coord) {
	reply, call, _ := strings.Cut(s, ".")
	var err error
	if c.Reply, err = strconv.Atoi(reply); err != nil {
		return troupe.Coord{}
	}
	if c.Call, err = strconv.Atoi(call); err != nil {
		return troupe.Coord{}
	}
	return c
}

// next is what there is to do: steps to begin, or the words in which the workflow waits or ends.
func (p *progress) next() (words string, ready []Step, err error) {
	var running, failed, left []string
	for _, s := range p.Steps {
		switch t := p.tries[s.Name]; {
		case t != nil && t.status == troupe.TaskRunning:
			running = append(running, s.Name)
		case t != nil && t.status == troupe.TaskCompleted:
		case t != nil && t.failed() && !t.again:
			failed = append(failed, fmt.Sprintf("step %s failed: %s", s.Name, t.why))
		case !p.has(s.Needs):
			left = append(left, s.Name)
		default:
			ready = append(ready, s)
		}
	}
	switch {
	case len(ready) > 0:
		names := make([]string, len(ready))
		for i, s := range ready {
			names[i] = s.Name
		}
		return "Begins " + strings.Join(names, ", ") + ".", ready, nil
	case len(running) > 0:
		return "Waits for " + strings.Join(running, ", ") + ".", nil, nil
	case len(failed) > 0:
		words := strings.Join(failed, "; ")
		if len(left) > 0 {
			words += "; not begun: " + strings.Join(left, ", ")
		}
		return "", nil, fmt.Errorf("%s. Any words to this session have the failed steps begin again", words)
	}
	return p.outcome(), nil, nil
}

func (p *progress) has(needs []string) bool {
	for _, name := range needs {
		if t := p.tries[name]; t == nil || t.status != troupe.TaskCompleted {
			return false
		}
	}
	return true
}

// outcome is the workflow's result: that of its one last step, or of each with its name before it.
func (p *progress) outcome() string {
	names := p.outputs()
	if len(names) == 1 {
		return p.tries[names[0]].plain
	}
	var parts []string
	for _, name := range names {
		parts = append(parts, name+":\n"+p.tries[name].plain)
	}
	return strings.Join(parts, "\n\n")
}

// input is a step's call: its prompt, and behind that what the steps that it needs have reported.
func (p *progress) input(s Step) (string, error) {
	prompt, err := p.fill(s.prompt, p.values)
	if err != nil {
		return "", err
	}
	prompt = strings.TrimSpace(prompt)
	if len(s.Needs) > 0 {
		prompt += "\n\nWhat was done before, as the agents that did it report it:"
	}
	for _, name := range s.Needs {
		prompt += "\n\n" + p.tries[name].result
	}
	return s.call(p.agent(s), prompt), nil
}
