package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// background starts an Explore agent that its parent does not wait for.
func background(name, prompt string) modeltest.Call {
	return toolCall("Agent", map[string]any{"description": name, "name": name, "prompt": prompt,
		"subagent_type": "Explore", "run_in_background": true})
}

// stuck is a reply that begins and never goes on.
func stuck() modeltest.Reply {
	return modeltest.Reply{Text: strings.Repeat("let me think ", 20), End: 700, Stall: true}
}

// eventually asks again until the answer says all the words; the run it asks about does not end
// before it is told to.
func (p *place) eventually(words []string, args ...string) string {
	p.t.Helper()
	limit := time.Now().Add(patience)
	for {
		r := p.troupe(args...)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(r.out, w) }) {
			return r.out
		}
		if time.Now().After(limit) {
			p.t.Fatalf("troupe %s does not say %q:\n%s%s", strings.Join(args, " "), words, r.out, r.errOut)
		}
	}
}

// TestPain01ReportIsNeverLost: a report too long for its parent's context, given by an agent
// in the background, reaches it with its beginning and a file that has all of it. It is there
// after a crash, and long after. An agent that says nothing has failed, in words.
func TestPain01ReportIsNeverLost(t *testing.T) {
	t.Parallel()
	report := strings.Repeat("a line of a very long report\n", 10_000) + "THE END"
	file := regexp.MustCompile(`<output-file>(.*)</output-file>`)
	told := make(chan string, 10)
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		last := r.LastText()
		switch {
		case isMain(r) && r.Turn == 1:
			return modeltest.Calls(background("talker", "TALK"), background("mute", "BE MUTE"))
		case isMain(r) && strings.Contains(last, "once more"):
			return modeltest.Calls(toolCall("TaskOutput", map[string]any{"task_id": "talker"}))
		case isMain(r):
			told <- last
			return modeltest.Text("I know.")
		case strings.Contains(r.FirstText(), "BE MUTE"):
			return modeltest.Text("")
		}
		return modeltest.Text(report)
	})
	p.run(0, "-p", "go", "--name", "job")
	var all string
	for len(told) > 0 {
		all += <-told
	}
	for _, want := range []string{"<status>completed</status>", "a line of a very long report\n",
		"<status>failed</status>", "empty replies"} {
		if !strings.Contains(all, want) {
			t.Errorf("the parent was not told %q:\n%.3000s", want, all)
		}
	}
	m := file.FindStringSubmatch(all)
	if m == nil {
		t.Fatalf("no file is named:\n%.3000s", all)
	}
	if b, err := os.ReadFile(m[1]); err != nil || string(b) != report {
		t.Errorf("the file has %d bytes, want %d: %v", len(b), len(report), err)
	}
	if strings.Contains(all, "THE END") {
		t.Error("all of it is in the parent's context")
	}
	// In another process, by the agent's name, for ever.
	p.run(0, "-p", "--resume", "job", "once more")
	if again := <-told; !strings.Contains(again, "a line of a very long report\n") || !strings.Contains(again, m[0]) {
		t.Errorf("asked again it says:\n%.2000s", again)
	}
	p.audit("job")
}

