package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

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
	return troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{Reply: reply, Index: index, Name: tool, Input: input}}
}

func result(reply, call int, text string) troupe.Message {
	return troupe.Message{Role: troupe.User, Blocks: []troupe.Block{{
		Type: troupe.ResultBlock, Result: &troupe.Result{Reply: reply, Call: call, Blocks: []troupe.Block{troupe.Text(text)}},
	}}}
}

const where = "Environment:\n- platform: linux/amd64\n- date: 2026-03-01 (Sunday)\n- folder: /home/ada/porch\n- git: branch main at 1a2b3c, clean\n"

const ended = "<agent-result agent=\"Scout\" type=\"Explore\" id=\"ab0123456789\" status=\"completed\">\nit takes 3 s\n</agent-result>\n" +
	"<runtime-evidence>\nno files written by its tools, no commands run\nusage: 20 tokens, 1 tool uses, 812 ms\n</runtime-evidence>"

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
			Format: Format, Version: Version, Troupe: "test", Root: rootID, At: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC),
			Place:  Place{Cwd: "/home/ada/porch", Home: "/home/ada", Config: "/home/ada/.config/troupe", Outputs: "/home/ada/.local/share/troupe/outputs"},
			Prompt: "fix it", Model: "anthropic/m",
			Settings: `{"permissions":{"allow":["Bash(go test ./...)"]}}`,
			Models:   []Model{{Name: "anthropic/m", Info: &model.Info{Priced: true, Window: 1000}}, {Name: "local/n"}},
		},
		Lines: []Line{
			{Agent: &Agent{Path: "main", Session: rootID, Type: "main", System: "You are main.", Tools: []string{"Agent", "Bash", "Read"}, Status: troupe.Completed}},
			{Call: &Call{
				Agent: "main", Run: 1, Reply: 1, Attempt: 1, Model: "anthropic/m", Generation: 1,
				Messages: []troupe.Message{user("fix it", where)}, Said: said(troupe.StopToolUse, troupe.Text("Let me see."), spawn),
			}},
			{Agent: &Agent{Path: "main/Scout", Session: childID, Type: "Explore", System: "You look.", Tools: []string{"Read"}, Status: troupe.Completed}},
			{Call: &Call{
				Agent: "main/Scout", Run: 1, Reply: 1, Attempt: 1, Model: "anthropic/m", Generation: 1,
				Messages: []troupe.Message{user("look at /home/ada/porch/a.go", where)}, Said: said(troupe.StopToolUse, read),
			}},
			{Tool: &Tool{
				Agent: "main/Scout", Reply: 1, Name: "Read", Input: read.Call.Input, Blocks: []troupe.Block{troupe.Text("package a")}, DurationMS: 3,
				Evidence: troupe.Evidence{Files: []troupe.FileTouch{{Path: "/home/ada/porch/a.go", Hash: "00"}}},
			}},
			{Call: &Call{
				Agent: "main/Scout", Run: 1, Reply: 2, Attempt: 1, Model: "anthropic/m", Generation: 1,
				Messages: []troupe.Message{{Role: troupe.Assistant, Blocks: []troupe.Block{read}}, result(1, 0, "package a")},
				Said:     said(troupe.StopEndTurn, troupe.Text("it takes 3 s")),
			}},
			{Tool: &Tool{Agent: "main", Reply: 1, Name: "Agent", Input: spawn.Call.Input, Blocks: []troupe.Block{troupe.Text(ended)}, Birth: true, Mail: "end:ab0123456789:1"}},
			{Call: &Call{
				Agent: "main", Run: 1, Reply: 2, Attempt: 1, Model: "anthropic/m", Generation: 1,
				Messages: []troupe.Message{{Role: troupe.Assistant, Blocks: []troupe.Block{troupe.Text("Let me see."), spawn}}, result(1, 0, ended)},
				Failed:   &Failed{Fault: troupe.FaultRetry, Message: "overloaded", Partial: "I was"},
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

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	want := sample()
	text := written(t, want)
	got, err := Read("x", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if again := written(t, got); again != text {
		t.Errorf("written again it is\n%s\nnot\n%s", again, text)
	}
	// What a later version adds is left alone.
	lines := strings.SplitAfter(text, "\n")
	lines[0] = strings.Replace(lines[0], "{", `{"later":[1],`, 1)
	lines[2] = strings.Replace(lines[2], `{"call":{`, `{"later":{},"call":{"later":1,`, 1)
	lines = append(lines[:3], append([]string{`{"monitor":{"agent":7}}` + "\n"}, lines[3:]...)...)
	if got, err = Read("x", strings.NewReader(strings.Join(lines, ""))); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	text := written(t, sample())
	lines := strings.SplitAfter(text, "\n")
	join := func(l ...string) string { return strings.Join(l, "") }
	for name, c := range map[string]struct{ in, want string }{
		"empty":            {"", "r:1: the file is empty"},
		"no recording":     {"hello\n", "r:1: this is not a recording"},
		"other JSON":       {`{"a":1}` + "\n", "r:1: this is not a recording"},
		"newer":            {`{"format":"troupe-recording","version":2}` + "\n", "r:1: the recording has format version 2"},
		"version 0":        {`{"format":"troupe-recording"}` + "\n", "r:1: the recording has format version 0"},
		"no root":          {`{"format":"troupe-recording","version":1}` + "\n", `r:1: "" is not the id`},
		"cut in a line":    {text[:len(text)-30], "r:10: the file ends in the middle of this line"},
		"cut in a letter":  {text[:len(lines[0])+5], "r:2: the file ends in the middle"},
		"cut behind one":   {join(lines[:5]...), "r:5: the recording ends here without its last line"},
		"a NUL":            {join(lines[0], lines[1], strings.Replace(lines[2], "fix", "f\x00x", 1)), "r:3: the line holds a NUL byte"},
		"no text":          {join(lines[0], lines[1], strings.Replace(lines[2], "fix", "f\xffx", 1)), "r:3: the line is not valid UTF-8"},
		"no JSON":          {join(lines[0], lines[1], "{]\n"), "r:3: the line cannot be understood"},
		"blank line":       {join(lines[0], "\n"), "r:2: the line cannot be understood"},
		"wrong type":       {join(lines[0], `{"agent":{"path":7}}`+"\n"), "r:2: the line cannot be understood"},
		"two in one":       {join(lines[0], `{"agent":{"path":"a","session":"b"},"mail":{}}`+"\n"), "r:2: the line is more than one"},
		"unknown agent":    {join(lines[0], lines[2]), `r:2: no line before this one brings an agent "main"`},
		"born twice":       {join(lines[0], lines[1], lines[1]), "r:3: the agent \"main\" is born a second time"},
		"nameless":         {join(lines[0], `{"agent":{}}`+"\n"), "r:2: the agent has no path"},
		"no outcome":       {join(lines[0], lines[1], `{"call":{"agent":"main","reply":1}}`+"\n"), "r:3: the call has both"},
		"reply 0":          {join(lines[0], lines[1], `{"call":{"agent":"main"}}`+"\n"), "r:3: the call asks for reply 0"},
		"two results":      {join(lines[:6]...) + lines[5], "has a second result"},
		"no root agent":    {join(lines[0], `{"end":{}}`+"\n"), "no line brings the root"},
		"behind the end":   {text + lines[1], "there is more behind the end"},
		"rubbish behind":   {text + "x", "the file ends in the middle"},
		"mail for nobody":  {join(lines[0], `{"mail":{"agent":"x"}}`+"\n"), "r:2: no line before this one brings"},
		"a deep line":      {join(lines[0], strings.Repeat("[", 20_000), "\n"), "r:2: the line cannot be understood"},
		"two at one line":  {join(lines[0], strings.TrimSuffix(lines[1], "\n"), lines[1]), "r:2: the line cannot be understood"},
		"DOS ends of line": {strings.ReplaceAll(text, "\n", "\r\n") + "x\n", "r:12: there is more behind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read("r", strings.NewReader(c.in))
			var u *troupe.UserError
			if !errors.As(err, &u) || u.Code != 2 || !strings.Contains(u.Problem, c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
			if newer := name == "newer"; errors.Is(err, troupe.ErrNewer) != newer {
				t.Errorf("errors.Is(%v, ErrNewer) is not %v", err, newer)
			}
		})
	}
}

// TestLongLine: a picture of some megabytes makes a line of as many.
func TestLongLine(t *testing.T) {
	t.Parallel()
	want := sample()
	want.Lines[1].Call.Messages[0].Blocks = append(want.Lines[1].Call.Messages[0].Blocks,
		troupe.Block{Type: troupe.ImageBlock, Image: &troupe.Image{MediaType: "image/png", Data: bytes.Repeat([]byte("picture"), 2<<20)}})
	got, err := Read("x", strings.NewReader(written(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, got) { // cmp looks at every byte by itself
		t.Error("a long line is read as another one")
	}
}

func FuzzRead(f *testing.F) {
	text := written(f, sample())
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add(strings.Replace(text, "fix it", "\x00", 1))
	f.Add(strings.Replace(text, `"version":1`, `"version":99`, 1))
	f.Add("{\"format\":\"troupe-recording\",\"version\":1,\"root\":\"0123456789ab\"}\n" + strings.Repeat("x", 1<<20))
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Read("f", strings.NewReader(text))
		if err != nil {
			var u *troupe.UserError
			if !errors.As(err, &u) || !strings.HasPrefix(u.Problem, "f:") {
				t.Fatalf("an error without its line: %v", err)
			}
			return
		}
		again, err := Read("f", strings.NewReader(written(t, r)))
		if err != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
		if one, two := written(t, r), written(t, again); one != two {
			t.Fatalf("read again it is\n%s\nnot\n%s", two, one)
		}
		// Whatever the file says, the player does not fall over it.
		p := New(r, Place{Cwd: "/elsewhere", Home: "/"})
		_, _ = p.Stream(t.Context(), model.Request{Agent: model.Agent{Path: "nobody"}}, nil)
		p.Verdict()
	})
}

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
	return player{New(r, here), t}
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
	rep, err := a.p.Stream(ctx, model.Request{Agent: a.who, Head: a.head, Messages: a.messages, Generation: a.generate}, func(model.Delta) {})
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
func TestSame(t *testing.T) {
	t.Parallel()
	here := Place{Cwd: "/builds/7/porch", Home: "/var/ci", Config: "/tmp/t/config", Outputs: "/tmp/t/outputs"}
	p := play(t, sample(), here)
	other := strings.NewReplacer("linux/amd64", "darwin/arm64", "2026-03-01 (Sunday)", "2027-01-02 (Saturday)", "/home/ada/porch", here.Cwd,
		"branch main at 1a2b3c, clean", "no branch at 4d5e6f, 3 changed files").Replace(where)
	main, scout := p.main(), p.scout()
	main.want("Let me see.", user("fix it", other))
	scout.want("", user("look at /builds/7/porch/a.go", other))
	served, err := p.Serve(t.Context(), "main/Scout", 1, 0)
	if err != nil || served.Evidence.Files[0].Path != "/builds/7/porch/a.go" || troupe.JoinText(served.Blocks) != "package a" {
		t.Errorf("the tool is served as %+v, %v", served, err)
	}
	scout.want("it takes 3 s", result(1, 0, "package a"))
	main.fails(troupe.FaultRetry, result(1, 0, strings.Replace(ended, "812 ms", "2 ms", 1)))
	main.want("Done.")
	p.same(5)
	if info, ok := p.Info("anthropic/m"); !ok || info.Window != 1000 {
		t.Errorf("what is known of the model is %+v", info)
	}
	if _, ok := p.Info("local/n"); ok || !p.Knows("local") || !p.Knows("anthropic") || p.Knows("anthro") {
		t.Error("what is known of the other models is not what was")
	}
}

// TestAnyOrder: what another agent does meanwhile makes no difference.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	p := play(t, sample(), Place{})
	main, scout := p.main(), p.scout()
	scout.want("", user("look at /home/ada/porch/a.go", where))
	scout.want("it takes 3 s", result(1, 0, "package a"))
	main.want("Let me see.", user("fix it", where))
	main.fails(troupe.FaultRetry, result(1, 0, ended))
	main.want("Done.")
	p.same(5)
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	prompt := user("fix it", where)
	for name, c := range map[string]struct {
		run  func(p player)
		kind Kind
		say  []string
	}{
		"another prompt": {
			func(p player) { p.main().fails(troupe.FaultBad, user("mend it", where)) },
			Request, []string{"main sent something else for reply 1 (its 1st call) than when it was recorded, from message 1 on", "-    fix it\n", "+    mend it\n"},
		},
		"another system prompt": {
			func(p player) {
				p.agent("main", "You are mine.", "Agent", "Bash", "Read").fails(troupe.FaultBad, prompt)
			},
			Request, []string{"before the conversation", "-  You are main.", "+  You are mine."},
		},
		"another tool": {
			func(p player) { p.agent("main", "You are main.", "Agent", "Read").fails(troupe.FaultBad, prompt) },
			Request, []string{"-tool: Bash"},
		},
		"another duration in a prompt": {
			func(p player) {
				p.main().want("Let me see.", prompt)
				p.scout().fails(troupe.FaultBad, user("look at /home/ada/porch/a.go for 3 s", where))
			},
			Request, []string{"main/Scout", "+    look at /home/ada/porch/a.go for 3 s"},
		},
		"another result": {
			func(p player) {
				main := p.main()
				main.want("Let me see.", prompt)
				main.fails(troupe.FaultBad, result(1, 0, strings.Replace(ended, "20 tokens", "21 tokens", 1)))
			},
			Request, []string{"main sent something else for reply 2 (its 2nd call)", "from message 3 on", "-      usage: 20 tokens", "+      usage: 21 tokens"},
		},
		"a message more": {
			func(p player) { p.main().fails(troupe.FaultBad, prompt, user("and hurry")) },
			Request, []string{"+message 2, user:", "+    and hurry"},
		},
		"a message less": {
			func(p player) { p.main().fails(troupe.FaultBad) },
			Request, []string{"-message 1, user:"},
		},
		"an agent more": {
			func(p player) { p.agent("main/Other", "").fails(troupe.FaultBad, prompt) },
			Extra, []string{"there is no agent main/Other in the recording"},
		},
		"a call more": {
			func(p player) {
				scout := p.scout()
				scout.want("", user("look at /home/ada/porch/a.go", where))
				scout.want("it takes 3 s", result(1, 0, "package a"))
				scout.fails(troupe.FaultBad, user("go on"))
			},
			Extra, []string{"main/Scout made a 3rd call (for reply 3); the recording has 2"},
		},
		"a call less": {
			func(p player) { p.main().want("Let me see.", prompt) },
			Missing, []string{"main/Scout never made its 1st call (for reply 1); it made 0, and the recording has 2"},
		},
		"a tool that never ran": {
			func(p player) {
				if _, err := p.Serve(p.t.Context(), "main", 2, 0); !errors.Is(err, ErrNotRecorded) {
					p.t.Errorf("it is served with %v", err)
				}
			},
			Result, []string{"main ran call 2.0; the recording has no result for it"},
		},
		// The child's difference is found later and stands earlier in the recording.
		"two": {
			func(p player) {
				main, scout := p.main(), p.scout()
				main.want("Let me see.", prompt)
				main.fails(troupe.FaultBad, result(1, 0, "failed"))
				scout.fails(troupe.FaultBad, user("look elsewhere", where))
			},
			Request, []string{"main/Scout sent something else"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := play(t, sample(), Place{})
			c.run(p)
			p.mismatch(c.kind, c.say...)
			if name == "a call less" {
				return
			}
			select {
			case <-p.Broken():
			default:
				t.Error("nobody was told that the runs differ")
			}
			if now, hold := p.Order(troupe.Session{ID: rootID, Status: troupe.Running, Run: 1}, 1, []troupe.Mail{{ID: "x"}}); hold || len(now) != 1 {
				t.Error("mail is still held back, or waited for")
			}
		})
	}
}

// TestOrder: a session reads what it read, in that order, when it read it.
func TestOrder(t *testing.T) {
	t.Parallel()
	r := sample()
	main2 := r.Lines[7].Call
	main2.Mail = []troupe.MailID{"b", "a"}
	r.Lines = append(r.Lines, Line{Call: &Call{
		Agent: "main", Run: 2, Reply: 3, Model: "anthropic/m", Mail: []troupe.MailID{"c"},
		Messages: []troupe.Message{{Role: troupe.Assistant, Blocks: []troupe.Block{troupe.Text("Done.")}}, user("c")},
		Said:     &Said{Blocks: []troupe.Block{troupe.Text("Again.")}},
	}})
	p := play(t, r, Place{})
	mail := func(ids ...troupe.MailID) []troupe.Mail {
		var out []troupe.Mail
		for _, id := range ids {
			out = append(out, troupe.Mail{ID: id, Kind: troupe.MailPrompt})
		}
		return out
	}
	at := func(status troupe.Status, run, reply int, unread []troupe.Mail, want string, wantHold bool) {
		t.Helper()
		now, hold := p.Order(troupe.Session{ID: rootID, Status: status, Run: run}, reply, unread)
		var got []string
		for _, m := range now {
			got = append(got, string(m.ID))
		}
		if strings.Join(got, " ") != want || hold != wantHold {
			t.Errorf("run %d, reply %d: of %d it reads %q, hold %v; want %q, %v", run, reply, len(unread), got, hold, want, wantHold)
		}
	}
	at(troupe.Running, 1, 1, mail("a", "x"), "", false) // a is for later, x for nobody
	main := p.main()
	main.want("Let me see.", user("fix it", where))
	at(troupe.Running, 1, 2, nil, "", true)                                                                       // b has not come yet
	at(troupe.Running, 1, 2, mail("a", "end:ab0123456789:1", "x", "c"), "end:ab0123456789:1 a", true)             // the end of the child is a call's result
	at(troupe.Running, 1, 2, append(mail("b", "a"), troupe.Mail{ID: "s", Kind: troupe.MailStop}), "s b a", false) // a stop is never held
	at(troupe.Running, 1, 2, mail("x"), "", false)                                                                // both were delivered
	main.fails(troupe.FaultRetry, result(1, 0, ended))
	main.want("Done.")
	at(troupe.Running, 1, 3, mail("c"), "", false) // that is for the next run: this one ends first
	at(troupe.Completed, 1, 3, mail("c"), "c", false)
	at(troupe.Running, 2, 3, nil, "", false) // it was seen, and is gone: delivered
	main.want("Again.", user("c"))
	at(troupe.Running, 2, 4, mail("y"), "y", false) // no call follows
	if _, hold := p.Order(troupe.Session{ID: "stranger"}, 1, nil); hold {
		t.Error("a stranger is held")
	}
}

// TestTold: what was asked, moved and read then is told by the call.
func TestTold(t *testing.T) {
	t.Parallel()
	r := sample()
	tool := r.Lines[4].Tool
	tool.Moved, tool.Mail, tool.Answer = true, "end:x:1", &troupe.Answer{By: "ada", Effect: troupe.Deny}
	p := play(t, r, Place{})
	at := troupe.Coord{Reply: 1}
	mail, ok := p.Reads(childID, at)
	ans, asked := p.Answer(childID, at)
	if mail != "end:x:1" || !ok || !asked || ans.By != "ada" || !p.Moved(childID, at) {
		t.Errorf("it read %q (%v), was answered %+v, was moved: %v", mail, ok, ans, p.Moved(childID, at))
	}
	if mail, ok = p.Reads(rootID, at); mail != "end:ab0123456789:1" || !ok || p.Moved(rootID, at) {
		t.Errorf("main read %q, %v", mail, ok)
	}
	if _, ok = p.Reads(rootID, troupe.Coord{Reply: 9}); ok {
		t.Error("something is known of a call that was not recorded")
	}
	if _, ok = p.Answer(rootID, at); ok {
		t.Error("nobody was asked about it")
	}
}

// TestDenied: what the gate refused then and would allow now is a difference by itself, for
// the model would be shown a result that nobody has.
func TestDenied(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Lines[4].Tool.Denied = true
	p := play(t, r, Place{})
	if _, err := p.Serve(t.Context(), "main/Scout", 1, 0); !errors.Is(err, ErrNotRecorded) {
		t.Errorf("it is served with %v", err)
	}
	p.mismatch(Result, "main/Scout was denied its call 1.0 of Read then", "would be allowed now")
}

// TestStopped: a run that a person stopped is over where it was stopped, and the call that
// was under way waits for whoever replays to stop it.
func TestStopped(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(*Recording){
		"in a call": func(r *Recording) {
			r.Lines = r.Lines[:8]
			r.Lines[7].Call.Failed.Fault = troupe.FaultInterrupted
		},
		"between calls": func(r *Recording) { r.Lines = r.Lines[:7] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sample()
			cut(&r)
			r.Lines[0].Agent.Status = troupe.Cancelled
			p := play(t, r, Place{})
			main, scout := p.main(), p.scout()
			main.want("Let me see.", user("fix it", where))
			scout.want("", user("look at /home/ada/porch/a.go", where))
			scout.want("it takes 3 s", result(1, 0, "package a"))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			done := make(chan error, 1)
			go func() {
				_, err := main.say(ctx, result(1, 0, ended))
				done <- err
			}()
			<-p.Over()
			stop()
			var e *model.Error
			if err := <-done; !errors.As(err, &e) || e.Fault != troupe.FaultInterrupted {
				t.Errorf("it ends with %v", err)
			}
			p.same(r.Calls())
		})
	}
}

// TestStopByAgent: an agent that another one stopped is stopped again, however far it would
// have come by then; one that a person stopped cannot be waited for.
func TestStopByAgent(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Lines[2].Agent.Status = troupe.Cancelled
	r.Lines[3].Call.Stopped = true
	r.Lines = append(r.Lines[:5], r.Lines[6:]...)
	byAgent := play(t, r, Place{})
	scout := byAgent.scout()
	scout.want("", user("look at /home/ada/porch/a.go", where))
	session := troupe.Session{ID: childID, Status: troupe.Running, Run: 1}
	if _, hold := byAgent.Order(session, 2, nil); !hold {
		t.Error("it is not held for the stop")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var e *model.Error
	if _, err := scout.say(ctx, result(1, 0, "package a")); !errors.As(err, &e) || e.Fault != troupe.FaultInterrupted {
		t.Errorf("it ends with %v", err)
	}
	if m := byAgent.Verdict().Mismatch; m == nil || m.Kind != Missing {
		t.Errorf("only main's calls are missing, not %v", m)
	}
	r.Lines[3].Call.Stopped = false
	byPerson := play(t, r, Place{})
	scout = byPerson.scout()
	scout.want("", user("look at /home/ada/porch/a.go", where))
	if _, hold := byPerson.Order(session, 2, nil); hold {
		t.Error("it is held for a person")
	}
	scout.fails(troupe.FaultBad, result(1, 0, "package a"))
	byPerson.mismatch(Extra, "made a 2nd call", "was broken off there")
}

// TestStoppedAndWoken: a run that was stopped waits for the stop also if another one followed.
func TestStoppedAndWoken(t *testing.T) {
	t.Parallel()
	r := sample()
	first := r.Lines[3].Call
	first.Stopped, first.Said, first.Failed = true, nil, &Failed{Fault: troupe.FaultInterrupted}
	second := *r.Lines[5].Call
	second.Run, second.Reply, second.Mail, second.Messages = 2, 1, []troupe.MailID{"go on"}, []troupe.Message{user("go on")}
	r.Lines = append(r.Lines[:4], Line{Call: &second})
	p := play(t, r, Place{})
	scout := p.scout()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := scout.say(ctx, user("look at /home/ada/porch/a.go", where))
		done <- err
	}()
	select {
	case err := <-done:
		t.Errorf("it did not wait for the stop: %v", err)
	default:
	}
	stop()
	if err := <-done; err == nil {
		t.Error("it was not interrupted")
	}
	unread := []troupe.Mail{{ID: "go on", Kind: troupe.MailPrompt}}
	if now, hold := p.Order(troupe.Session{ID: childID, Status: troupe.Running, Run: 1}, 1, unread); len(now) > 0 || !hold {
		t.Errorf("the run that was stopped reads %v, hold %v", now, hold)
	}
	if now, _ := p.Order(troupe.Session{ID: childID, Status: troupe.Cancelled, Run: 1}, 1, unread); len(now) != 1 {
		t.Error("the next run does not begin")
	}
	scout.want("it takes 3 s", user("go on"))
}

// TestBackground: a command in the background comes to what its agent was told later, and
// one that was killed waits for that.
func TestBackground(t *testing.T) {
	t.Parallel()
	r := sample()
	tool := r.Lines[4].Tool
	tool.Background, tool.End = true, &troupe.Outcome{Kind: troupe.TaskShell, Status: troupe.Failed, Result: "exit 1"}
	p := play(t, r, Place{})
	got, err := p.Serve(t.Context(), "main/Scout", 1, 0)
	if err != nil || troupe.JoinText(got.Blocks) != "exit 1" || !got.IsError {
		t.Errorf("it is served as %+v, %v", got, err)
	}
	tool.End.Status = troupe.Cancelled
	p = play(t, r, Place{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err = p.Serve(ctx, "main/Scout", 1, 0)
	}()
	select {
	case <-done:
		t.Error("it did not wait to be killed")
	default:
	}
	cancel()
	<-done
	if err != nil {
		t.Error(err)
	}
}

// TestCompaction: what a summary is asked for with is compared but for the request itself;
// behind the summary the conversation begins anew, in another generation.
func TestCompaction(t *testing.T) {
	t.Parallel()
	r := sample()
	said := func(text string) *Said {
		return &Said{Blocks: []troupe.Block{troupe.Text(text)}, Stop: troupe.StopEndTurn}
	}
	summary := user("Summary: all is well.", "<system-reminder>\nNow: 2026-03-01T09:00:00Z.\n</system-reminder>")
	pending := []troupe.Message{{Role: troupe.Assistant, Blocks: []troupe.Block{troupe.Text("Done.")}}, user("more")}
	r.Lines = append(r.Lines,
		Line{Call: &Call{Agent: "main", Reply: 3, Model: "anthropic/m", Compact: true, Messages: pending, Failed: &Failed{Fault: troupe.FaultBad}}},
		Line{Call: &Call{Agent: "main", Reply: 3, Model: "anthropic/m", Compact: true, Clip: true, Messages: pending, Said: said("all is well")}},
		Line{Call: &Call{Agent: "main", Reply: 3, Model: "anthropic/m", Generation: 2, Anew: true, Messages: []troupe.Message{summary}, Said: said("More.")}},
	)
	begin := func() (player, *agent) {
		p := play(t, r, Place{})
		main, scout := p.main(), p.scout()
		scout.want("", user("look at /home/ada/porch/a.go", where))
		scout.want("it takes 3 s", result(1, 0, "package a"))
		main.want("Let me see.", user("fix it", where))
		main.fails(troupe.FaultRetry, result(1, 0, ended))
		main.want("Done.")
		return p, main
	}
	p, main := begin()
	kept := main.messages
	main.fails(troupe.FaultBad, user("more", "Write a summary."))
	main.messages = nil
	main.want("all is well", user("in short", "Write a summary."))
	main.who.Reply--
	main.messages, main.generate = nil, 2
	main.want("More.", user("Summary: all is well.", "<system-reminder>\nNow: 2027-04-05T06:07:08Z.\n</system-reminder>"))
	p.same(8)

	p, main = begin()
	main.messages = kept
	main.fails(troupe.FaultBad, user("less", "Write a summary."))
	p.mismatch(Request, "-    more", "+    less")
}

// TestMap: no text of a recording is left out, whichever field it stands in.
func TestMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := generate(rt)
		r.Map(func(string) string { return "gone" })
		for _, l := range append([]Line{{}}, r.Lines...) {
			b, err := json.Marshal(struct {
				H Header
				L Line
			}{r.Header, l})
			if err != nil {
				rt.Fatal(err)
			}
			if strings.Contains(string(b), token) {
				rt.Fatalf("a text was left alone: %s", b)
			}
		}
	})
}

