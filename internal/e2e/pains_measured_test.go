package e2e_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// What was measured when four other tools ran against one model server, and cannot be measured
// here. TestFanOut, TestPromptSizes, TestPain38FinishedAgentsHoldNoSlot and tools_order have
// the others.

// TestMeasuredFiftyEndTogether: fifty agents in the background that end together cost their
// parent one reply if it is at work, one if it is not, and one more if they end while it says so.
func TestMeasuredFiftyEndTogether(t *testing.T) {
	t.Parallel()
	const agents = 50
	most := map[string]int64{"busy": 2, "idle": 3 + 1, "saying so": 3 + 1}
	for parent := range most {
		t.Run(parent, func(t *testing.T) {
			t.Parallel()
			all := newBarrier(agents)
			var ofMain, ended atomic.Int64
			p, s := newServed(t, func(r *modeltest.Request) modeltest.Reply {
				n := int64(0)
				if isMain(r) {
					n = ofMain.Add(1)
				}
				switch {
				case n == 1:
					var calls []modeltest.Call
					for i := range agents {
						calls = append(calls, background(fmt.Sprint("kid ", i), "p"))
					}
					if parent == "busy" {
						calls = append(calls, modeltest.Call{Name: "Bash", Input: `{"command":"cat go"}`})
					}
					return modeltest.Calls(calls...)
				case n > 0:
					reply := modeltest.Text(fmt.Sprintf("Told of %d.",
						strings.Count(r.LastText(), "</task-notification>")))
					if n == 2 && parent == "saying so" {
						reply.Delay = 60 * time.Millisecond // some have ended by then, and others have not
					}
					return reply
				case !all.wait():
					return modeltest.Fail(400, "invalid_request_error", "the others never came")
				}
				reply := modeltest.Text("Seen.")
				reply.Delay = time.Duration(ended.Add(1)) * 3 * time.Millisecond // together, as people see it
				return reply
			})
			p.mkfifo("go")
			p.write("../home/settings.json", `{"agents": {"max_active": 60, "max_total": 60}}`)
			proc, err := startProcess(p.command("-p", "go", "--allowed-tools", "Bash", "--output-format",
				"stream-json"))
			if err != nil {
				t.Fatal(err)
			}
			if parent == "busy" {
				for range agents {
					if err := proc.await(regexp.MustCompile(`"session\.ended"`)); err != nil {
						t.Fatal(err)
					}
				}
				p.write("go", "") // opens the pipe: the command ends, and with it main's step
			}
			if r, err := proc.wait(); err != nil || r.code != 0 {
				t.Fatalf("%v, exit %d\n%s", err, r.code, r.errOut)
			}
			// A machine that stands still for longer than the parent gathers tears the ends apart once.
			if n := ofMain.Load(); n < 2 || n > most[parent] || parent == "busy" &&
				p.report("main").Result != fmt.Sprintf("Told of %d.", agents) {
				t.Errorf("%d requests of main, %d in all; it said %q", n, s.Count(), p.report("main").Result)
			}
			t.Logf("%d requests of main, %d in all", ofMain.Load(), s.Count())
			p.audit("main")
		})
	}
}

// TestMeasuredErrorIsAnError: a provider's error inside a child is an error of the child, in
// front as in the background, and never a completed result.
func TestMeasuredErrorIsAnError(t *testing.T) {
	t.Parallel()
	told := make(chan string, 10)
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		switch {
		case isMain(r) && r.Turn == 1:
			return modeltest.Calls(agentCall("prompt", "p"), background("kid", "p"))
		case isMain(r):
			told <- string(r.Messages[len(r.Messages)-1])
			return modeltest.Text("They failed.")
		}
		return modeltest.Fail(400, "invalid_request_error", "THE PROVIDER'S WORDS")
	})
	run := p.run(0, "-p", "go")
	for _, a := range run.Agents[1:] {
		if a.Status != troupe.Failed || !strings.Contains(a.Error, "THE PROVIDER'S WORDS") {
			t.Errorf("%s: %s, %s", a.Path, a.Status, a.Error)
		}
	}
	all := ""
	for len(told) > 0 {
		all += <-told
	}
	if strings.Contains(all, "completed") || !strings.Contains(all, "<status>failed</status>") ||
		!strings.Contains(all, `"is_error":true`) || strings.Count(all, "THE PROVIDER'S WORDS") < 2 {
		t.Errorf("the parent was told:\n%s", all)
	}
	p.audit("main")
}

// TestMeasuredSameToolsWhenResumed: a child that a message resumes, in the same process or in
// a later one, has the tools, the system prompt and the beginning it had before, to the byte.
func TestMeasuredSameToolsWhenResumed(t *testing.T) {
	t.Parallel()
	p, s := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		switch {
		case isMain(r) && (r.Turn == 1 || strings.Contains(r.LastText(), "again")):
			if r.Turn == 1 {
				return modeltest.Calls(agentCall("prompt", "first", "name", "kid", "subagent_type", "general-purpose"))
			}
			return modeltest.Calls(toolCall("SendMessage", map[string]any{"to": "kid", "message": "and more"}))
		case isMain(r) && r.Turn == 2:
			return modeltest.Calls(toolCall("SendMessage", map[string]any{"to": "kid", "message": "more"}))
		case isMain(r):
			return modeltest.Text("Thanks.")
		}
		return modeltest.Text(fmt.Sprintf("Answer %d.", r.Turn))
	})
	p.run(0, "-p", "go", "--name", "job")
	p.run(0, "-p", "--resume", "job", "again")
	var kid []*modeltest.Request
	for _, r := range s.Requests() {
		if !isMain(r) {
			kid = append(kid, r)
		}
	}
	if len(kid) != 3 {
		t.Fatalf("the child asked %d times, want 3", len(kid))
	}
	for i, r := range kid[1:] {
		if r.Turn != i+2 || len(r.Tools()) == 0 || !same(t, kid[0], r, "tools") || !same(t, kid[0], r, "system") {
			t.Errorf("turn %d of the child has the tools %v, turn 1 had %v", r.Turn, r.Tools(), kid[0].Tools())
		}
	}
	p.audit("job") // that each request begins with the one before it, the server has checked
}
