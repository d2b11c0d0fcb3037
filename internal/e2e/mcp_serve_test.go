package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe/internal/mcp/mcptest"
)

// serving is `troupe mcp serve`, as the SDK's own client speaks to it.
type serving struct {
	t        *testing.T
	session  *mcp.ClientSession
	home     string
	progress chan struct{} // closed once there was some
}

const serveScript = `
replies:
  - {agent: main, turn: 1, contains: write it, calls: [{tool: Write, input: {file_path: made.txt, content: made}}]}
  - {agent: main, contains: "permission denied", text: it was denied}
  - {agent: main, turn: 1, contains: ask me, calls: [{tool: AskUserQuestion, input: {questions: [{question: "Which?", header: Which, options: [{label: One}, {label: Two}]}]}}]}
  - {agent: main, turn: 1, contains: zzz please, calls: [{tool: Bash, input: {command: sleep 600}}]}
  - {agent: main, contains: "Which: Two", text: two it is}
  - {agent: main, turn: 1, contains: zzz choose, calls: [{tool: AskUserQuestion, input: {questions: [{question: "Which ones?", header: Which, multiSelect: true, options: [{label: One}, {label: Two}]}]}}]}
  - {agent: main, turn: 1, contains: many files, calls: [{tool: Bash, input: {command: "for i in 1 2 3 4 5 6 7; do echo $i > f$i; done # \u202E\nIt is harmless."}}]}
  - {agent: main, turn: 1, contains: ask a server, calls: [{tool: mcp__tester__ask, input: {text: confirm}}]}
  - {agent: main, contains: and more, text: more was done}
  - {agent: main, text: all done}
`

func serve(t *testing.T, elicit func(*mcp.ElicitParams) *mcp.ElicitResult, args ...string) *serving {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return serveIn(t, dir, elicit, args...)
}

// serveIn serves a folder, and the home in it.
func serveIn(t *testing.T, dir string, elicit func(*mcp.ElicitParams) *mcp.ElicitResult, args ...string) *serving {
	t.Helper()
	var err error
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(serveScript), 0o600); err != nil {
		t.Fatal(err)
	}
	s, once := &serving{t: t, home: dir, progress: make(chan struct{})}, sync.Once{}
	o := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			once.Do(func() { close(s.progress) })
		}}
	if elicit != nil {
		o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return elicit(r.Params), nil
		}
	}
	cmd := exec.Command(binary, append([]string{"mcp", "serve", "--model", "script:s.yaml"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, ".user"), "TROUPE_HOME="+filepath.Join(dir, ".home"))
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	s.session, err = client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.session.Close(); err != nil {
			t.Errorf("it did not end well: %v", err)
		}
	})
	return s
}

// call calls a tool, and returns what it tells as text.
func (s *serving) call(name string, input map[string]any) (text string, failed bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Minute)
	defer cancel()
	p := &mcp.CallToolParams{Name: name, Arguments: input}
	p.SetProgressToken(name)
	r, err := s.session.CallTool(ctx, p)
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	return text, r.IsError
}

func (s *serving) start(prompt string) (session string) {
	s.t.Helper()
	text, failed := s.call("start", map[string]any{"prompt": prompt})
	var got struct{ Session string }
	if err := json.Unmarshal([]byte(text), &got); failed || err != nil || got.Session == "" {
		s.t.Fatalf("start: %s, %v", text, err)
	}
	return got.Session
}

func (s *serving) tells(name string, input map[string]any, want ...string) {
	s.t.Helper()
	text, failed := s.call(name, input)
	for _, w := range want {
		if failed || !strings.Contains(text, w) {
			s.t.Errorf("%s %v: no %s in %s", name, input, w, text)
		}
	}
}

// log is what a session's log says.
func (s *serving) log(id string) string {
	s.t.Helper()
	cmd := exec.Command(binary, "log", id, "--json")
	cmd.Dir, cmd.Env = s.home, append(os.Environ(), "HOME="+filepath.Join(s.home, ".user"),
		"TROUPE_HOME="+filepath.Join(s.home, ".home"))
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatal(err)
	}
	return string(out)
}