// token is in every generated text.
const token = "§"

func generate(rt *rapid.T) Recording {
	text := func(label string) string { return token + rapid.StringN(0, 12, -1).Draw(rt, label) }
	num := rapid.IntRange(0, 5)
	blocks := func(label string) []troupe.Block {
		var out []troupe.Block
		for range rapid.IntRange(1, 3).Draw(rt, label) {
			switch rapid.IntRange(0, 3).Draw(rt, "block") {
			case 0:
				out = append(out, troupe.Text(text("text")))
			case 1:
				out = append(out, callBlock(num.Draw(rt, "reply"), num.Draw(rt, "index"), text("tool"), text("input")))
			case 2:
				out = append(out, result(num.Draw(rt, "reply"), num.Draw(rt, "call"), text("result")).Blocks...)
			default:
				out = append(out, troupe.Block{Type: troupe.ThinkingBlock, Text: text("thinking"), Raw: text("raw"), Provider: text("provider")})
			}
		}
		return out
	}
	r := Recording{Header: Header{
		Format: Format, Version: Version, Root: rootID, Prompt: text("prompt"), Args: []string{text("arg")},
		Place: Place{Cwd: text("cwd"), Home: text("home")}, Settings: text("settings"), Models: []Model{{Name: text("name")}},
	}}
	r.Lines = append(r.Lines, Line{Agent: &Agent{Path: "main", Session: rootID, System: text("system"), Tools: []string{text("offered")}}})
	for i := range rapid.IntRange(0, 6).Draw(rt, "lines") {
		switch rapid.IntRange(0, 3).Draw(rt, "line") {
		case 0:
			r.Lines = append(r.Lines, Line{Call: &Call{
				Agent: "main", Reply: i + 1, Messages: []troupe.Message{{Role: troupe.User, Blocks: blocks("messages")}},
				Said: &Said{Blocks: blocks("said"), Usage: troupe.Usage{Input: int64(num.Draw(rt, "tokens"))}},
			}})
		case 1:
			r.Lines = append(r.Lines, Line{Call: &Call{Agent: "main", Reply: i + 1, Failed: &Failed{Message: text("message"), Partial: text("partial")}}})
		case 2:
			r.Lines = append(r.Lines, Line{Tool: &Tool{
				Agent: "main", Reply: i + 1, Name: text("tool"), Input: text("input"), Blocks: blocks("result"),
				Evidence: troupe.Evidence{Commands: []troupe.CommandRun{{Command: text("command"), Tests: &troupe.TestCount{Runner: text("runner")}}}},
				End:      &troupe.Outcome{Result: text("outcome"), Error: text("error")},
			}})
		default:
			r.Lines = append(r.Lines, Line{Mail: &Sent{Agent: "main", Mail: troupe.Mail{Blocks: blocks("mail"), Stop: &troupe.Stop{By: text("by")}}}})
		}
	}
	return r
}