// TestPain02BackgroundAsks: what an agent in the background will need is asked about before it
// starts, as one decision. What it needs besides neither is denied in silence nor happens
// without: it waits, everybody can see for what, and its parent spends nothing until somebody
// has answered, from another terminal.
func TestPain02BackgroundAsks(t *testing.T) {
	t.Parallel()
	p, s := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		switch {
		case isMain(r) && r.Turn == 1:
			return modeltest.Calls(toolCall("Agent", map[string]any{"description": "build", "name": "builder",
				"prompt": "p", "run_in_background": true}))
		case isMain(r):
			return modeltest.Text("It is built, or will be.")
		case r.Turn == 1:
			return modeltest.Calls(modeltest.Call{Name: "Bash", Input: `{"command":"touch built.txt"}`})
		}
		return modeltest.Text("Built.")
	})
	proc, err := startProcess(p.command("-p", "go", "--name", "job", "--ask", "10m", "--output-format", "stream-json"))
	if err != nil {
		t.Fatal(err)
	}
	p.eventually([]string{"job asks for Agent", "general-purpose: build", "Edit(", "why"}, "requests")
	if r := p.troupe("answer", "allow"); r.code != 0 {
		t.Fatal(r.errOut)
	}
	if err := proc.await(regexp.MustCompile(`"session\.ended".*"type":"main"`)); err != nil {
		t.Fatal(err)
	}
	p.eventually([]string{"job/builder asks for Bash", "touch built.txt", "to create", "why"}, "requests")
	p.eventually([]string{"waiting for approval"}, "tasks", "job")
	if n := s.Count(); n != 3 {
		t.Errorf("%d requests while it waits, want 2 of main and 1 of the builder", n)
	}
	if r := p.troupe("answer", "allow"); r.code != 0 {
		t.Fatal(r.errOut)
	}
	if r, err := proc.wait(); err != nil || r.code != 0 {
		t.Errorf("%v, exit %d\n%s", err, r.code, r.errOut)
	}
	if got := p.read("built.txt"); got != "" || s.Count() != 5 {
		t.Errorf("%q after %d requests", got, s.Count())
	}
	p.audit("job")
}

// TestPain11WaitsEnd: nothing waits without end. A wait for a task has a deadline, and so has a
// question; a model that has stopped talking is ended with the run's time.
func TestPain11WaitsEnd(t *testing.T) {
	t.Parallel()
	t.Run("at work", func(t *testing.T) { t.Parallel(); waitsEnd(t, false) })
	t.Run("its turn over", func(t *testing.T) { t.Parallel(); waitsEnd(t, true) })
}

// waitsEnd: with over, main ends its turn instead of waiting for the agent that is stuck.
func waitsEnd(t *testing.T, over bool) {
	said := make(chan string, 10)
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		switch {
		case isMain(r) && r.Turn == 1:
			return modeltest.Calls(background("stuck", "BE STUCK"),
				modeltest.Call{Name: "Bash", Input: `{"command":"touch asked"}`})
		case isMain(r) && r.Turn == 2:
			said <- r.LastText()
			return modeltest.Calls(toolCall("TaskOutput", map[string]any{"task_id": "stuck", "timeout": 100}))
		case isMain(r):
			said <- r.LastText()
			if over {
				return modeltest.Text("I wait for its end.")
			}
			return modeltest.Calls(toolCall("TaskOutput", map[string]any{"task_id": "stuck", "timeout": 600_000}))
		}
		return stuck()
	})
	run := p.run(4, "-p", "go", "--ask", "100ms", "--max-time", "4s")
	if len(said) != 2 {
		t.Fatalf("main was asked for %d replies after its first", len(said))
	}
	if a, b := <-said, <-said; !strings.Contains(a, "there was no answer in time") ||
		!strings.Contains(b, "still running") {
		t.Errorf("the question came to:\n%s\nthe wait came to:\n%s", a, b)
	}
	if kid := run.Agents[1]; kid.Status != troupe.Cancelled || run.Cause != troupe.CauseLimit {
		t.Errorf("the run ended as %s (%s), the agent that was stuck as %s", run.Status, run.Error, kid.Status)
	}
	p.audit("main")
}