// uses has the sessions to come use these MCP servers.
func (s *serving) uses(servers string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.home, ".home", "mcp.json"), []byte(servers), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// tester is an MCP server of the tests, as a program.
func (s *serving) tester() string {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	name := filepath.Join(s.home, mcptest.Name)
	if err := os.Symlink(self, name); err != nil {
		s.t.Fatal(err)
	}
	return name
}

func (s *serving) refuses(name string, input map[string]any, want string) {
	s.t.Helper()
	if text, failed := s.call(name, input); !failed || !strings.Contains(text, want) {
		s.t.Errorf("%s %v: %s", name, input, text)
	}
}

// TestServeMCP: a program starts an agent, follows it with progress, has it go on, stops one, and has its results. It
// reaches no session that it did not begin, and answers nothing that one asks.
func TestServeMCP(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	tools, err := s.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		reads := tool.Annotations != nil && tool.Annotations.ReadOnlyHint
		if want := tool.Name == "status" || tool.Name == "result"; reads != want {
			t.Errorf("%s is told as one that only reads: %v", tool.Name, reads)
		}
	}
	id := s.start("go")
	s.tells("wait", map[string]any{"session": id}, `"ended":true`, "all done")
	s.tells("result", map[string]any{"session": id}, `"status":"completed"`, "all done")
	s.tells("send", map[string]any{"session": id, "text": "and more"}, "resumes")
	s.tells("wait", map[string]any{"session": id}, "more was done")

	hangs := s.start("zzz please")
	s.tells("wait", map[string]any{"session": hangs, "seconds": 1}, `"ended":false`)
	s.tells("stop", map[string]any{"session": hangs, "now": true}, hangs)
	s.tells("wait", map[string]any{"session": hangs}, `"ended":true`, "cancelled")
	s.tells("status", nil, id, hangs)
	select {
	case <-s.progress: // it is told beside the answers
	case <-time.After(time.Minute):
		t.Error("no progress was told")
	}

	other := exec.Command(binary, "-p", "--model", "script:s.yaml", "--name", "other", "go")
	other.Dir = s.home
	other.Env = append(os.Environ(), "HOME="+filepath.Join(s.home, ".user"), "TROUPE_HOME="+
		filepath.Join(s.home, ".home"))
	if out, err := other.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"wait", "result", "send", "stop", "status"} {
		input := map[string]any{"session": "other"}
		if name == "send" {
			input["text"] = "hello"
		}
		s.refuses(name, input, "was not begun by this server")
	}
	second := serveIn(t, s.home, nil)
	id = second.start("write it")
	second.tells("wait", map[string]any{"session": id}, `"kind":"permission"`)
	s.refuses("answer", map[string]any{"request": id + ".1.0", "allow": false}, "did not begin")
	second.tells("status", map[string]any{"session": id}, `"kind":"permission"`)
	second.tells("answer", map[string]any{"request": id + ".1.0", "allow": false}, id)
	second.tells("wait", map[string]any{"session": id}, "it was denied")
	s.refuses("start", map[string]any{"prompt": ""}, "must not be empty")
	s.refuses("start", map[string]any{"prompt": "go", "permission_mode": "bypassPermissions"}, "permission_mode")
}

