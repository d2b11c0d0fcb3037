package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/mcp/mcptest"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// secret looks like nothing in particular, so that only its name in the environment gives it away.
const secret = "e2e-credential-0123456789-do-not-tell"

// newServed is a place whose provider is a fake of Anthropic's API over real HTTP. The
// server holds every conversation to the prefix rule, and the test fails if one breaks it.
func newServed(t *testing.T, h modeltest.Handler) (*place, *modeltest.Server) {
	t.Helper()
	s := modeltest.NewAnthropic(h, modeltest.Options{Keep: 1000})
	t.Cleanup(func() {
		s.Close()
		if err := s.Err(); err != nil {
			t.Errorf("requests broke a rule: %v", err)
		}
	})
	return newPlace(t, "ANTHROPIC_API_KEY="+secret, "ANTHROPIC_BASE_URL="+s.URL()), s
}

// isMain tells the main agent's requests from a child's by what it is offered.
func isMain(r *modeltest.Request) bool { return slices.Contains(r.Tools(), "Agent") }

func agentCall(fields ...string) modeltest.Call {
	in := map[string]string{"description": "look", "subagent_type": "Explore"}
	for i := 0; i < len(fields); i += 2 {
		in[fields[i]] = fields[i+1]
	}
	b, err := json.Marshal(in)
	if err != nil {
		panic(err) // a map of strings is always JSON
	}
	return modeltest.Call{Name: "Agent", Input: string(b)}
}

// barrier lets nobody through until n have come.
type barrier struct {
	mu   sync.Mutex
	n    int
	open chan struct{}
}

func newBarrier(n int) *barrier { return &barrier{n: n, open: make(chan struct{})} }

// wait reports whether the others came.
func (b *barrier) wait() bool {
	b.mu.Lock()
	if b.n--; b.n == 0 {
		close(b.open)
	}
	b.mu.Unlock()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-b.open:
		return true
	case <-limit.C:
		return false
	}
}

// explorers answers a main agent that sends out n explorers in one reply, each of which
// reads a file twice. No explorer gets its first answer before all of them have asked.
func explorers(n int) modeltest.Handler {
	all := newBarrier(n)
	return func(r *modeltest.Request) modeltest.Reply {
		switch {
		case isMain(r) && r.Turn == 1:
			var calls []modeltest.Call
			for i := range n {
				calls = append(calls, agentCall("prompt", fmt.Sprintf("Look at part %d", i)))
			}
			return modeltest.Calls(calls...)
		case isMain(r):
			return modeltest.Text("All seen.")
		case r.Turn == 1 && !all.wait():
			return modeltest.Fail(400, "invalid_request_error", "the others never came")
		case r.Turn <= 2:
			return modeltest.Calls(modeltest.Call{Name: "Read", Input: `{"file_path":"a.txt"}`})
		}
		return modeltest.Text("Seen.")
	}
}

func TestFanOut(t *testing.T) {
	t.Parallel()
	p, s := newServed(t, explorers(3))
	p.write("a.txt", "content\n")
	run := p.run(0, "-p", "look around")
	if run.Result != "All seen." || len(run.Agents) != 4 {
		t.Errorf("got %+v", run)
	}
	p.audit("main")

	// Workers of one type share every byte before their prompt.
	var first []*modeltest.Request
	for _, r := range s.Requests() {
		if !isMain(r) && r.Turn == 1 {
			first = append(first, r)
		}
	}
	for _, r := range first {
		at := bytes.Index(r.Body, []byte("Look at part"))
		if bytes.Index(r.Body, []byte("Environment:")) > at {
			t.Errorf("where they are stands behind what is their own:\n%s", r.Body[at:])
		}
		if at < 1000 || at > len(first[0].Body) || !bytes.Equal(r.Body[:at], first[0].Body[:at]) {
			t.Errorf("two workers differ before their prompt at byte %d:\n%.3000s\n%.3000s", at, r.Body, first[0].Body)
		}
	}
	if got := s.Count(); got != 2+3*3 {
		t.Errorf("%d requests, want 11", got)
	}
}