func TestGenerated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		want := generate(rt)
		var b bytes.Buffer
		if err := want.Write(&b); err != nil {
			rt.Fatal(err)
		}
		got, err := Read("x", &b)
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			rt.Fatal(d)
		}
	})
}

func TestFolders(t *testing.T) {
	t.Parallel()
	then := Place{Cwd: "/home/ada/p", Home: "/home/ada", Config: "/home/ada/.config/troupe"}
	for _, c := range []struct {
		now      Place
		in, want string
	}{
		{Place{Cwd: "/ci/p", Home: "/ci"}, "/home/ada/p/x /home/ada/p. /home/ada/px /home/ada", "/ci/p/x /ci/p. /ci/px /ci"},
		{Place{Cwd: "/ci/p", Home: "/ci"}, "/home/adam /mnt/home/ada /home/ada.old a/home/ada file:///home/ada", "/home/adam /mnt/home/ada /home/ada.old a/home/ada file:///ci"},
		{Place{Cwd: "/home/ada/p/p"}, "/home/ada/p /home/ada/p/p /home/ada", "/home/ada/p/p /home/ada/p/p/p /home/ada"},
		{Place{Cwd: "/home/ada"}, "/home/ada/p", "/home/ada"},
		{then, "/home/ada/p", "/home/ada/p"},
	} {
		if got := today(then, c.now).in(c.in); got != c.want {
			t.Errorf("in %+v, %q becomes %q, want %q", c.now, c.in, got, c.want)
		}
	}
	same := alike(then, Place{Cwd: "/home/ada/p/p", Home: "/"})
	if a, b := same.in("/home/ada/p/x"), same.in("/home/ada/p/p/x"); a != b {
		t.Errorf("%q is not %q", a, b)
	}
}

