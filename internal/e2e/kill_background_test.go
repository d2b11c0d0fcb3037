package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// team is a run of everything that goes on beside a conversation: two agents and two commands
// in the background, an agent's own command in the background, a wait for a task, a message
// that may resume an agent which has ended, and a summary in the middle. As in twoChildren,
// each effect can be counted and only the runtime could repeat one.
const team = `
window: 9000
replies:
  - {agent: main, contains: about to be replaced by what you write now, text: the summary so far}
  - agent: main
    turn: 1
    calls:
      - {tool: Agent, input: {name: basher, description: d, prompt: p, run_in_background: true}}
      - {tool: Agent, input: {name: editor, description: d, prompt: p, run_in_background: true}}
      - {tool: Bash, input: {command: "sleep 0.1; echo main 1 >> main.txt", run_in_background: true}}
  - {agent: main, turn: 2, calls: [{tool: Bash, input: {command: echo main 2 >> main.txt}}]}
  - agent: main
    turn: 3
    calls:
      - &g {tool: Grep, input: {pattern: line, path: lines.txt, output_mode: content, head_limit: 130}}
      - {tool: TaskOutput, input: {task_id: basher, timeout: 20000}}
  - {agent: main, turn: 4-5, calls: [*g]}
  - agent: main
    turn: 6
    calls:
      - {tool: SendMessage, input: {to: editor, message: once more}}
      - {tool: Bash, input: {command: "echo main 6 >> main.txt", run_in_background: true}}
  - {agent: main, text: all done}
  - {name: basher, turn: 1, calls: [{tool: Bash, input: {command: echo basher 1 >> basher.txt}}]}
  - {name: basher, turn: 2, calls: [{tool: Glob, input: {pattern: "*"}}, {tool: Bash, input: {command: "sleep 0.05; echo basher 2 >> basher.txt", run_in_background: true}}]}
  - {name: basher, turn: 3, calls: [{tool: Bash, input: {command: echo basher 3 >> basher.txt}}]}
  - {name: basher, text: bashed}
  - {name: editor, turn: 1, calls: [&r {tool: Read, input: {file_path: editor.txt}}, {tool: Edit, input: {file_path: editor.txt, old_string: END, new_string: "editor 1\nEND"}}]}
  - {name: editor, turn: 2, calls: [*r, {tool: Edit, input: {file_path: editor.txt, old_string: END, new_string: "editor 2\nEND"}}]}
  - {name: editor, text: edited}
`

// TestKillBackground kills runs with tasks in the background at fifty moments nobody chose:
// after so many lines of their output and a little. Words from another terminal arrive
// all the while. However often a run was killed, it comes to its end; nothing that was sent or
// has ended is told twice or not at all, and nothing is done twice.
func TestKillBackground(t *testing.T) {
	t.Parallel()
	rng := lots(t)
	const kills, together = 50, 5
	for i := range together {
		own := rand.New(rand.NewPCG(rng.Uint64(), uint64(i)))
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			jobs := 0
			for left := kills / together; left > 0; jobs++ {
				left -= killTeam(t, own, left)
			}
			t.Logf("%d kills in %d runs", kills/together, jobs)
		})
	}
}

// killTeam takes one run to its end, with at most so many kills, and returns how many hit it.
func killTeam(t *testing.T, rng *rand.Rand, most int) (kills int) {
	p := newPlace(t)
	p.write("../s.yaml", team)
	var lines strings.Builder
	for i := range 200 {
		fmt.Fprintf(&lines, "line %d of a file that is long enough to matter for a window\n", i)
	}
	p.write("lines.txt", lines.String())
	p.write("editor.txt", "END\n")
	p.write("basher.txt", "")
	p.write("main.txt", "")
	var sent []troupe.MailID
	for over := false; !over; {
		proc, err := startProcess(p.command(append(p.goOnTeam(), "--output-format", "stream-json")...))
		if err != nil {
			t.Fatal(err)
		}
		after := killAfter{lines: rng.IntN(60), then: time.Duration(rng.IntN(3000)) * time.Microsecond}
		words := steer(p, proc, []string{"job", "job/editor"}[rng.IntN(2)], kills)
		if kills < most {
			after.kill(proc)
		}
		r, err := proc.wait()
		if r.code == 2 && strings.Contains(r.errOut, "is being run by process") {
			continue // a command that the killed process was just starting still holds its lock, until it has begun
		}
		// it was killed on its way out
		finished := r.code == 2 && strings.Contains(r.errOut, "nothing left to continue")
		if err != nil || r.code > 0 && !finished {
			t.Fatalf("%v, exit %d\n%s%s", err, r.code, r.out, r.errOut)
		}
		if over = r.code >= 0; !over {
			kills++
			t.Logf("killed after %d lines and %v", after.lines, after.then)
		}
		if id := <-words; id != "" {
			sent = append(sent, id)
		}
	}
	p.checkTeam(sent)
	return kills
}

type killAfter struct {
	lines int
	then  time.Duration
}