// TestPromptSizes holds what every conversation carries to its budget: every reply pays for it again.
func TestPromptSizes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		main, explore int
		args          []string
		with          func(*place)
	}{
		"little": {main: 20 << 10, explore: 7 << 10},
		"everything": {main: 24 << 10, explore: 10 << 10, with: everything,
			args: []string{"--ask", "1m"}},
		"everything plan": {main: 24 << 10, explore: 10 << 10, with: everything,
			args: []string{"--permission-mode", "plan"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := newServed(t, explorers(1))
			p.write("a.txt", "content\n")
			if c.with != nil {
				c.with(p)
				c.args = append(c.args, "--trust", "--model", "anthropic/claude-haiku-4-5") // with a window of 200,000
			}
			p.run(0, append([]string{"-p", "look around"}, c.args...)...)
			seen := map[string]bool{}
			for _, r := range s.Requests() {
				var body struct {
					System json.RawMessage `json:"system"`
					Tools  json.RawMessage `json:"tools"`
				}
				if err := json.Unmarshal(r.Body, &body); err != nil {
					t.Fatal(err)
				}
				size, most, who := len(body.System)+len(body.Tools), c.explore, "Explore"
				if isMain(r) {
					most, who = c.main, "main"
				}
				if !seen[who] {
					t.Logf("%s: the system prompt takes %d bytes, the tools %d", who, len(body.System), len(body.Tools))
				}
				seen[who] = true
				if size > most || len(body.System) < 100 {
					t.Errorf("%s: system and tools take %d bytes, want at most %d", who, size, most)
				}
				// Else nothing was on, and the budget is kept by itself.
				if want := c.with != nil && who == "main"; want != slices.Contains(r.Tools(), "ToolSearch") ||
					slices.Contains(r.Tools(), "mcp__tester__echo") ||
					want != bytes.Contains(body.System, []byte("Speak as one does.")) {
					t.Errorf("%s has %q and is told %s", who, r.Tools(), body.System)
				}
			}
			if !seen["main"] || !seen["Explore"] {
				t.Errorf("requests of %v", seen)
			}
		})
	}
}

// everything gives a place much of each kind of definition, so that each tool is offered that depends on one.
func everything(p *place) {
	long := strings.Repeat("Use it when the words of the user are about it, and not else. ", 20)
	for i := range 60 {
		p.write(fmt.Sprintf("../user/.claude/agents/a%d.md", i), fmt.Sprintf(
			"---\nname: agent-%d\ndescription: %s\ntools: Read\nmemory: user\n---\n%s", i, long, long))
		p.write(fmt.Sprintf(".claude/agents/b%d.md", i), fmt.Sprintf("---\nname: other-%d\ndescription: %s\n---\n%s",
			i, long, long))
		p.write(fmt.Sprintf(".claude/skills/s%d/SKILL.md", i), fmt.Sprintf("---\ndescription: %s\n---\n%s", long, long))
		p.write(fmt.Sprintf(".claude/commands/c%d.md", i), long)
	}
	p.write("AGENTS.md", long)
	p.write("../user/.claude/CLAUDE.md", long)
	p.write("../user/.claude/output-styles/s.md", "---\nname: own\nkeep-coding-instructions: true\n---\nSpeak as one "+
		"does.")
	p.write("../user/.claude/settings.json", `{"outputStyle": "own", "hooks": {"PreToolUse": [{"matcher": "Bash",
		"hooks": [{"type": "command", "command": "true"}]}]}}`)
	p.write("../home/mcp.json", fmt.Sprintf(`{"mcpServers": {"tester": {"command": %q, "args": ["-tools", "400"],
		"env": {"TROUPE_HOME": %q}}}}`, filepath.Join(filepath.Dir(binary), mcptest.Name), p.home()))
}