// TestPain13ShellsAreOwned: a command that a child leaves running ends with the child, its
// parent is told by name, and the process is gone (the place looks for it). One of the main
// agent goes on beside it and is told of when it ends.
func TestPain13ShellsAreOwned(t *testing.T) {
	t.Parallel()
	told := make(chan string, 10)
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		last := r.LastText()
		switch {
		case isMain(r) && r.Turn == 1:
			return modeltest.Calls(
				toolCall("Bash", map[string]any{"command": "cat go; echo mine is done", "description": "Mine",
					"run_in_background": true}),
				agentCall("prompt", "p", "subagent_type", "general-purpose"))
		case isMain(r) && r.Turn == 2:
			told <- last
			return modeltest.Calls(modeltest.Call{Name: "Bash", Input: `{"command":"echo > go"}`})
		case isMain(r) && strings.Contains(last, "mine is done"):
			return modeltest.Text("Mine has ended.")
		case isMain(r):
			return modeltest.Text("I wait for mine.")
		case r.Turn == 1:
			return modeltest.Calls(toolCall("Bash", map[string]any{"command": "trap '' TERM; echo up > ready; sleep " +
				"300; sleep 300", "description": "Server", "run_in_background": true}),
				modeltest.Call{Name: "Bash", Input: `{"command":"cat ready"}`})
		}
		return modeltest.Text("Started it.")
	})
	p.mkfifo("ready")
	p.mkfifo("go")
	if run := p.run(0, "-p", "go", "--permission-mode", "bypassPermissions"); run.Result != "Mine has ended." {
		t.Errorf("got %+v", run)
	}
	if text := <-told; !strings.Contains(text, "command in the background, ended with the agent: Server") {
		t.Errorf("the parent was told:\n%s", text)
	}
	p.audit("main")
}

// TestPain16SummaryKnowsTasks: a conversation that is replaced by a summary while an agent is at
// work knows of it, though the summary does not: a model that starts what it is not told of
// starts nothing twice.
func TestPain16SummaryKnowsTasks(t *testing.T) {
	t.Parallel()
	var summaries, started atomic.Int64
	open := newBarrier(2)
	s := modeltest.NewOpenAI(func(r *modeltest.Request) modeltest.Reply {
		text, last := r.FirstText()+r.LastText(), r.LastText()
		reply := modeltest.Text("I wait for the watcher.")
		switch {
		case !isMain(r) && !open.wait():
			return modeltest.Fail(400, "invalid_request_error", "the other never came")
		case !isMain(r):
			return modeltest.Text("I saw it.")
		case strings.Contains(last, "about to be replaced by what you write now"):
			summaries.Add(1)
			reply = modeltest.Text("Files were read.") // not a word of the watcher
		case r.Turn == 1 && !strings.Contains(text, "watcher"):
			reply = modeltest.Calls(background(fmt.Sprint("watcher ", started.Add(1)), "WATCH"))
		case strings.Contains(last, "I saw it."):
			reply = modeltest.Text("The watcher saw it.")
		case summaries.Load() == 0:
			reply = modeltest.Calls(modeltest.Call{Name: "Read", Input: `{"file_path":"big.txt"}`})
		case !open.wait():
			return modeltest.Fail(400, "invalid_request_error", "the other never came")
		}
		reply.Usage.Input = int64(len(r.Body) / 4)
		return reply
	}, modeltest.Options{})
	t.Cleanup(func() {
		s.Close()
		if err := s.Err(); err != nil {
			t.Errorf("requests broke a rule: %v", err)
		}
	})
	p := newPlace(t)
	p.write("big.txt", strings.Repeat("a line that fills the window up\n", 500))
	p.write("../home/settings.json", fmt.Sprintf(`{"providers": {"small": {"base_url": %q, "window": 32000}}}`,
		s.URL()))
	run := p.run(0, "-p", "go", "--model", "small/model")
	if run.Result != "The watcher saw it." || len(run.Agents) != 2 || summaries.Load() == 0 {
		t.Errorf("%d summaries: %+v", summaries.Load(), run)
	}
	p.audit("main")
}