// TestLongDifference: a difference far behind in a large text is found and shown, and no
// more than people read.
func TestLongDifference(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("all work and no play ", 20) + "\n"
	long := strings.Repeat(line, 2000)
	a := request{messages: []troupe.Message{user(long + "here\n" + long)}}
	b := request{messages: []troupe.Message{user(long + "there\n" + long)}}
	d, _ := differs(a, b)
	if !strings.Contains(d, "-    here\n") || !strings.Contains(d, "+    there\n") || strings.Count(d, "\n") > 20 {
		t.Errorf("the difference is\n%s", d)
	}
	b = request{messages: []troupe.Message{user(strings.Repeat("something else\n", 5000))}}
	if d, _ = differs(a, b); strings.Count(d, "\n") > mostLines+1 || !strings.Contains(d, "more lines") {
		t.Errorf("the difference has %d lines", strings.Count(d, "\n"))
	}
	// One word within a line that is longer than any screen.
	one := strings.Repeat("x ", 5000)
	a, b = request{messages: []troupe.Message{user(one + "here")}}, request{messages: []troupe.Message{user(one + "there")}}
	if d, _ = differs(a, b); !strings.Contains(d, "here") || len(d) > 4000 {
		t.Errorf("the difference is\n%s", d)
	}
	a.messages[0].Blocks[0].Provider = "other"
	if d, _ = differs(a, request{messages: []troupe.Message{user(one + "here")}}); d == "" {
		t.Error("a difference that cannot be shown is not told")
	}
}

// TestDocumented: the sample in the testdata is a whole recording, for people who write
// readers of their own; it changes only on purpose.
func TestDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/sample.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if got := written(t, sample()); got != string(text) {
		t.Errorf("the form has changed; it was\n%s\nand is\n%s", text, got)
	}
}