// TestFaults: what a provider does on a bad day costs patience, not the run.
func TestFaults(t *testing.T) {
	t.Parallel()
	overloaded := modeltest.Fail(529, "overloaded_error", "Overloaded")
	overloaded.RetryAfter = "0"
	for name, bad := range map[string]modeltest.Reply{
		"529":   overloaded,
		"event": {Text: "half a word", ErrorType: "overloaded_error", ErrorMessage: "Overloaded"},
		"cut":   {Text: strings.Repeat("many words ", 50), Cut: 900},
		"cut in a cal": {Calls: []modeltest.Call{{Name: "Bash", Input: `{"command":"touch half-done and much more"}`}},
			Cut: 600},
		"clean end": {Text: strings.Repeat("many words ", 50), End: 900},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			asked := 0
			p, s := newServed(t, func(r *modeltest.Request) modeltest.Reply {
				mu.Lock()
				defer mu.Unlock()
				asked++
				switch {
				case asked == 2:
					return bad
				case r.Turn == 1:
					return modeltest.Calls(modeltest.Call{Name: "Glob", Input: `{"pattern":"*"}`})
				}
				return modeltest.Text("Whole.")
			})
			run := p.run(0, "-p", "go", "--permission-mode", "bypassPermissions")
			if run.Result != "Whole." || run.NumTurns != 2 || s.Count() != 3 {
				t.Errorf("after %d requests: %+v", s.Count(), run)
			}
			// The request was made again with the very same bytes.
			if rs := s.Requests(); !bytes.Equal(rs[1].Body, rs[2].Body) {
				t.Errorf("the second attempt differs:\n%s\n%s", rs[1].Body, rs[2].Body)
			}
			if _, err := os.Stat(filepath.Join(p.dir, "half-done")); err == nil {
				t.Error("a call of a broken reply ran")
			}
			p.audit("main")
		})
	}
}

func TestWrongKey(t *testing.T) {
	t.Parallel()
	p, s := newServed(t, func(*modeltest.Request) modeltest.Reply {
		return modeltest.Fail(401, "authentication_error", "invalid x-api-key: "+secret)
	})
	r := p.troupe("-p", "go")
	if r.code != 2 || r.out != "" || !strings.Contains(r.errOut, "401 authentication_error") ||
		!strings.Contains(r.errOut, "--resume") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.errOut)
	}
	if s.Count() != 1 {
		t.Errorf("a wrong key was tried %d times", s.Count())
	}
	notIn(t, p, secret, r)
}

// TestSecrets: the key reaches the provider and nobody else, though agents look for it.
func TestSecrets(t *testing.T) {
	t.Parallel()
	p, s := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		switch r.Turn {
		case 1:
			return modeltest.Calls(
				modeltest.Call{Name: "Bash", Input: `{"command":"env"}`},
				modeltest.Call{Name: "Bash", Input: `{"command":"cat key.txt"}`},
				modeltest.Call{Name: "Read", Input: `{"file_path":"key.txt"}`},
				modeltest.Call{Name: "Grep", Input: `{"pattern":"credential","output_mode":"content"}`},
				modeltest.Call{Name: "Bash", Input: `{"command":"tr '\\0' '\\n' < /proc/$PPID/environ"}`},
				modeltest.Call{Name: "Edit", Input: `{"file_path":"key.txt","old_string":"key=","new_string":"KEY="}`},
			)
		case 2:
			return modeltest.Calls(modeltest.Call{Name: "Glob", Input: `{"pattern":"*.txt"}`})
		}
		return modeltest.Text("Nothing to tell.")
	})
	p.write("key.txt", "key="+secret+"\n")
	debug := filepath.Join(p.root, "debug.log")
	r := p.troupe("-p", "find the key", "--output-format", "stream-json", "--debug", debug, "--permission-mode",
		"bypassPermissions")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.errOut)
	}
	if b, err := os.ReadFile(debug); err != nil || len(b) == 0 || bytes.Contains(b, []byte(secret)) {
		t.Errorf("debug log: %v, %d bytes", err, len(b))
	}
	notIn(t, p, secret, r)
	if !strings.Contains(r.out, "‹masked ANTHROPIC_API_KEY›") || !strings.Contains(r.out, "HOME=") {
		t.Errorf("the mask is not to be seen:\n%s", r.out)
	}
	for _, q := range s.Requests() {
		if q.Header.Get("X-Api-Key") != secret || bytes.Contains(q.Body, []byte(secret)) {
			t.Errorf("request %d: key %q in its header; in its body: %v", q.Number, q.Header.Get("X-Api-Key"),
				bytes.Contains(q.Body, []byte(secret)))
		}
	}
	p.audit("main")
}

// TestSecretInLongOutput: what goes to a file because it is too long is masked as well.
func TestSecretInLongOutput(t *testing.T) {
	t.Parallel()
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		if r.Turn == 1 {
			return modeltest.Calls(modeltest.Call{Name: "Bash",
				Input: `{"command":"cat key.txt; seq 50000; cat key.txt"}`})
		}
		return modeltest.Text("Long.")
	})
	p.write("key.txt", "key="+secret+"\n")
	r := p.troupe("-p", "go", "--allowed-tools", "Bash")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.errOut)
	}
	notIn(t, p, secret, r)
}

