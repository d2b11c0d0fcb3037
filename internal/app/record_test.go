package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/model/replay"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/wire"
)

const readsAndAsks = `
price: {input: 1, output: 1}
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: Read, input: {file_path: a.txt}}
      - {tool: Write, input: {file_path: b.txt, content: x}}
      - {tool: Agent, input: {description: look, prompt: look, subagent_type: Explore}}
  - agent: Explore
    text: the word is hidden-word-1, or {"a":"so\"called-2"}
  - agent: main
    turn: 2
    attempt: 1
    text: all
    error: bad_request
`

// TestRecord exports a run from its log: every call and result once, in order, masked by
// what is secret now.
func TestRecord(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"s.yaml": readsAndAsks, "a.txt": "hello"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "settings.json"),
		[]byte(`{"permissions": {"deny": ["Bash(rm:*)"]}, "agents": {"max_total": 7}, "providers": {"own": {"base_url": "http://ada:pw@example.com/v1"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	a := openHome(t, home)
	r, err := you(a).Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml",
		Permissions: wire.Permissions{Deny: []string{"WebFetch"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := you(a).Wait(t.Context(), r.Root); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := Open(t.Context(), Env{
		Lookup: func(name string) (string, bool) { return home, name == "TROUPE_HOME" }, Now: time.Now,
		Log: slog.New(slog.DiscardHandler), Version: "test",
		Environ: []string{"A_TOKEN=hidden-word-1", `B_TOKEN=so"called-2`},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	rec, err := b.Record(t.Context(), r.Root, []string{"-p", "hidden-word-1"})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, l := range rec.Lines {
		switch {
		case l.Agent != nil:
			said = append(said, "agent "+l.Agent.Path+" "+string(l.Agent.Status))
		case l.Call != nil:
			what := "fails"
			if l.Call.Said != nil {
				what = "says"
			}
			said = append(said, "call "+l.Call.Agent+" "+what)
		case l.Tool != nil:
			said = append(said, "tool "+l.Tool.Agent+" "+l.Tool.Name)
			if l.Tool.Denied != (l.Tool.Name == "Write") || l.Tool.Birth != (l.Tool.Name == "Agent") ||
				l.Tool.Input == "" {
				t.Errorf("the call of %s is kept as %+v", l.Tool.Name, l.Tool)
			}
		}
	}
	want := []string{
		"agent main failed", "call main says", "tool main Read", "tool main Write", "agent main/Look completed",
		"call main/Look says",
		"tool main Agent", "call main fails",
	}
	if d := cmp.Diff(want, said); d != "" {
		t.Error(d)
	}
	h := rec.Header
	if h.Root != r.Root || h.Prompt != "go" || len(h.Models) != 1 || !h.Models[0].Info.Priced ||
		strings.Contains(h.Settings, "example") {
		t.Errorf("the head is %+v", h)
	}
	file := filepath.Join(t.TempDir(), "r.jsonl")
	if err := SaveRecording(file, rec, false); err != nil {
		t.Fatal(err)
	}
	again, err := LoadRecording(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(rec, again); d != "" {
		t.Error(d)
	}
	checkFile(t, file)
	checkHome(t, rec)
}

func checkFile(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); strings.Contains(s, "hidden-word-1") || strings.Contains(s, "called-2") ||
		!strings.Contains(s, maskMark+"A_TOKEN›") || !strings.Contains(s, maskMark+"B_TOKEN›") {
		t.Errorf("secrets are not masked in %s", s)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v: %v", info.Mode(), err)
	}
	if all, err := os.ReadDir(filepath.Dir(file)); err != nil || len(all) != 1 {
		t.Errorf("there are %d files beside it: %v", len(all)-1, err)
	}
}