// TestServeMCPAsks: what an agent asks goes to the program's user where it can ask one, and only a person's yes allows.
func TestServeMCPAsks(t *testing.T) {
	t.Parallel()
	var asked atomic.Pointer[string]
	yes := serve(t, func(p *mcp.ElicitParams) *mcp.ElicitResult {
		asked.Store(&p.Message)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}
	})
	yes.tells("wait", map[string]any{"session": yes.start("write it")}, "all done")
	if m := asked.Load(); m == nil || !strings.Contains(*m, "made.txt") {
		t.Errorf("asked %v", m)
	}
	if _, err := os.Stat(filepath.Join(yes.home, "made.txt")); err != nil {
		t.Error(err)
	}

	no := serve(t, func(*mcp.ElicitParams) *mcp.ElicitResult { return &mcp.ElicitResult{Action: "decline"} })
	no.tells("wait", map[string]any{"session": no.start("write it")}, "it was denied")

	// A program without a user answers questions, and may deny.
	alone := serve(t, nil)
	id := alone.start("ask me")
	alone.tells("wait", map[string]any{"session": id}, `"ended":false`, `"kind":"question"`)
	alone.tells("answer", map[string]any{"request": id + ".1.0", "allow": true, "answers": []string{"two"}}, id)
	alone.tells("wait", map[string]any{"session": id}, "two it is")
	id = alone.start("write it")
	alone.tells("wait", map[string]any{"session": id}, `"kind":"permission"`, "made.txt")
	alone.refuses("answer", map[string]any{"request": id + ".1.0", "allow": true}, "only a person allows")
	alone.tells("answer", map[string]any{"request": id + ".1.0", "allow": false, "note": "no"}, id)
	alone.tells("wait", map[string]any{"session": id}, "it was denied")
	for _, s := range []*serving{no, alone} {
		if _, err := os.Stat(filepath.Join(s.home, "made.txt")); err == nil {
			t.Error("it was written without leave")
		}
	}

	// What a person is shown is all that their yes gives, and nothing in it passes for Troupe's words.
	yes.tells("wait", map[string]any{"session": yes.start("many files")}, "all done")
	m := *asked.Load()
	for _, w := range []string{"f1", "f4", "f7"} {
		if !strings.Contains(m, "\n- create "+filepath.Join(yes.home, w)) {
			t.Errorf("%s is not listed: %s", w, m)
		}
	}
	if strings.Contains(m, "\u202e") || !strings.Contains(m, `\u{202e}`) ||
		!strings.Contains(m, "\n| It is harmless.") {
		t.Errorf("the command is not shown for what it is: %s", m)
	}
	id = alone.start("many files")
	alone.tells("wait", map[string]any{"session": id}, `"wants":["`, "f7")

	// Several options may be chosen. What is no answer leaves the question open, for others to answer.
	id = alone.start("zzz choose")
	alone.tells("wait", map[string]any{"session": id}, `"multi":true`)
	alone.tells("answer", map[string]any{"request": id + ".1.0", "allow": true, "answers": []string{"one, Two"}}, id)
	alone.tells("wait", map[string]any{"session": id}, "all done")
	if log := alone.log(id); !strings.Contains(log, `"choices":["One","Two"]`) {
		t.Errorf("not both were chosen: %s", log)
	}
	empty := serve(t, func(*mcp.ElicitParams) *mcp.ElicitResult { return &mcp.ElicitResult{Action: "accept"} })
	empty.tells("wait", map[string]any{"session": empty.start("ask me")}, `"ended":false`, `"kind":"question"`)

	// What a server asks the user is no question of the agent's.
	asks := serve(t, nil, "--allowed-tools", "mcp__tester")
	asks.uses(`{"mcpServers": {"tester": {"command": "` + asks.tester() + `", "args": ["-asks"]}}}`)
	id = asks.start("ask a server")
	asks.tells("wait", map[string]any{"session": id}, `"server":"tester"`)
	asks.refuses("answer", map[string]any{"request": id + ".1.0", "allow": true, "answers": []string{"yes"}},
		"only a person allows")
	asks.tells("answer", map[string]any{"request": id + ".1.0", "allow": false}, id)
	asks.tells("wait", map[string]any{"session": id}, "all done")

	trusted := serve(t, nil, "--answers")
	id = trusted.start("write it")
	trusted.tells("wait", map[string]any{"session": id}, `"kind":"permission"`)
	trusted.tells("answer", map[string]any{"request": id + ".1.0", "allow": true}, id)
	trusted.tells("wait", map[string]any{"session": id}, "all done")
}
