package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

func load(t testing.TB, script string) *Provider {
	t.Helper()
	p, err := New("test.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// session is one agent's side of a conversation.
type session struct {
	generation int
	t          *testing.T
	p          *Provider
	agent      model.Agent
	msgs       [][]byte
}

func open(t *testing.T, p *Provider, typ string) *session {
	return &session{t: t, p: p, agent: model.Agent{Session: troupe.SessionID(typ), Type: typ, Name: typ + " One"}}
}

func (s *session) say(text string) (troupe.Reply, error) {
	s.t.Helper()
	return s.send(context.Background(), troupe.Message{Role: troupe.User, Blocks: []troupe.Block{troupe.Text(text)}})
}

func (s *session) send(ctx context.Context, m troupe.Message) (troupe.Reply, error) {
	s.t.Helper()
	b, err := s.p.EncodeMessage(m)
	if err != nil {
		s.t.Fatal(err)
	}
	s.msgs = append(s.msgs, b)
	s.agent.Reply++
	s.agent.Attempt = 0
	return s.again(ctx)
}

func (s *session) again(ctx context.Context) (troupe.Reply, error) {
	s.t.Helper()
	s.agent.Attempt++
	head, err := s.p.EncodeHead(model.Head{Model: "m", System: "sys"})
	if err != nil {
		s.t.Fatal(err)
	}
	rep, err := s.p.Stream(ctx, model.Request{Agent: s.agent, Model: "m", Generation: s.generation, Head: head,
		Messages: s.msgs, Fresh: min(2, len(s.msgs))}, nil)
	if err == nil {
		b, _ := s.p.EncodeMessage(troupe.Message{Role: troupe.Assistant, Blocks: rep.Blocks})
		s.msgs = append(s.msgs, b)
	}
	return rep, err
}

func (s *session) want(text, said string) {
	s.t.Helper()
	rep, err := s.say(said)
	if err != nil || troupe.JoinText(rep.Blocks) != text {
		s.t.Errorf("%s, reply %d to %q: %q, %v; want %q", s.agent.Type, s.agent.Reply, said,
			troupe.JoinText(rep.Blocks), err, text)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, modeltest.Harness{New: func(t *testing.T, replies ...modeltest.Reply) model.Provider {
		if len(replies) == 0 {
			replies = []modeltest.Reply{modeltest.Text("unused")}
		}
		return load(t, yamlOf(t, replies))
	}})
}

// yamlOf writes replies as a script. JSON is YAML.
func yamlOf(t *testing.T, replies []modeltest.Reply) string {
	names := map[string]string{
		"overloaded_error": "overloaded", "rate_limit_error": "rate_limit", "api_error": "server",
		"authentication_error": "auth", "not_found_error": "no_model", "invalid_request_error": "bad_request",
	}
	var list []map[string]any
	for i, r := range replies {
		e := map[string]any{"turn": i + 1, "delay": r.Delay.String()}
		if r.Text != "" {
			e["text"] = r.Text
		}
		if r.Thinking != "" {
			e["thinking"] = r.Thinking
		}
		var calls []any
		for _, c := range r.Calls {
			var in map[string]any
			if json.Unmarshal([]byte(c.Input), &in) == nil && len(in) != 1 {
				calls = append(calls, map[string]any{"tool": c.Name, "input": json.RawMessage(c.Input)})
			} else {
				calls = append(calls, map[string]any{"tool": c.Name, "raw": c.Input})
			}
		}
		if calls != nil {
			e["calls"] = calls
		}
		if r.Stop != "" {
			e["stop"] = r.Stop
		}
		if r.Usage != (troupe.Usage{}) {
			e["usage"] = r.Usage
		}
		if r.ErrorType != "" {
			e["error"] = names[r.ErrorType]
			if strings.Contains(r.ErrorMessage, "too long") {
				e["error"] = "too_long"
			}
			if r.RetryAfter != "" {
				e["retry_after"] = r.RetryAfter + "s"
			}
		}
		list = append(list, e)
	}
	b, err := json.Marshal(map[string]any{"replies": list})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMatching(t *testing.T) {
	t.Parallel()
	p := load(t, `
replies:
  - {agent: main, turn: 1, contains: [alpha, beta], text: both}
  - {agent: main, turn: 2-3, text: early}
  - {agent: [main, other], matches: '^\d+ files?$', text: counted}
  - {name: OTHER one, text: by name}
  - {agent: main, turn: 5-, text: late}
`)
	s := open(t, p, "main")
	s.want("both", "beta and alpha")
	s.want("early", "alpha")
	s.want("early", "7 files")
	s.want("counted", "1 file")
	s.want("late", "whatever")
	o := open(t, p, "other")
	o.want("counted", "12 files")
	o.want("by name", "12 filesystems")
}

// TestLastMessage: what counts is all that came since the agent last spoke, results of
// tools included, and nothing from before.
func TestLastMessage(t *testing.T) {
	t.Parallel()
	p := load(t, `
replies:
  - {contains: from the tool, text: tool}
  - {contains: first words, text: first}
  - {text: else}
`)
	s := open(t, p, "main")
	s.want("first", "these are the first words")
	result := troupe.Message{Role: troupe.User, Blocks: []troupe.Block{
		{Type: troupe.ResultBlock, Result: &troupe.Result{Reply: 1,
			Blocks: []troupe.Block{troupe.Text("straight"), troupe.Text("from the tool")}}},
	}}
	b, _ := p.EncodeMessage(result)
	s.msgs = append(s.msgs, b)
	s.want("tool", "and mail on top")
	s.want("else", "nothing special")
}

// TestResume: a process that knows nothing answers the next request as the old one would.
func TestResume(t *testing.T) {
	t.Parallel()
	script := "replies:\n- {turn: 1, text: one}\n- {turn: 2, text: two}\n- {turn: 3, text: three}\n"
	s := open(t, load(t, script), "main")
	s.want("one", "a")
	s.want("two", "b")
	s.p = load(t, script)
	s.want("three", "c")
}

func TestNoEntryMatches(t *testing.T) {
	t.Parallel()
	s := open(t, load(t, `
replies:
  - {agent: Explore, text: a}
  - {agent: main, turn: 1, contains: needle, text: b}
  - {agent: main, turn: 2, text: c}
  - {agent: main, name: Somebody, text: d}
`), "main")
	_, err := s.say("a long story\nabout hay")
	var me *model.Error
	if !errors.As(err, &me) || me.Fault != troupe.FaultBad {
		t.Fatal(err)
	}
	want := `script test.yaml, agent "main" named "main One", reply 1: no entry answers this. The last message ends: "a long story\nabout hay". ` +
		`Closest: line 4 (the last message does not contain "needle"); line 5 (it is for turn 2); line 6 (it is for the name Somebody)`
	if me.Message != want {
		t.Errorf("got  %s\nwant %s", me.Message, want)
	}
}

func TestErrorsAndAttempts(t *testing.T) {
	t.Parallel()
	p := load(t, `
replies:
  - {turn: 1, attempt: 1, error: rate_limit, retry_after: 1500ms}
  - {turn: 1, attempt: 2-3, text: half a, error: cut}
  - {turn: 1, text: whole}
  - {turn: 2, attempt: 1, error: overloaded}
  - {turn: 2, text: second}
`)
	s := open(t, p, "main")
	_, err := s.say("go")
	var me *model.Error
	if !errors.As(err, &me) || me.Fault != troupe.FaultRetry || me.RetryAfter != 1500*time.Millisecond ||
		!strings.Contains(me.Message, "test.yaml:3") {
		t.Errorf("attempt 1: %+v", err)
	}
	for range 2 {
		if _, err = s.again(t.Context()); !errors.As(err, &me) || troupe.JoinText(me.Partial) != "half a" ||
			me.Usage.Output != 2 {
			t.Errorf("attempts 2 and 3: %+v", err)
		}
	}
	if rep, err := s.again(t.Context()); err != nil || troupe.JoinText(rep.Blocks) != "whole" {
		t.Errorf("attempt 4: %+v, %v", rep, err)
	}
	if _, err := s.say("on"); !errors.As(err, &me) {
		t.Errorf("a new reply, first attempt: %v", err)
	}
	if rep, err := s.again(t.Context()); err != nil || troupe.JoinText(rep.Blocks) != "second" {
		t.Errorf("%+v, %v", rep, err)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	p := load(t, `
price: {input: 2, output: 10}
model: tiny
replies:
  - {turn: 1, text: "12345678", calls: [{tool: Read, input: {a: 1}}]}
  - {turn: 2, text: x, usage: {input: 5, output: 6}}
  - {text: "1"}
`)
	s := open(t, p, "main")
	rep, err := s.say("go")
	if err != nil || rep.Model != "script/tiny" {
		t.Fatal(rep, err)
	}
	head, _ := p.EncodeHead(model.Head{Model: "m", System: "sys"})
	if want := (troupe.Usage{Input: tokens(len(head) + len(s.msgs[0])), Output: tokens(8 + 4 + 7)}); rep.Usage != want {
		t.Errorf("estimated %+v, want %+v", rep.Usage, want)
	}
	if rep, _ = s.say("on"); rep.Usage != (troupe.Usage{Input: 5, Output: 6}) {
		t.Errorf("said %+v", rep.Usage)
	}
	rep, _ = s.say("on")
	old, fresh := len(head), 0
	for i, m := range s.msgs[:5] {
		if i < 3 {
			old += len(m)
		} else {
			fresh += len(m)
		}
	}
	if want := (troupe.Usage{Input: tokens(fresh), CacheRead: tokens(old), Output: 1}); rep.Usage != want {
		t.Errorf("estimated %+v, want %+v", rep.Usage, want)
	}
	if i := p.Info(); !i.Priced || i.Price.Output != 10*troupe.Dollar {
		t.Errorf("price %+v", i)
	}
}

func TestPrefixRule(t *testing.T) {
	t.Parallel()
	p := load(t, "replies: [{text: x}]")
	s := open(t, p, "main")
	s.want("x", "a")
	s.want("x", "b")
	s.msgs[1] = []byte(`{"role":"assistant","blocks":[{"type":"text","text":"y"}]}`)
	_, err := s.say("c")
	var me *model.Error
	if !errors.As(err, &me) || me.Fault != troupe.FaultBad || !errors.Is(err, model.ErrPrefix) ||
		!strings.Contains(me.Message, "message 2 of 5") {
		t.Errorf("a changed message passed: %v", err)
	}
	s.generation++
	if _, err := s.again(t.Context()); err != nil {
		t.Errorf("a new generation: %v", err)
	}
}

// TestTime runs in a bubble: delays are real to the caller, and end at once with ctx.
func TestTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := load(t, `
replies:
  - {turn: 1, delay: 1h, over: 10m, thinking: hm, text: "one two three four five six seven eight nine ten"}
  - {turn: 2, delay: 24h, text: late}
  - {turn: 3, over: 3h, text: "one two three four five six seven eight nine ten"}
`)
		s := open(t, p, "main")
		start := time.Now()
		if _, err := s.say("go"); err != nil || time.Since(start) != time.Hour+10*time.Minute {
			t.Errorf("took %s, %v", time.Since(start), err)
		}
		for i, want := range []string{"", "one two three four five six seven eight nine "} {
			turn := i + 2
			ctx, cancel := context.WithTimeout(t.Context(), 119*time.Minute)
			start = time.Now()
			s.agent.Reply = turn - 1
			_, err := s.send(ctx, troupe.Message{Role: troupe.User, Blocks: []troupe.Block{troupe.Text("on")}})
			cancel()
			var me *model.Error
			if !errors.As(err, &me) || me.Fault != troupe.FaultInterrupted || troupe.JoinText(me.Partial) != want ||
				time.Since(start) != 119*time.Minute {
				t.Errorf("turn %d after %s: %+v", turn, time.Since(start), err)
			}
		}
	})
}

func TestCallsKeepTheirOrderAndKinds(t *testing.T) {
	t.Parallel()
	p := load(t, `
replies:
  - calls:
    - tool: T
      input: {z: 1, a: [true, null, 1.5, 0x10, "7", yes, 2026-01-02, -n], -n: {deep: "<\n>"}, 1: x}
    - {tool: T, raw: '{"broken":'}
    - tool: T
`)
	rep, err := open(t, p, "main").say("go")
	if err != nil || len(rep.Blocks) != 3 || rep.Stop != troupe.StopToolUse {
		t.Fatal(rep, err)
	}
	for i, want := range []string{`{"z":1,"a":[true,null,1.5,16,"7","yes","2026-01-02","-n"],"-n":{"deep":"<\n>"},"1":"x"}`, `{"broken":`, `{}`} {
		if c := rep.Blocks[i].Call; c.Input != want || c.Reply != 1 || c.Index != i {
			t.Errorf("call %d: %+v, want %s", i, c, want)
		}
	}
}

func TestFileErrors(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":            "test.yaml: the file is empty",
		"hello":       `test.yaml:1: a script must be a mapping (key: value), not "hello"`,
		"model: x":    "test.yaml:1: the script has no replies",
		"replies: {}": "test.yaml:1: replies must be a list, not a mapping",
		"replies:\n- {text: a}\n- {txet: " +
			"b}": `test.yaml:3: a reply has no key "txet"; did you mean "text"?`,
		"replies:\n- {zzzzzz: " +
			"b}": `test.yaml:2: a reply has no key "zzzzzz"; it knows: agent, attempt`,
		"replies:\n- agent: main":             "test.yaml:2: this reply says nothing",
		"replies:\n- {text: a, text: b}":      `test.yaml:2: "text" is given twice`,
		"replies:\n- text: [a]":               "test.yaml:2: text must be text, not a list",
		"replies:\n- text:":                   "test.yaml:2: text must be text, not nothing",
		"replies:\n- {text: a, turn: 0}":      "test.yaml:2: turn must be a number from 1 on",
		"replies:\n- {text: a, turn: 5-2}":    "test.yaml:2: turn must be a number from 1 on",
		"replies:\n- {text: a, turn: -3}":     "test.yaml:2: turn must be a number from 1 on",
		"replies:\n- {text: a, matches: '('}": "test.yaml:2: matches: error parsing regexp",
		"replies:\n- {text: a, contains: ''}": "test.yaml:2: contains must not be empty",
		"replies:\n- {text: a, delay: " +
			"5}": `test.yaml:2: delay must be a length of time, such as 200ms or 1.5s, not "5"`,
		"replies:\n- {text: a, delay: -1s}": "test.yaml:2: delay must be",
		"replies:\n- {error: " +
			"overload}": `test.yaml:2: error must be one of auth, bad_request, cut, no_model, overloaded, rate_limit, server, too_long, not "overload"; did you mean "overloaded"?`,
		"replies:\n- {error: cut}": "test.yaml:2: error: cut needs text",
		"replies:\n- {error: auth, retry_after: 1s}": "test.yaml:2: retry_after needs an error that can be " +
			"tried again: cut, overloaded, rate_limit, server",
		"replies:\n- {text: a, retry_after: 1s}":            "test.yaml:2: retry_after needs",
		"replies:\n- {error: auth, stop: refusal}":          "test.yaml:2: a reply that ends in an error has no stop",
		"replies:\n- {stop: later}":                         "test.yaml:2: stop must be one of",
		"replies:\n- {text: a, usage: {input: 1.5}}":        "test.yaml:2: input must be a whole number",
		"replies:\n- {text: a, usage: {tokens: 1}}":         `test.yaml:2: usage has no key "tokens"`,
		"replies:\n- calls: [{input: {}}]":                  "test.yaml:2: a call needs a tool",
		"replies:\n- calls: [{tool: A, input: [1]}]":        "test.yaml:2: input must be a mapping",
		"replies:\n- calls: [{tool: A, input: {}, raw: x}]": "test.yaml:2: a call has either input or raw",
		"replies:\n- calls: [{tool: A, input: {n: .inf}}]":  "test.yaml:2: JSON has no number .inf",
		"replies:\n- calls:\n  - {tool: A,\n":               "test.yaml:",
		"replies: [{text: a}]\n---\nreplies: [{text: b}]":   "test.yaml:",
		"x: &x {text: a}\nreplies: [*x]":                    `test.yaml:1: a script has no key "x"`,
		"replies: [{<<: {text: a}}]":                        "merge keys",
		"price: {input: 1, putput: 2}\nreplies: [{text: " +
			"a}]": `test.yaml:1: price has no key "putput"; did you mean "output"?`,
	} {
		_, err := New("test.yaml", []byte(in))
		var ue *troupe.UserError
		if !errors.As(err, &ue) || !strings.Contains(ue.Problem, want) {
			t.Errorf("%q: %v\nwant %s", in, err, want)
		}
	}
}