func (k killAfter) kill(proc *process) {
	n := 0
	for range proc.lines {
		if n++; n > k.lines {
			break
		}
	}
	timer := time.NewTimer(k.then)
	<-timer.C
	_ = proc.cmd.Process.Kill() // it may have ended
}

// steer sends words to an agent of a process once that has begun to speak. What it returns
// says which mail they became; "" if they did not arrive, as when the process was killed.
func steer(p *place, proc *process, to string, n int) <-chan troupe.MailID {
	id := make(chan troupe.MailID, 1)
	cmd := p.command("send", to, fmt.Sprintf("word %d", n), "--json")
	go func() {
		defer close(id)
		<-proc.begun
		out, err := cmd.Output()
		var sent wire.Sent
		if err == nil && json.Unmarshal(out, &sent) == nil {
			id <- sent.Mail
		}
	}()
	return id
}

// goOnTeam is the command that begins the job or goes on with it.
func (p *place) goOnTeam() []string {
	p.t.Helper()
	if p.troupe("show", "job", "--json").code == 2 {
		return []string{"-p", "go", "--name", "job", "--model", "script:../s.yaml", "--permission-mode",
			"bypassPermissions"}
	}
	return []string{"-p", "--resume", "job"}
}

// checkTeam: the run is over, by its log nothing is lost or doubled, and the world agrees.
func (p *place) checkTeam(sent []troupe.MailID) {
	p.t.Helper()
	run := p.report("job")
	if run.Result != "all done" || len(run.Agents) != 3 {
		p.t.Errorf("in the end: %+v", run)
	}
	// Words that came when the tree was over already wait for whoever goes on with it.
	read := make(map[troupe.MailID]bool)
	events := p.audit("job")
	for _, id := range mailRead(p.t, events) {
		read[id] = true
	}
	for _, id := range sent {
		if !read[id] {
			p.run(0, "-p", "--resume", "job")
			events = p.audit("job")
			break
		}
	}
	for _, id := range sent {
		n := 0
		for _, got := range mailRead(p.t, events) {
			if got == id {
				n++
			}
		}
		if n != 1 {
			p.t.Errorf("words that were sent as %s were read %d times", id, n)
		}
	}
	if !has[troupe.Compacted](p.t, events) {
		p.t.Error("no summary was made")
	}
	p.countTeam(events)
}

// report is what troupe show says of a tree.
func (p *place) report(ref string) wire.Report {
	p.t.Helper()
	r := p.troupe("show", ref, "--json")
	var run wire.Report
	if err := json.Unmarshal([]byte(r.out), &run); err != nil {
		p.t.Fatalf("troupe show %s: %v\n%s%s", ref, err, r.out, r.errOut)
	}
	return run
}

func mailRead(t testing.TB, events []wire.Event) []troupe.MailID {
	t.Helper()
	var out []troupe.MailID
	for _, b := range bodies[troupe.MailDelivered](t, events) {
		for _, m := range b.Mail {
			out = append(out, m.ID)
		}
	}
	return out
}

func has[T troupe.Body](t testing.TB, events []wire.Event) bool {
	t.Helper()
	return len(bodies[T](t, events)) > 0
}

// bodies picks the events of one kind.
func bodies[T troupe.Body](t testing.TB, events []wire.Event) []T {
	t.Helper()
	var out []T
	for _, e := range events {
		body, err := troupe.DecodeBody(e.Type, e.Data)
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := body.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

// countTeam: what was told to be done was done once, and nothing was done twice.
func (p *place) countTeam(events []wire.Event) {
	p.t.Helper()
	names := make(map[troupe.SessionID]string)
	told := make(map[string]bool) // steps that were told to have succeeded
	for _, e := range events {
		body, err := troupe.DecodeBody(e.Type, e.Data)
		if err != nil {
			p.t.Fatal(err)
		}
		step := func(reply int) string { return fmt.Sprintf("%s %d", names[e.Session], reply) }
		switch b := body.(type) {
		case troupe.Created:
			if names[e.Session] = b.Name; b.Parent == "" {
				names[e.Session] = "main"
			}
		case troupe.ToolFinished:
			if (b.Name == "Bash" || b.Name == "Edit") && b.Task == nil && !b.Result.IsError {
				told[step(b.Result.Reply)] = true
			}
		case troupe.MailDelivered:
			for _, m := range b.Mail {
				if o := m.Ended; o != nil && o.Kind == troupe.TaskShell && o.Status == troupe.Completed {
					told[step(o.Coord.Reply)] = true
				}
			}
		}
	}
	for _, step := range []string{"main 1", "main 2", "main 6", "basher 1", "basher 2", "basher 3", "editor 1",
		"editor 2"} {
		name, _, _ := strings.Cut(step, " ")
		if n := strings.Count(p.read(name+".txt"), step+"\n"); n > 1 || n == 0 && told[step] {
			p.t.Errorf("%q was done %d times; it was told to have succeeded: %v", step, n, told[step])
		}
	}
}