// TestPain18StoppedAndFinished: agents that finish in the very moment in which they are
// stopped have one end each, told once.
func TestPain18StoppedAndFinished(t *testing.T) {
	t.Parallel()
	const agents = 12
	both, take := newBarrier(agents+1), regexp.MustCompile(`TAKE<(\d+)>`)
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		var calls []modeltest.Call
		switch {
		case isMain(r) && r.Turn == 1:
			for i := range agents {
				calls = append(calls, background(fmt.Sprint("kid ", i), fmt.Sprintf("TAKE<%d>", i)))
			}
		case isMain(r) && r.Turn == 2:
			for i := range agents {
				calls = append(calls, toolCall("TaskStop", map[string]any{"task_id": fmt.Sprint("kid ", i)}))
			}
			if !both.wait() {
				return modeltest.Fail(400, "invalid_request_error", "the others never came")
			}
		case isMain(r):
			return modeltest.Text("All over.")
		case !both.wait():
			return modeltest.Fail(400, "invalid_request_error", "the others never came")
		default:
			// Some are done before they are stopped, some would be after.
			i, err := strconv.Atoi(take.FindStringSubmatch(r.FirstText())[1])
			if err != nil {
				return modeltest.Fail(400, "invalid_request_error", err.Error())
			}
			reply := modeltest.Text("Seen.")
			reply.Delay = time.Duration(i) * 5 * time.Millisecond
			return reply
		}
		return modeltest.Calls(calls...)
	})
	run := p.run(0, "-p", "go")
	ends := make(map[troupe.Status]int)
	for _, a := range run.Agents[1:] {
		ends[a.Status]++
	}
	t.Logf("%v", ends)
	if ends[troupe.Completed]+ends[troupe.Cancelled] != agents {
		t.Errorf("the agents ended as %v", ends)
	}
	told := make(map[troupe.SessionID]int)
	for _, b := range bodies[troupe.MailDelivered](t, p.audit("main")) {
		for _, m := range b.Mail {
			if m.Ended != nil {
				told[m.Ended.Session]++
			}
		}
	}
	for id, n := range told {
		if n != 1 {
			t.Errorf("the end of %s was told %d times", id, n)
		}
	}
	if len(told) != agents {
		t.Errorf("%d agents' ends were told, want %d", len(told), agents)
	}
}

// TestPain20StopOneAndUndoIt: one of two agents is stopped from another terminal; the other
// works on. A word later the stopped one goes on, with all it knew.
func TestPain20StopOneAndUndoIt(t *testing.T) {
	t.Parallel()
	open := newBarrier(2)
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		name := "one"
		if strings.Contains(r.FirstText(), "I am two") {
			name = "two"
		}
		switch {
		case isMain(r) && r.Turn == 1:
			return modeltest.Calls(background("one", "I am one"), background("two", "I am two"))
		case isMain(r):
			return modeltest.Text("They work.")
		case r.Turn == 1:
			return modeltest.Calls(modeltest.Call{Name: "Read", Input: `{"file_path":"known.txt"}`})
		case name == "one" && strings.Contains(r.LastText(), "do go on"):
			if !strings.Contains(string(r.Body), "WHAT IT KNEW") {
				return modeltest.Text("Who am I?")
			}
			return modeltest.Text("Went on with what I knew.")
		case name == "one":
			return stuck() // until it is stopped
		case !open.wait():
			return modeltest.Fail(400, "invalid_request_error", "nobody let it go on")
		}
		return modeltest.Text("Two is done.")
	})
	p.write("known.txt", "WHAT IT KNEW\n")
	proc, err := startProcess(p.command("-p", "go", "--name", "job", "--output-format", "stream-json"))
	if err != nil {
		t.Fatal(err)
	}
	// Both agents have read and ask for their second reply.
	for range 2 {
		if err := proc.await(regexp.MustCompile(`"model\.sealed".*"reply":2`)); err != nil {
			t.Fatal(err)
		}
	}
	p.eventually([]string{"WHAT IT KNEW"}, "log", "job/one")
	if r := p.troupe("stop", "job/one", "--now"); r.code != 0 ||
		!strings.Contains(r.out, "have it go on with: troupe send") {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.errOut)
	}
	p.eventually([]string{"stopped"}, "show", "job")
	if run := p.report("job"); statusOf(run, "job/one") != troupe.Cancelled || !statusOf(run, "job/two").Live() {
		t.Errorf("after the stop: %+v", run.Agents)
	}
	if r := p.troupe("send", "job/one", "do go on"); r.code != 0 {
		t.Fatal(r.errOut)
	}
	p.eventually([]string{"Went on with what I knew."}, "log", "job/one")
	open.wait()
	if r, err := proc.wait(); err != nil || r.code != 0 {
		t.Errorf("%v, exit %d\n%s", err, r.code, r.errOut)
	}
	if run := p.report("job"); statusOf(run, "job/one") != troupe.Completed ||
		statusOf(run, "job/two") != troupe.Completed {
		t.Errorf("in the end: %+v", run.Agents)
	}
	p.audit("job")
}

