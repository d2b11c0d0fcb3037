package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	rootID  = troupe.SessionID("0123456789ab")
	childID = troupe.SessionID("ab0123456789")
)

func user(texts ...string) troupe.Message {
	m := troupe.Message{Role: troupe.User}
	for _, t := range texts {
		m.Blocks = append(m.Blocks, troupe.Text(t))
	}
	return m
}

func callBlock(reply, index int, tool, input string) troupe.Block {
	return troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{Reply: reply, Index: index, Name: tool,
		Input: input}}
}

func result(reply, call int, text string) troupe.Message {
	return troupe.Message{Role: troupe.User, Blocks: []troupe.Block{{
		Type: troupe.ResultBlock, Result: &troupe.Result{Reply: reply, Call: call,
			Blocks: []troupe.Block{troupe.Text(text)}},
	}}}
}

const where = "Environment:\n- platform: linux/amd64\n- date: 2026-03-01 (Sunday)\n- folder: /home/ada/porch\n- git: " +
	"branch main at 1a2b3c, clean\n"

const ended = "<agent-result agent=\"Scout\" type=\"Explore\" id=\"ab0123456789\" status=\"completed\">\nit takes 3 " +
	"s\n</agent-result>\n" +
	"<runtime-evidence>\nno files written by its tools, no commands run\nusage: 20 tokens, 1 tool uses, 812 " +
	"ms\n</runtime-evidence>"

// sample is a tree of two: main sends a child out, which reads a file; then main's service is

// overloaded once, and main ends.

func sample() Recording {
	said := func(stop troupe.StopReason, blocks ...troupe.Block) *Said {
		return &Said{Blocks: blocks, Stop: stop, Usage: troupe.Usage{Input: 10, Output: 2}, DurationMS: 700}
	}
	spawn := callBlock(1, 0, "Agent", `{"prompt":"look at /home/ada/porch/a.go"}`)
	read := callBlock(1, 0, "Read", `{"file_path":"/home/ada/porch/a.go"}`)
	return Recording{
		Header: Header{
			Format: Format, Version: Version, Troupe: "test", Root: rootID,
			At: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC),
			Place: Place{Cwd: "/home/ada/porch", Home: "/home/ada", Config: "/home/ada/.config/troupe",
				Outputs: "/home/ada/.local/share/troupe/outputs"},
			Prompt: "fix it", Model: "anthropic/m",
			Settings: `{"permissions":{"allow":["Bash(go test ./...)"]}}`,
			Models:   []Model{{Name: "anthropic/m", Info: &model.Info{Priced: true, Window: 1000}}, {Name: "local/n"}},
		},
		Lines: []Line{
			{Agent: &Agent{Path: "main", Session: rootID, Type: "main", System: "You are main.",
				Tools: []string{"Agent", "Bash", "Read"}, Status: troupe.Completed}},
			{Call: &Call{
				Agent: "main", Run: 1, Reply: 1, Attempt: 1, Model: "anthropic/m", Generation: 1,
				Messages: []troupe.Message{user("fix it", where)},
				Said:     said(troupe.StopToolUse, troupe.Text("Let me see."), spawn),
			}},
			{Agent: &Agent{Path: "main/Scout", Session: childID, Type: "Explore", System: "You look.",
				Tools: []string{"Read"}, Status: troupe.Completed}},
			{Call: &Call{
				Agent: "main/Scout", Run: 1, Reply: 1, Attempt: 1, Model: "anthropic/m", Generation: 1,
				Messages: []troupe.Message{user("look at /home/ada/porch/a.go", where)},
				Said:     said(troupe.StopToolUse, read),
			}},
			{Tool: &Tool{
				Agent: "main/Scout", Reply: 1, Name: "Read", Input: read.Call.Input,
				Blocks: []troupe.Block{troupe.Text("package a")}, DurationMS: 3,
				Evidence: troupe.Evidence{Files: []troupe.FileTouch{{Path: "/home/ada/porch/a.go", Hash: "00"}}},
			}},
			{Call: &Call{
				Agent: "main/Scout", Run: 1, Reply: 2, Attempt: 1, Model: "anthropic/m", Generation: 1,
				Messages: []troupe.Message{{Role: troupe.Assistant, Blocks: []troupe.Block{read}},
					result(1, 0, "package a")},
				Said: said(troupe.StopEndTurn, troupe.Text("it takes 3 s")),
			}},
			{Tool: &Tool{Agent: "main", Reply: 1, Name: "Agent", Input: spawn.Call.Input,
				Blocks: []troupe.Block{troupe.Text(ended)}, Birth: true, Mail: "end:ab0123456789:1"}},
			{Call: &Call{
				Agent: "main", Run: 1, Reply: 2, Attempt: 1, Model: "anthropic/m", Generation: 1,
				Messages: []troupe.Message{{Role: troupe.Assistant,
					Blocks: []troupe.Block{troupe.Text("Let me see."), spawn}}, result(1, 0, ended)},
				Failed: &Failed{Fault: troupe.FaultRetry, Message: "overloaded", Partial: "I was"},
			}},
			{Call: &Call{
				Agent: "main", Run: 1, Reply: 2, Attempt: 2, Model: "anthropic/m", Generation: 1, Messages: nil,
				Said: said(troupe.StopEndTurn, troupe.Text("Done.")),
			}},
		},
	}
}