// TestAliasBomb: a small file that unfolds to billions of values is refused at once.
func TestAliasBomb(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("replies:\n- calls:\n  - tool: T\n    input:\n      a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&b, "      a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1),
			9), ", "))
	}
	if _, err := New("bomb.yaml", []byte(b.String())); err == nil {
		t.Error("the bomb went off")
	}
	if _, err := New("loop.yaml", []byte("replies:\n- calls:\n  - tool: T\n    input: &a {x: *a}\n")); err == nil {
		t.Error("a value that contains itself was read")
	}
}

// TestManual runs the scripts in the manual: what people copy from there must work.
func TestManual(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../docs/script-model.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(doc, -1)
	if len(blocks) != 4 {
		t.Fatalf("%d scripts in the manual", len(blocks))
	}
	first := open(t, load(t, string(blocks[0][1])), "main")
	first.want("Let me look for it.", "correct the typo")
	first.want("It is in mail.go. I will correct it.", "./mail.go:7")
	first.want("The word is spelled correctly now.", "edited")
	denied := open(t, load(t, string(blocks[0][1])), "main")
	denied.want("Let me look for it.", "correct the typo")
	denied.want("It is in mail.go. I will correct it.", "./mail.go:7")
	denied.want("It is in mail.go, and I may not correct it.", "no rule allows it, and it writes /w/mail.go")
	flaky := open(t, load(t, string(blocks[1][1])), "main")
	if _, err := flaky.say("go"); err == nil {
		t.Error("the flaky script did not fail")
	}
	for range 2 {
		_, _ = flaky.again(t.Context()) // two more that fail
	}
	if rep, err := flaky.again(t.Context()); err != nil || troupe.JoinText(rep.Blocks) != "Here I am." {
		t.Errorf("%+v, %v", rep, err)
	}
	team := load(t, string(blocks[2][1]))
	lead := open(t, team, "main")
	lead.want("I will have the code and its tests looked at.", "go")
	lead.want("The login is checked in auth/login.go, and auth/login_test.go tests it.",
		"in auth/login.go\nin auth/login_test.go")
	scout := open(t, team, "Explore")
	scout.want("", "Which tests cover the login?")
	scout.want("There is one test file for it, auth/login_test.go.", "auth/login_test.go")
	open(t, load(t, string(blocks[3][1])), "main").want("", "plan it")
}

