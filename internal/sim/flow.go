package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/workflow"
)

// step is a step of the workflow that a tree follows.
type step struct {
	name  string
	needs []string
}

// drawFlow is a workflow: a few steps, each of which may need any of those before it.
func (w *world) drawFlow() (out []step) {
	for i := range 2 + w.rng.IntN(4) {
		s := step{name: fmt.Sprintf("s%d", i+1)}
		for _, before := range out {
			if w.one(2) {
				s.needs = append(s.needs, before.name)
			}
		}
		out = append(out, s)
	}
	return out
}

// document is the prompt that a workflow begins with.
func document(steps []step) (string, error) {
	var b strings.Builder
	b.WriteString("steps:\n")
	for _, s := range steps {
		fmt.Fprintf(&b, "  - {name: %s, needs: [%s], prompt: do %s}\n", s.name, strings.Join(s.needs, ", "), s.name)
	}
	return workflow.Document("job", []byte(b.String()), nil)
}

// follower is the shipped provider that follows workflows, at the pace of a process.
type follower struct {
	workflow.Provider

	m models
}

// Stream holds the prefix rule, and passes a little time.
func (f follower) Stream(ctx context.Context, r model.Request, sink func(model.Delta)) (troupe.Reply, error) {
	f.m.check(ctx, r)
	f.m.p.w.sleep(ctx, time.Duration(f.m.p.w.rng.IntN(200))*time.Millisecond)
	if ctx.Err() != nil || f.m.p.dead {
		return troupe.Reply{}, &model.Error{Fault: troupe.FaultInterrupted, Message: "stopped"}
	}
	return f.Provider.Stream(ctx, r, sink) //nolint:wrapcheck // it is its error that is tried
}

// follows reports whether the main agent follows a workflow.
func (w *world) follows() bool { return len(w.climate.steps) > 0 }

// moved is a model for a session: the one that is said, or a workflow goes on with it.
func (w *world) moved(to troupe.SessionID, full string) string {
	if st := w.watch.states[to]; st != nil && w.follows() {
		if full == "sim/gone" {
			full = "sim/two" // the surfaces refuse it
		}
		return workflow.Moved(st.Session.Model, full)
	}
	return full
}

// spawnOf reads a call of Agent as a workflow makes it.
func spawnOf(input string) (troupe.Intent, error) {
	var in struct {
		Name       string `json:"name"`
		Prompt     string `json:"prompt"`
		Background bool   `json:"run_in_background"`
	}
	if err := json.Unmarshal([]byte(input), &in); err != nil {
		return nil, fmt.Errorf("the input is not a JSON object: %w", err)
	}
	return troupe.Spawn{Name: in.Name, Description: in.Name, Prompt: in.Prompt, Type: "worker",
		Background: in.Background}, nil
}

// flow is how far a workflow has come, as the logs say.
type flow struct {
	steps map[troupe.SessionID]string // whose agents are
	last  map[string]*tried           // of each step
	cut   bool                        // something of the tree was stopped
}

// tried is one time that a step was begun.
type tried struct {
	agent  troupe.SessionID
	status troupe.Status // "": it is at work
	result string
	again  bool // a person has spoken since it failed
}

func newFlow() flow {
	return flow{steps: make(map[troupe.SessionID]string), last: make(map[string]*tried)}
}

// stepBegins: a step begins when all that it needs has ended well, and it is told what that reported; once, or again
// when it has failed and a person wants it to go on.
func (h *watch) stepBegins(e troupe.Event, b troupe.Created) {
	name, _, _ := strings.Cut(b.Name, "~")
	i := slices.IndexFunc(h.w.climate.steps, func(s step) bool { return s.name == name })
	if !h.w.follows() || b.Parent != h.w.root || i < 0 || b.Fork != nil {
		return
	}
	h.w.res.Begun++
	for _, need := range h.w.climate.steps[i].needs {
		if t := h.last[need]; t == nil || t.status != troupe.Completed {
			h.w.broken("session %s begins step %s, and %s, which that needs, has not ended well: %+v", e.Session, name,
				need, t)
		}
	}
	if t := h.last[name]; t != nil && (t.status == "" || t.status == troupe.Completed || !t.again) {
		h.w.broken("session %s begins step %s once more, and it was %+v", e.Session, name, *t)
	}
	h.steps[e.Session], h.last[name] = name, &tried{agent: e.Session}
}

// stepTold: what a step is told holds what those reported that it needs.
func (h *watch) stepTold(e troupe.Event, m troupe.Mail) {
	name := h.steps[e.Session]
	if name == "" || e.Seq > 2 {
		return
	}
	for _, s := range h.w.climate.steps {
		for _, need := range s.needs {
			if t := h.last[need]; s.name == name && t != nil && !strings.Contains(troupe.JoinText(m.Blocks),
				strings.TrimSpace(t.result)) {
				h.w.broken("session %s is told of step %s nothing that has %q", e.Session, need, t.result)
			}
		}
	}
}

// stepEnds: what a workflow hears of its steps, and of people.
func (h *watch) stepEnds(e troupe.Event, m troupe.Mail) {
	if e.Session != h.w.root || !h.w.follows() {
		return
	}
	if m.Kind == troupe.MailPrompt && e.Seq > 2 {
		for _, t := range h.last {
			t.again = t.again || t.status != "" && t.status != troupe.Completed
		}
	}
	if m.Ended == nil {
		return
	}
	if t := h.last[h.steps[m.Ended.Session]]; t != nil && t.agent == m.Ended.Session {
		t.status, t.result, t.again = m.Ended.Status, m.Ended.Result, false
	}
}

// flowRests: a workflow whose main agent has come to a good end is done, unless one of its steps was stopped or left.
func (h *watch) flowRests() error {
	st := h.states[h.w.root]
	if !h.w.follows() || st.Session.Status != troupe.Completed || h.cut ||
		!workflow.Follows(st.Session.Model) {
		return nil
	}
	for _, s := range h.w.climate.steps {
		if t := h.last[s.name]; t == nil || t.status != troupe.Completed {
			return fmt.Errorf("the workflow has ended well, and step %s is %+v", s.name, t)
		}
	}
	return nil
}