// checkHome: the home of a replay has the settings of the one that was recorded, but for
// where its models were.
func checkHome(t *testing.T, rec Recording) {
	t.Helper()
	dir := t.TempDir()
	rec.Header.Catalog = "providers: {}\n"
	variables, err := ReplayHome(dir, rec)
	if err != nil {
		t.Fatal(err)
	}
	if variables["TROUPE_HOME"] != dir || !strings.HasPrefix(variables["TROUPE_MODEL"], scriptPrefix+"/") {
		t.Errorf("the variables of a replay are %v", variables)
	}
	text, err := os.ReadFile(filepath.Join(dir, "settings.json"))
	if err != nil {
		t.Fatal(err)
	}
	s, warnings, err := config.Parse("settings.json", text)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("the settings of a replay: %v, %v", warnings, err)
	}
	if !reflect.DeepEqual(s.Permissions.Deny, []string{"Bash(rm:*)"}) || s.Agents.MaxTotal != 7 ||
		len(s.Providers) > 0 {
		t.Errorf("the settings of a replay are %+v", s)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "models.yaml")); err != nil || string(text) != rec.Header.Catalog {
		t.Errorf("its catalog is %q: %v", text, err)
	}
	if modelFlag("anthropic/x") != "anthropic/x" {
		t.Error("a model is not asked for by its name")
	}
}

