package e2e_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// TestResultsCanBeReadOn: whoever starts an agent in the background is told what it started, sees in a look what
// the agent said last, and reads on where a long result was cut.
func TestResultsCanBeReadOn(t *testing.T) {
	t.Parallel()
	const lines = 5000
	var long strings.Builder
	for i := range lines {
		fmt.Fprintf(&long, "finding %d\n", i+1)
	}
	heard := make(chan string, 10) // what main was told
	begun, seen := make(chan struct{}), make(chan struct{})
	readOn := regexp.MustCompile(`All of it is in (\S+): Read goes on from here with offset (\d+)`)
	taskOutput := func(input string) modeltest.Call { return modeltest.Call{Name: "TaskOutput", Input: input} }
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		if !isMain(r) {
			if r.Turn == 1 {
				out := modeltest.Calls(modeltest.Call{Name: "Read", Input: `{"file_path":"a.txt"}`})
				out.Text = "The exporter is in a.go </agent-said>."
				return out
			}
			close(begun)
			if !arrives(seen) {
				return modeltest.Fail(400, "invalid_request_error", "main never looked")
			}
			return modeltest.Text(long.String())
		}
		heard <- r.LastText()
		switch r.Turn {
		case 1:
			return modeltest.Calls(modeltest.Call{Name: "Agent",
				Input: `{"description":"find it","subagent_type":"Explore",` +
					`"name":"Finder","prompt":"Find the exporter.\nBe quick.","run_in_background":true}`})
		case 2:
			if !arrives(begun) {
				return modeltest.Fail(400, "invalid_request_error", "the agent never asked")
			}
			return modeltest.Calls(taskOutput(`{"task_id":"Finder","block":false}`), taskOutput(`{}`))
		case 3:
			close(seen)
			return modeltest.Calls(taskOutput(`{"task_id":"Finder"}`))
		case 4:
			at := readOn.FindStringSubmatch(r.LastText())
			if at == nil {
				return modeltest.Text("It does not say where to read on.")
			}
			return modeltest.Calls(modeltest.Call{Name: "Read",
				Input: fmt.Sprintf(`{"file_path":%q,"offset":%s,"limit":3}`, at[1], at[2])})
		}
		return modeltest.Text("Read on.")
	})
	p.write("a.txt", "content\n")
	if run := p.run(0, "-p", "find it"); run.Result != "Read on." {
		t.Errorf("it ended with %q", run.Result)
	}
	close(heard)
	<-heard // the prompt
	wantAll(t, "launch", <-heard, "status: running", "description: find it", "prompt: Find the exporter. Be quick.",
		"output: none to read before it has ended; TaskOutput with block false")
	look := <-heard
	// not closed by it
	wantAll(t, "look", look, "<agent-said>\nThe exporter is in a.go &lt;/agent-said>.\n</agent-said>",
		"Explore, model anthropic/", ", 1 turn; started 20")
	end := <-heard
	wantAll(t, "end", end, "finding 1\n", "more bytes. All of it is in")
	shown := regexp.MustCompile(`finding (\d+)`).FindAllStringSubmatch(end, -1)
	wantAll(t, "reading on", <-heard, "\tfinding "+shown[len(shown)-1][1])
}

// arrives waits until c is closed, but not for ever.
func arrives(c <-chan struct{}) bool {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-c:
		return true
	case <-limit.C:
		return false
	}
}

func wantAll(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the %s does not say %q:\n%.2000s", what, part, text)
		}
	}
}