// FuzzScript: a file is either refused, with its name, or can be played without a panic.
func FuzzScript(f *testing.F) {
	f.Add([]byte("replies:\n- {agent: main, turn: 1-, contains: x, text: hello, over: 1ms}\n- {error: cut, text: a, " +
		"attempt: 2}\n"))
	f.Add([]byte("price: {input: 3}\nmodel: m\nreplies:\n- calls: [{tool: A, input: {b: &x [1, 2], c: *x}}, {tool: " +
		"B, raw: '{'}]\n  usage: {input: 1}\n"))
	f.Add([]byte(`{"replies": [{"thinking": "a", "stop": "refusal", "matches": "^a.*$"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := New("fuzz.yaml", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fuzz.yaml") {
				t.Errorf("an error without the file's name: %v", err)
			}
			return
		}
		for i := range p.file.entries {
			e := &p.file.entries[i]
			e.delay, e.over = 0, 0
			for _, c := range e.calls {
				if strings.HasPrefix(c.input, "{") && c.input != "{}" && !json.Valid([]byte(c.input)) &&
					!strings.Contains(string(data), "raw") {
					t.Errorf("input is not JSON: %s", c.input)
				}
			}
		}
		_, err = open(t, p, "main").say("x")
		var me *model.Error
		if err != nil && !errors.As(err, &me) {
			t.Errorf("not a *model.Error: %v", err)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	p := load(b, "replies:\n- {agent: other, contains: z, text: x}\n- {turn: 1-, text: some words}\n")
	msg := []byte(`{"role":"user","blocks":[{"type":"text","text":"` + strings.Repeat("x", 1000) + `"}]}`)
	msgs := make([][]byte, 50)
	for i := range msgs {
		msgs[i] = msg
	}
	r := model.Request{Agent: model.Agent{Session: "s", Type: "main", Reply: 2}, Head: msg, Messages: msgs, Fresh: 2}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Stream(b.Context(), r, nil); err != nil {
			b.Fatal(err)
		}
	}
}