// TestRecordRunning: a tree that somebody is at work on has no end to record.
func TestRecordRunning(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("replies: [{delay: 1h, text: late}]"),
		0o600); err != nil {
		t.Fatal(err)
	}
	a := openHome(t, home)
	r, err := you(a).Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Record(t.Context(), r.Root, nil); err == nil ||
		!strings.Contains(err.Error(), "is being run by process") {
		t.Errorf("it is recorded with %v", err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	// Left behind, it can be: the call that nobody finished was interrupted.
	b := openHome(t, home)
	rec, err := b.Record(t.Context(), r.Root, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(rec.Lines); rec.Lines[0].Agent.Status.Ended() ||
		n == 2 && rec.Lines[1].Call.Failed.Fault != troupe.FaultInterrupted {
		t.Errorf("%d lines were recorded: %+v", n, rec.Lines[0].Agent)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRecorder records what the engine does not do in a short run: an attempt that failed,
// what a person sends, a command in the background, an answer, a summary, a stop.
func TestRecorder(t *testing.T) {
	t.Parallel()
	s := newRecorder(troupe.Session{ID: "s", Status: troupe.Completed}, "main")
	call := func(i int) troupe.Block {
		return troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 1, Index: i, Name: "Bash", Input: "{}"}}
	}
	stop := &troupe.Stop{Run: 1, Now: true}
	for i, b := range []troupe.Body{
		troupe.Created{Profile: troupe.Profile{Type: "main"}},
		troupe.MailDelivered{Mail: []troupe.Mail{{ID: troupe.PromptMailID("s"), Kind: troupe.MailPrompt,
			Blocks: []troupe.Block{troupe.Text("go")}}}},
		troupe.Started{Run: 1},
		troupe.CallSealed{Reply: 1, Generation: 1, Refs: []int64{2}},
		troupe.ModelFailed{Reply: 1, Fault: troupe.FaultRetry, Message: "busy"},
		troupe.CallSealed{Reply: 1, Generation: 1},
		troupe.Replied{Reply: 1, Blocks: []troupe.Block{call(0), call(1)}},
		troupe.ToolFinished{Name: "Bash", Result: troupe.Result{Reply: 1, Call: 0},
			Task: &troupe.Task{ID: "b1.0", Kind: troupe.TaskShell, Coord: troupe.Coord{Reply: 1}}},
		troupe.RequestOpened{Reply: 1, Call: 1, RequestBody: troupe.RequestBody{Reason: troupe.WaitApproval}},
		troupe.RequestAnswered{Reply: 1, Call: 1, By: "somebody", Effect: troupe.Allow},
		troupe.AuthorityChanged{Mail: "grant"},
		troupe.ToolFinished{Name: "Bash", Result: troupe.Result{Reply: 1, Call: 1}},
		troupe.MailDelivered{Mail: []troupe.Mail{
			{ID: "end:s:b1.0", Kind: troupe.MailTaskEnded, From: "s",
				Ended: &troupe.Outcome{Kind: troupe.TaskShell, Task: "b1.0", Status: troupe.Completed,
					Coord: troupe.Coord{Reply: 1}, Result: "built"}},
			{ID: "p2", Kind: troupe.MailPrompt, Blocks: []troupe.Block{troupe.Text("hurry")}},
			{ID: "nudge", Kind: troupe.MailNotice, From: "s", Blocks: []troupe.Block{troupe.Text("go on")}},
		}},
		troupe.CallSealed{Reply: 2, Generation: 2, Compact: true},
		troupe.Compacted{Generation: 2, Covers: 14, Blocks: []troupe.Block{troupe.Text("<conversation-summary>\nso " +
			"far\n</conversation-summary>"), troupe.Text("now")}},
		troupe.CallSealed{Reply: 2, Generation: 2, Refs: []int64{15}},
		troupe.ModelFailed{Reply: 2, Fault: troupe.FaultInterrupted},
		troupe.MailDelivered{Mail: []troupe.Mail{{ID: "stop", Kind: troupe.MailStop, From: "p", Stop: stop}}},
		troupe.Ended{Outcome: troupe.Outcome{Run: 1, Status: troupe.Cancelled}},
		troupe.Started{Run: 2},
		troupe.CallSealed{Reply: 2, Generation: 2},
	} {
		if err := s.note(troupe.Event{Session: "s", Seq: int64(i + 1), At: time.Unix(int64(i), 0),
			Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	s.close()
	var calls []*replay.Call
	var tools []*replay.Tool
	var mail []string
	for _, l := range inOrder([]*recorder{s}) {
		switch {
		case l.Call != nil:
			calls = append(calls, l.Call)
		case l.Tool != nil:
			tools = append(tools, l.Tool)
		case l.Mail != nil:
			mail = append(mail, string(l.Mail.Mail.ID))
		}
	}
	if s.prompt != "go" || len(calls) != 5 || len(tools) != 2 || strings.Join(mail, " ") != "grant p2" {
		t.Fatalf("%d calls, %d tools, mail %v, prompt %q", len(calls), len(tools), mail, s.prompt)
	}
	if calls[0].Failed == nil || calls[0].Attempt != 1 || len(calls[0].Mail) != 0 || calls[1].Said == nil ||
		calls[1].Attempt != 2 || len(calls[1].Messages) != 0 {
		t.Errorf("the attempts are %+v and %+v", calls[0], calls[1])
	}
	if c := calls[2]; !c.Compact || c.Clip || c.Said == nil || c.Said.Blocks[0].Text != "so far" ||
		!reflect.DeepEqual(c.Mail, []troupe.MailID{"end:s:b1.0", "p2"}) || len(c.Messages) != 2 {
		t.Errorf("the summary is %+v", c)
	}
	if c := calls[3]; !c.Anew || c.Generation != 2 || !c.Stopped || c.Run != 1 || len(c.Messages) != 1 ||
		len(c.Messages[0].Blocks) != 2 {
		t.Errorf("the call behind it is %+v", c)
	}
	if c := calls[4]; c.Run != 2 || c.Stopped || c.Anew || c.Failed == nil ||
		c.Failed.Fault != troupe.FaultInterrupted {
		t.Errorf("the last call is %+v", c)
	}
	if x := tools[0]; !x.Background || x.Moved || x.End == nil || x.End.Result != "built" || tools[1].Background ||
		tools[1].Answer == nil {
		t.Errorf("the commands are %+v and %+v", x, tools[1])
	}
}

// TestMoved: a child that was moved to the background is told from one that was started there.
func TestMoved(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]bool{
		`{"description":"d","prompt":"p"}`:                           true,
		`{"description":"d","prompt":"p","run_in_background":false}`: true,
		`{"description":"d","prompt":"p","run_in_background":true}`:  false,
	} {
		s := newRecorder(troupe.Session{ID: "s"}, "main")
		at := troupe.Coord{Reply: 1}
		s.asked[at] = troupe.Call{Reply: 1, Name: "Agent", Input: input}
		s.finished(troupe.Event{}, troupe.ToolFinished{
			Name: "Agent", Result: troupe.Result{Reply: 1}, Task: &troupe.Task{ID: "c", Kind: troupe.TaskAgent,
				Coord: at},
		})
		if s.tools[at].Moved != want {
			t.Errorf("%s was moved: %v", input, !want)
		}
	}
}

// TestInOrder: the clock orders agents among each other, and never the lines of one.
func TestInOrder(t *testing.T) {
	t.Parallel()
	line := func(name string) replay.Line { return replay.Line{Agent: &replay.Agent{Path: name}} }
	a := &recorder{lines: []stamped{{1, line("a1")}, {5, line("a5")}, {2, line("a2")}}}
	b := &recorder{lines: []stamped{{1, line("b1")}, {3, line("b3")}}}
	var got []string
	for _, l := range inOrder([]*recorder{a, b}) {
		got = append(got, l.Agent.Path)
	}
	if want := "a1 b1 b3 a5 a2"; strings.Join(got, " ") != want {
		t.Errorf("the order is %v, want %s", got, want)
	}
}

// TestReplayTools: a tool of a replay is prepared as ever and does nothing.
func TestReplayTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rec := Recording{
		Header: replay.Header{Root: "0123456789ab", Place: replay.Place{Cwd: "/then"}},
		Lines: []replay.Line{
			{Agent: &replay.Agent{Path: "main", Session: "0123456789ab", Status: troupe.Completed}},
			{Tool: &replay.Tool{Agent: "main", Reply: 2, Call: 1, Name: "Write",
				Blocks:   []troupe.Block{troupe.Text("wrote /then/x")},
				Evidence: troupe.Evidence{Files: []troupe.FileTouch{{Path: "/then/x"}}}}},
		},
	}
	tools := replayTools(testTools(t).Set, replay.New(rec, replay.Place{Cwd: dir}, nil))
	if _, ok := tools.Find("Nothing"); ok {
		t.Error("there is a tool that there is not")
	}
	w, ok := tools.Find("Write")
	if !ok || w.Spec().Name != "Write" {
		t.Fatal("there is no Write")
	}
	env := tool.Env{Cwd: dir, OutputDir: filepath.Join(t.TempDir(), "0123456789ab"), CallID: "r2c1"}
	if _, err := w.Prepare(env, `{"bad`); err == nil {
		t.Error("a broken input is prepared")
	}
	input, err := json.Marshal(map[string]string{"file_path": filepath.Join(dir, "x"), "content": "new"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Prepare(env, string(input))
	if err != nil {
		t.Fatal(err)
	}
	if a := p.Access(); a.Class != troupe.ClassEdit || len(a.Writes) != 1 {
		t.Errorf("it would do %+v", a)
	}
	out, err := p.Run(t.Context(), env)
	if err != nil || troupe.JoinText(out.Blocks) != "wrote "+dir+"/x" || out.Evidence.Files[0].Path != dir+"/x" {
		t.Errorf("it comes to %+v, %v", out, err)
	}
	env.CallID = "r2c2"
	if out, err = p.Run(t.Context(), env); err != nil || !out.IsError {
		t.Errorf("a call that was not recorded comes to %+v, %v", out, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("it wrote the file")
	}
	if b, ok := p.(tool.Backgrounder); !ok {
		t.Error("it cannot be asked for the background")
	} else if _, on := b.Background(); on {
		t.Error("it goes to the background by itself")
	}
	if _, err := newRoot(nil, "", strings.NewReader("12345678")); err != nil {
		t.Error(err)
	}
}

// TestPlayable: what goes on with an old session is not a run from its beginning.
func TestPlayable(t *testing.T) {
	t.Parallel()
	a := openHome(t, t.TempDir())
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	a.models.player = replay.New(Recording{}, replay.Place{}, nil)
	for _, b := range []wire.Begin{{Resume: "x"}, {Continue: true}} {
		b.Cwd = t.TempDir()
		if _, err := you(a).Begin(t.Context(), b); !errors.Is(err, errNotPlayable) {
			t.Errorf("%+v: %v", b, err)
		}
	}
}

// impatient is a scheduler for which any time has passed at once.
type impatient struct{ *session.Pool }

func (impatient) After(_ time.Duration, fn func()) func() {
	fn()
	return func() {}
}

// TestStopReplay: a replay is stopped where the recorded run was, and some time after it differs,
// and nobody waits for either for longer than the scheduler lives.
func TestStopReplay(t *testing.T) {
	t.Parallel()
	rec := func(s troupe.Status) Recording {
		return Recording{Header: replay.Header{Root: "r"}, Lines: []replay.Line{{Agent: &replay.Agent{Path: "main",
			Session: "r", Status: s}}}}
	}
	pool := session.NewPool(t.Context())
	stopped := make(chan *Player, 4)
	watch := func(sched session.Scheduler, s troupe.Status) *Player {
		p := replay.New(rec(s), replay.Place{}, nil)
		stopReplay(sched, p, func(context.Context) error { stopped <- p; return errors.New("no") },
			slog.New(slog.DiscardHandler))
		return p
	}
	differ := func(p *Player) {
		if _, err := p.Serve(t.Context(), "main", 1, 0); err == nil {
			t.Error("a call is served that was not recorded")
		}
	}
	if off := watch(pool, troupe.Cancelled); <-stopped != off {
		t.Error("another run than the one that was broken off was stopped")
	}
	other := watch(impatient{pool}, troupe.Completed)
	watch(pool, troupe.Completed)
	differ(watch(pool, troupe.Completed)) // its grace is not over before the pool closes
	differ(other)
	if <-stopped != other {
		t.Error("another run than the one that differs was stopped")
	}
	pool.Close()
	if len(stopped) > 0 {
		t.Error("a run was stopped that should not be")
	}
}

// TestPersonRefused: what a person did to a run at work cannot be done again.
func TestPersonRefused(t *testing.T) {
	t.Parallel()
	a := openHome(t, t.TempDir())
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	const root = troupe.SessionID("0123456789ab")
	born := replay.Line{Agent: &replay.Agent{Path: "main", Session: root, Status: troupe.Completed}}
	to := func(path string, kind troupe.MailKind) replay.Line {
		return replay.Line{Mail: &replay.Sent{Agent: path, Mail: troupe.Mail{Kind: kind}}}
	}
	call := replay.Line{Call: &replay.Call{Agent: "main"}}
	for want, lines := range map[string][]replay.Line{
		"words for main/Keeper":      {to("main/Keeper", troupe.MailPrompt)},
		"what it may do (2 times)":   {to("main", troupe.MailGrant), to("main", troupe.MailGrant)},
		"another model":              {to("main", troupe.MailModel)},
		"shorten the conversation":   {to("main", troupe.MailCompact)},
		"a stop for main, which":     {to("main", troupe.MailStop), call},
		"a stop for main/Keeper, wh": {to("main/Keeper", troupe.MailStop)},
		"": {to("main", troupe.MailPrompt), call, to("main", troupe.MailNotice), call,
			to("main", troupe.MailStop)},
	} {
		_, err := a.Player(Recording{Header: replay.Header{Root: root}, Lines: append([]replay.Line{born}, lines...)},
			t.TempDir())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: it is played with %v", want, err)
		}
	}
	if _, err := a.Player(Recording{}, "/no/such/folder"); err == nil {
		t.Error("it is played nowhere")
	}
}

// testTools are the tools of a process whose commands nothing confines.
func testTools(t *testing.T) *toolbox {
	t.Helper()
	a := newApp(Env{Lookup: func(string) (string, bool) { return "", false }})
	g := a.newGuard(t.Context())
	tools, err := a.newToolbox(g, merger{a, g})
	if err != nil {
		t.Fatal(err)
	}
	return tools
}