func statusOf(run wire.Report, path string) troupe.Status {
	for _, a := range run.Agents {
		if a.Path == path {
			return a.Status
		}
	}
	return ""
}

// TestPain21ChildIsSeen: a child that waits for permission holds up nobody but itself, its own
// stream shows what it does while it does it, and what it asks is seen above.
func TestPain21ChildIsSeen(t *testing.T) {
	t.Parallel()
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		switch {
		case isMain(r) && r.Turn == 1:
			return modeltest.Calls(
				agentCall("prompt", "ASK", "subagent_type", "general-purpose", "name", "asker"),
				agentCall("prompt", "LOOK", "name", "looker"))
		case isMain(r):
			return modeltest.Text("Both are back.")
		case r.Turn == 1 && strings.Contains(r.FirstText(), "ASK"):
			return modeltest.Calls(modeltest.Call{Name: "Bash", Input: `{"command":"touch asked"}`})
		case r.Turn == 1:
			return modeltest.Calls(modeltest.Call{Name: "Read", Input: `{"file_path":"seen.txt"}`})
		}
		return modeltest.Text("Done with it.")
	})
	p.write("seen.txt", "SEEN BY THE LOOKER\n")
	proc, err := startProcess(p.command("-p", "go", "--name", "job", "--ask", "10m"))
	if err != nil {
		t.Fatal(err)
	}
	p.eventually([]string{"job/asker asks for Bash", "touch asked"}, "requests")
	follow, err := startProcess(p.command("log", "job/looker", "--follow"))
	if err != nil {
		t.Fatal(err)
	}
	// The other comes to its end meanwhile, and can be watched doing so.
	if r, err := follow.wait(); err != nil || !strings.Contains(r.out, "SEEN BY THE LOOKER") ||
		!strings.Contains(r.out, "run 1 ends: completed") {
		t.Errorf("%v\n%s", err, r.out)
	}
	if run := p.report("job"); statusOf(run, "job/asker") != troupe.Waiting {
		t.Errorf("meanwhile: %+v", run.Agents)
	}
	if r := p.troupe("answer", "deny", "--note", "not today"); r.code != 0 {
		t.Fatal(r.errOut)
	}
	if r, err := proc.wait(); err != nil || r.out != "Both are back.\n" {
		t.Errorf("%v, exit %d\n%s%s", err, r.code, r.out, r.errOut)
	}
	p.audit("job")
}

// TestPain37CompletionWakes: while an agent in the background works, its parent makes no
// request at all, neither to wait nor to ask; the end wakes it, once.
func TestPain37CompletionWakes(t *testing.T) {
	t.Parallel()
	var ofMain, ofKid atomic.Int64
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		switch {
		case isMain(r):
			switch n := ofMain.Add(1); {
			case n == 1:
				return modeltest.Calls(background("kid", "p"))
			case strings.Contains(r.LastText(), "</task-notification>"):
				return modeltest.Text(fmt.Sprintf("Woken after %d of its steps.", ofKid.Load()))
			}
			return modeltest.Text("I will be told.")
		case ofKid.Add(1) < 20:
			return modeltest.Calls(modeltest.Call{Name: "Glob", Input: fmt.Sprintf(`{"pattern":"*.%d"}`, ofKid.Load())})
		}
		return modeltest.Text("Seen.")
	})
	run := p.run(0, "-p", "go")
	if run.Result != "Woken after 20 of its steps." || ofMain.Load() != 3 {
		t.Errorf("%d requests of main: %+v", ofMain.Load(), run)
	}
	p.audit("main")
}

// same reports the raw bytes of a field of two requests as equal.
func same(t *testing.T, a, b *modeltest.Request, field string) bool {
	t.Helper()
	var x, y map[string]json.RawMessage
	if err := json.Unmarshal(a.Body, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Body, &y); err != nil {
		t.Fatal(err)
	}
	return string(x[field]) == string(y[field])
}