// TestSecretInPrompt: a key that a person pastes is not stored either, and not sent on.
func TestSecretInPrompt(t *testing.T) {
	t.Parallel()
	p, s := newServed(t, func(*modeltest.Request) modeltest.Reply { return modeltest.Text("Keep it to yourself.") })
	r := p.troupe("-p", "my key is "+secret)
	if r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.errOut)
	}
	notIn(t, p, secret, r)
	if bytes.Contains(s.Requests()[0].Body, []byte(secret)) {
		t.Error("the key was sent to the model")
	}
}

// notIn looks for a text in everything a run left behind and printed.
func notIn(t *testing.T, p *place, text string, r ran) {
	t.Helper()
	if strings.Contains(r.out, text) {
		t.Errorf("standard output holds %q", text)
	}
	if strings.Contains(r.errOut, text) {
		t.Errorf("standard error holds %q", text)
	}
	err := filepath.WalkDir(p.home(), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if bytes.Contains(b, []byte(text)) {
			t.Errorf("%s holds %q", strings.TrimPrefix(name, p.root), text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPain38FinishedAgentsHoldNoSlot: over the cap agents wait their turn, none is refused, and one that has ended
// gives its place up at once.
func TestPain38FinishedAgentsHoldNoSlot(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	working, most := 0, 0
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		if isMain(r) {
			if r.Turn <= 2 {
				return modeltest.Calls(agentCall("prompt", "a"), agentCall("prompt", "b"), agentCall("prompt", "c"))
			}
			return modeltest.Text("All six.")
		}
		// A child holds its slot from its first request to its last answer.
		mu.Lock()
		defer mu.Unlock()
		if r.Turn == 1 {
			working++
			most = max(most, working)
			return modeltest.Calls(modeltest.Call{Name: "Glob", Input: `{"pattern":"*"}`})
		}
		working--
		return modeltest.Text("Seen.")
	})
	p.write("../home/settings.json", `{"agents": {"max_active": 1}}`)
	run := p.run(0, "-p", "go")
	if run.Result != "All six." || len(run.Agents) != 7 {
		t.Errorf("got %+v", run)
	}
	if most != 1 {
		t.Errorf("%d agents at work at once, want 1", most)
	}
	p.audit("main")
}

// TestPain33ModelOverride: the model a child was given is the one it uses, shows, and keeps
// after a crash, and so is the one the root was given.
func TestPain33ModelOverride(t *testing.T) {
	t.Parallel()
	working := make(chan struct{}, 1)
	crashed := make(chan struct{})
	p, s := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		switch {
		case isMain(r) && r.Turn == 1:
			return modeltest.Calls(agentCall("prompt", "p", "model", "opus", "name", "kid"))
		case isMain(r):
			return modeltest.Text("Done.")
		case r.Turn == 1:
			return modeltest.Calls(modeltest.Call{Name: "Glob", Input: `{"pattern":"*"}`})
		}
		select {
		case <-crashed:
			return modeltest.Text("Seen.")
		default:
			select {
			case working <- struct{}{}:
			default: // it was told already
			}
			return modeltest.Reply{Stall: true}
		}
	})
	first, err := startProcess(p.command("-p", "go", "--model", "sonnet", "--name", "job"))
	if err != nil {
		t.Fatal(err)
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-working:
	case <-limit.C:
		_ = first.cmd.Process.Kill() // it may have ended
		r, err := first.wait()
		t.Fatalf("no child asked for a second reply: %v\n%s%s", err, r.out, r.errOut)
	}
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.wait(); err != nil {
		t.Fatal(err)
	}
	close(crashed)
	run := p.run(0, "-p", "--resume", "job")
	for _, ag := range run.Agents {
		want := "sonnet"
		if ag.Name == "kid" {
			want = "opus"
		}
		if !strings.Contains(ag.Model, want) || ag.CostUSD == 0 {
			t.Errorf("%s: model %s, $%v", ag.Path, ag.Model, ag.CostUSD)
		}
	}
	for _, r := range s.Requests() {
		if want := map[bool]string{true: "sonnet", false: "opus"}[isMain(r)]; !strings.Contains(r.Model, want) {
			t.Errorf("request %d asked %s, want %s", r.Number, r.Model, want)
		}
	}
	p.audit("job")
}
