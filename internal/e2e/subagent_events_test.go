package e2e_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/wire"
)

const subagentsPlay = `
replies:
  - agent: lead
    turn: 1
    calls:
      - {tool: spawn_subagent, input: {name: Test Runner, task: Run the tests.}}
      - {tool: spawn_subagent, input: {name: Scout, task: Look around., mode: background}}
  - agent: lead
    contains: begin anew
    calls: [{tool: spawn_subagent, input: {name: Second, task: Once more., config: {max_turns: 1}}}]
  - agent: lead
    text: so it is
  - name: [Test Runner, Second]
    turn: 1
    calls: [{tool: Glob, input: {pattern: "*.go"}}]
  - name: Scout
    delay: 300ms
    text: nothing here
  - text: all pass
`

// sseMessage is a message of a stream of the server.
type sseMessage struct {
	name, id string
	wire.Subagent
}

// TestSubagentStream: a server tells of births and ends of sub-agents on their parent's stream, of a run that another
// process has, as it goes; and goes on behind the message that a reader had last.
func TestSubagentStream(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("play.yaml", subagentsPlay)
	p.write(".claude/agents/lead.md", "---\nname: lead\ndescription: leads\nvocabulary: subagents\n---\nYou lead.\n")
	run := func(args ...string) {
		t.Helper()
		if out := p.run(0, append(args, "--model", "script:play.yaml")...); out.Result != "so it is" {
			t.Fatalf("it ended with %q", out.Result)
		}
	}
	run("-p", "--agent", "lead", "--name", "job", "go")

	server, err := startProcess(p.command("serve", "--listen", "127.0.0.1:0", "--folder", p.dir))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.cmd.Process.Signal(os.Interrupt)
		if out, err := server.wait(); err != nil || out.code != 0 {
			t.Errorf("the server ended with %d, %v: %s", out.code, err, server.errOut.String())
		}
	}()
	at, err := server.find(regexp.MustCompile(`serves at (http://127\.0\.0\.1:\d+)`))
	if err != nil {
		t.Fatal(err)
	}
	code, err := server.find(regexp.MustCompile(`^  ([a-z0-9]{8}-[a-z0-9]{8}-[a-z0-9]{8})`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(at[1]+"/v1/sign-in", "application/json", strings.NewReader(`{"code":"`+code[1]+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	var signed wire.SignedIn
	if err := json.NewDecoder(resp.Body).Decode(&signed); err != nil || resp.Body.Close() != nil {
		t.Fatal(err)
	}
	open := func(last string) (next func(want string) sseMessage) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			at[1]+"/v1/sessions/job/events?subagents=true",
			nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("Authorization", "Bearer "+signed.Token)
		req.Header.Set("Last-Event-ID", last)
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		limit := time.AfterFunc(patience, func() { resp.Body.Close() })
		t.Cleanup(func() { limit.Stop(); resp.Body.Close() })
		lines := bufio.NewScanner(resp.Body)
		return func(want string) sseMessage {
			t.Helper()
			var m sseMessage
			for lines.Scan() {
				key, value, _ := strings.Cut(lines.Text(), ": ")
				switch key {
				case "event":
					m.name = value
				case "id":
					m.id = value
				case "data":
					if strings.HasPrefix(m.name, "subagent.") {
						if err := json.Unmarshal([]byte(value), &m.Subagent); err != nil {
							t.Fatal(err)
						}
					}
				case "":
					if m.name == want {
						return m
					}
					if m.name != "" && m.name != wire.SubagentProgress {
						t.Errorf("%s of %s comes before %s", m.name, m.Name, want)
					}
					m = sseMessage{}
				}
			}
			t.Fatalf("the stream ended before %s: %v", want, lines.Err())
			return m
		}
	}
	next := open("")
	var all []sseMessage
	take := func(want string) {
		t.Helper()
		all = append(all, next(want))
	}
	for _, want := range []string{wire.SubagentSpawned, wire.SubagentSpawned, wire.SubagentCompleted,
		wire.SubagentCompleted} {
		take(want)
	}
	run("-p", "--resume", "job", "begin anew")
	take(wire.SubagentSpawned)
	take(wire.SubagentFailed)
	var got []string
	for _, m := range all {
		got = append(got, strings.Join([]string{m.Type, m.Name, m.Status, m.Mode, m.Task, m.Result, m.Error}, "|"))
	}
	if want := []string{
		"subagent.spawned|Test Runner|spawning|foreground|Run the tests.||",
		"subagent.spawned|Scout|spawning|background|Look around.||",
		"subagent.completed|Test Runner|completed|||all pass|",
		"subagent.completed|Scout|completed|||nothing here|",
		"subagent.spawned|Second|spawning|foreground|Once more.||",
		"subagent.failed|Second|max_iterations||||reached its limit of 1 model reply",
	}; !slices.Equal(got, want) {
		t.Errorf("it tells\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i, m := range all[:len(all)-1] {
		if again := open(m.id)(all[i+1].Type); again.id != all[i+1].id {
			t.Errorf("behind %s comes %s, want %s", m.id, again.id, all[i+1].id)
		}
	}
}