func written(t testing.TB, r Recording) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestLongLine: a picture of some megabytes makes a line of as many.

// player wraps one with what the tests ask of it.

type player struct {
	*Player
	t testing.TB
}

func play(t testing.TB, r Recording, here Place) player {
	t.Helper()
	r, err := Read("x", strings.NewReader(written(t, r)))
	if err != nil {
		t.Fatal(err)
	}
	if here == (Place{}) {
		here = r.Header.Place
	}
	return player{New(r, here, intent), t}
}

// agent is one side of a conversation, as the engine would lead it.

type agent struct {
	p        player
	who      model.Agent
	generate int
	head     []byte
	messages [][]byte
}

func (p player) agent(path, system string, tools ...string) *agent {
	p.t.Helper()
	h := model.Head{Model: "anthropic/m", System: system}
	for _, name := range tools {
		h.Tools = append(h.Tools, troupe.Tool{Name: name, Schema: json.RawMessage(`{}`)})
	}
	b, err := p.EncodeHead(h)
	if err != nil {
		p.t.Fatal(err)
	}
	return &agent{p: p, who: model.Agent{Path: path, Reply: 1}, head: b, generate: 1}
}

func (p player) main() *agent { return p.agent("main", "You are main.", "Agent", "Bash", "Read") }

func (p player) scout() *agent {
	return p.agent("main/Scout", "You look.", "Read")
}

func (a *agent) say(ctx context.Context, msgs ...troupe.Message) (string, error) {
	a.p.t.Helper()
	for _, m := range msgs {
		b, err := a.p.EncodeMessage(m)
		if err != nil {
			a.p.t.Fatal(err)
		}
		a.messages = append(a.messages, b)
	}
	rep, err := a.p.Stream(ctx, model.Request{Agent: a.who, Head: a.head, Messages: a.messages, Generation: a.generate},
		func(model.Delta) {})
	if err != nil {
		return "", err
	}
	b, err := a.p.EncodeMessage(troupe.Message{Role: troupe.Assistant, Blocks: rep.Blocks})
	if err != nil {
		a.p.t.Fatal(err)
	}
	a.messages = append(a.messages, b)
	a.who.Reply++
	return troupe.JoinText(rep.Blocks), nil
}

func (a *agent) want(text string, msgs ...troupe.Message) {
	a.p.t.Helper()
	if got, err := a.say(a.p.t.Context(), msgs...); err != nil || got != text {
		a.p.t.Fatalf("%s is answered %q, %v; want %q", a.who.Path, got, err, text)
	}
}

func (a *agent) fails(fault troupe.ModelFault, msgs ...troupe.Message) {
	a.p.t.Helper()
	_, err := a.say(a.p.t.Context(), msgs...)
	var e *model.Error
	if !errors.As(err, &e) || e.Fault != fault || e.RetryAfter != 0 {
		a.p.t.Fatalf("%s fails with %v, want %s", a.who.Path, err, fault)
	}
}

func (p player) same(calls int) {
	p.t.Helper()
	if v := p.Verdict(); !v.Same || v.Calls != calls {
		p.t.Errorf("the verdict is %+v (%v), want %d same calls", v, v.Mismatch, calls)
	}
}

func (p player) mismatch(kind Kind, parts ...string) {
	p.t.Helper()
	m := p.Verdict().Mismatch
	if m == nil || m.Kind != kind {
		p.t.Fatalf("the difference is %v, want kind %s", m, kind)
	}
	for _, part := range parts {
		if !strings.Contains(m.Error(), part) {
			p.t.Errorf("the difference does not say %q:\n%v", part, m)
		}
	}
}

// TestSame plays the same run another day, in another folder, with other durations, and the

// child later than main's next agent would like.

// TestAnyOrder: what another agent does meanwhile makes no difference.

// TestOrder: a session reads what it read, in that order, when it read it.

// TestTold: what was asked, cut short and read then is told by the call, and a call waits for

// what it found then.

// TestWoken: a message that woke an agent is not sent before that agent has ended.

// TestDenied: what the gate refused then and would allow now is a difference by itself, for

// the model would be shown a result that nobody has.

// TestStopped: a run that a person stopped is over where it was stopped, and the call that

// was under way waits for whoever replays to stop it.

// TestStoppedBehind: a person who stops a tree whose root had come to its end stops what is

// still at work; the root has to have come there before.

// TestStopByAgent: an agent that another one stopped is stopped again, however far it would

// have come by then; one that a person stopped cannot be waited for.

// TestStoppedAndWoken: a run that was stopped waits for the stop also if another one followed.

// TestBackground: a command in the background comes to what its agent was told later, and

// one that was killed waits for that.

// TestCompaction: what a summary is asked for with is compared but for the request itself;

// behind the summary the conversation begins anew, in another generation.

// TestMap: no text of a recording is left out, whichever field it stands in.

// token is in every generated text.

// TestLongDifference: a difference far behind in a large text is found and shown, and no

// more than people read.

// TestDocumented: the sample in the testdata is a whole recording, for people who write

// readers of their own; it changes only on purpose.

func intent(tool string) bool {
	return slices.Contains([]string{"Agent", "TaskOutput", "TaskStop", "SendMessage"}, tool)
}
