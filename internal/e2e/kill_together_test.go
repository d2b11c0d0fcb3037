package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestKillTogether kills runs in which agents wait for each other, or are checked, after so many lines of their output
// and a little, and resumes each until it is done. However often it was killed, it comes to the end that it comes to
// without: nothing that was handed over is lost or told twice, and nothing is done twice. TROUPE_E2E_SEED repeats the
// moments.
func TestKillTogether(t *testing.T) {
	t.Parallel()
	rng := lots(t)
	for name, job := range map[string]killedJob{
		"writes": {script: killedWrites, check: (*place).oneAfterTheOther},
		"verify": {script: killedVerify, git: true, check: (*place).verifiedOnce},
		"handoff": {script: killedHandoff, check: (*place).judgedOnce,
			files: map[string]string{"../home/settings.json": `{"handoff": {"model": "haiku"}}`}},
		"workflow": {script: killedSteps, check: (*place).eachStepOnce, begin: []string{"workflow", "run", "./w.yaml"},
			files: map[string]string{"w.yaml": killedFlow}},
		"team": {script: killedTeam, check: (*place).eachMessageOnce,
			begin: []string{"team", "-p", "mend it", "--size", "3"}},
	} {
		for i := range 4 {
			own := rand.New(rand.NewPCG(rng.Uint64(), uint64(i)))
			t.Run(fmt.Sprintf("%s%d", name, i), func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				job.prepare(p)
				t.Logf("%d kills", job.kill(p, own, 5))
				if got := p.report("job").Result; got != "all done" {
					t.Errorf("in the end: %q", got)
				}
				events := p.audit("job")
				p.countLines(events)
				job.check(p, events)
			})
		}
	}
}

// killedJob is a run that is killed.
type killedJob struct {
	script string
	begin  []string // "-p go", if there is none
	files  map[string]string
	git    bool
	check  func(*place, []wire.Event)
}

func (j killedJob) prepare(p *place) {
	p.t.Helper()
	p.write("../s.yaml", j.script)
	p.write("lines.txt", "")
	for name, text := range j.files {
		p.write(name, text)
	}
	if j.git {
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "A"},
			{"config", "user.email", "a@b"}, {"add", "-A"}, {"commit", "-qm", "first"}} {
			p.git(args...)
		}
	}
}

// kill takes the run to its end, with at most so many kills, and returns how many hit it.
func (j killedJob) kill(p *place, rng *rand.Rand, most int) (kills int) {
	for {
		args := []string{"-p", "--resume", "job"}
		if p.troupe("show", "job", "--json").code == 2 {
			if args = j.begin; args == nil {
				args = []string{"-p", "go"}
			}
			args = append(args, "--name", "job", "--model", "script:../s.yaml", "--permission-mode",
				"bypassPermissions")
		}
		proc, err := startProcess(p.command(append(args, "--output-format", "stream-json")...))
		if err != nil {
			p.t.Fatal(err)
		}
		if kills < most {
			killAfter{lines: rng.IntN(30), then: time.Duration(rng.IntN(20_000)) * time.Microsecond}.kill(proc)
		}
		r, err := proc.wait()
		switch {
		case r.code == 2 && strings.Contains(r.errOut, "is being run by process"):
			continue // a command that the killed process was just starting holds its lock until it has begun
		case r.code == 2 && strings.Contains(r.errOut, "nothing left to continue"):
			return kills // it was killed on its way out
		case err != nil || r.code > 0:
			p.t.Fatalf("%v, exit %d\n%s%s", err, r.code, r.out, r.errOut)
		case r.code == 0:
			return kills
		}
		kills++
	}
}

// countLines: what a command that ended well was to write once stands there once, and nothing does twice.
func (p *place) countLines(events []wire.Event) {
	p.t.Helper()
	names := namesOf(p.t, events)
	want := make(map[string]bool)
	for _, e := range events {
		body, err := troupe.DecodeBody(e.Type, e.Data)
		if err != nil {
			p.t.Fatal(err)
		}
		if b, ok := body.(troupe.ToolFinished); ok && b.Name == "Bash" && !b.Result.IsError {
			want[fmt.Sprintf("%s %d", names[e.Session], b.Result.Reply)] = true
		}
	}
	have := make(map[string]int)
	for line := range strings.Lines(p.read("lines.txt")) {
		have[strings.TrimSpace(line)]++
	}
	for line, n := range have {
		if n > 1 {
			p.t.Errorf("%q was done %d times", line, n)
		}
	}
	for line := range want {
		if have[line] == 0 && !strings.HasPrefix(line, "Check ") {
			p.t.Errorf("%q was told to be done, and was not", line)
		}
	}
}

func namesOf(t testing.TB, events []wire.Event) map[troupe.SessionID]string {
	t.Helper()
	names := make(map[troupe.SessionID]string)
	for _, e := range events {
		body, err := troupe.DecodeBody(e.Type, e.Data)
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := body.(troupe.Created); ok {
			names[e.Session] = b.Name
		}
	}
	return names
}

// named are the outcomes of an agent's runs, and its sessions.
func named(t testing.TB, events []wire.Event, name string) (ends []troupe.Outcome, sessions int) {
	t.Helper()
	for id, n := range namesOf(t, events) {
		if n != name {
			continue
		}
		sessions++
		for _, b := range bodies[troupe.Ended](t, events) {
			if b.Outcome.Session == id {
				ends = append(ends, b.Outcome)
			}
		}
	}
	return ends, sessions
}

const killedWrites = `
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: Agent, input: {subagent_type: general-purpose, name: One, description: d, prompt: p, writes: ['*.txt']}}
      - {tool: Agent, input: {subagent_type: general-purpose, name: Two, description: d, prompt: p, writes: ['lines*']}}
      - {tool: Agent, input: {subagent_type: general-purpose, name: Three, description: d, prompt: p, writes: ['**']}}
  - {agent: main, text: all done}
  - {name: One, turn: 1, calls: [{tool: Bash, input: {command: "echo One 1 >> lines.txt"}}]}
  - {name: One, turn: 2, calls: [{tool: Bash, input: {command: "sleep 0.02; echo One 2 >> lines.txt"}}]}
  - {name: One, text: done}
  - {name: Two, turn: 1, calls: [{tool: Bash, input: {command: "echo Two 1 >> lines.txt"}}]}
  - {name: Two, turn: 2, calls: [{tool: Bash, input: {command: "sleep 0.02; echo Two 2 >> lines.txt"}}]}
  - {name: Two, text: done}
  - {name: Three, turn: 1, calls: [{tool: Bash, input: {command: "echo Three 1 >> lines.txt"}}]}
  - {name: Three, text: done}
`

// oneAfterTheOther: of agents that may change the same files none is at work beside another one.
func (p *place) oneAfterTheOther(events []wire.Event) {
	p.t.Helper()
	names := namesOf(p.t, events)
	began, ended := make(map[string]time.Time), make(map[string]time.Time)
	for _, e := range events {
		switch e.Type {
		case troupe.KindStarted:
			began[names[e.Session]] = e.At
		case troupe.KindEnded:
			ended[names[e.Session]] = e.At
		default:
		}
	}
	order := []string{"One", "Two", "Three"}
	for i, name := range order[1:] {
		if before := order[i]; began[name].IsZero() || began[name].Before(ended[before]) {
			p.t.Errorf("%s began at %v, and %s ended at %v", name, began[name], before, ended[before])
		}
	}
}

const killedVerify = `
replies:
  - {agent: main, turn: 1, calls: [{tool: Agent, input: {subagent_type: general-purpose, name: Good, description: d, prompt: p, verify: true}}]}
  - {agent: main, contains: 'verified by agent Check Good in a folder of its own: PASS', text: all done}
  - {name: Good, turn: 1, calls: [{tool: Bash, input: {command: "echo Good 1 >> lines.txt"}}]}
  - {name: Good, turn: 2, calls: [{tool: Write, input: {file_path: new.txt, content: "new\n"}}]}
  - {name: Good, text: It is good.}
  - {name: Check Good, turn: 1, calls: [{tool: Bash, input: {command: "cat lines.txt; echo junk >> junk.txt"}}]}
  - {name: Check Good, turn: 2, calls: [{tool: Bash, input: {command: "sleep 0.02"}}]}
  - {name: Check Good, text: "It holds.\nVERDICT: PASS"}
`

// verifiedOnce: the result was checked once, before it was handed over, and what the check did stays apart.
func (p *place) verifiedOnce(events []wire.Event) {
	p.t.Helper()
	ends, _ := named(p.t, events, "Good")
	_, checks := named(p.t, events, "Check Good")
	started, over := bodies[troupe.VerifyStarted](p.t, events), bodies[troupe.VerifyEnded](p.t, events)
	if len(ends) != 1 || ends[0].Verified == nil || ends[0].Verified.Verdict != "PASS" || checks != 1 ||
		len(started) != 1 || len(over) != 1 {
		p.t.Errorf("it ended %d times, with %+v; %d agents checked it, %d times begun and %d ended", len(ends), ends,
			checks, len(started), len(over))
	}
	if strings.Contains(p.git("status", "--porcelain"), "junk.txt") {
		p.t.Error("what the check wrote is in the project")
	}
}

const killedHandoff = `
replies:
  - {agent: main, turn: 1, calls: [{tool: Agent, input: {subagent_type: general-purpose, name: Liar, description: d, prompt: p}}]}
  - {agent: main, contains: 'it says what it did not do', text: all done}
  - {agent: handoff, text: "flag: it says what it did not do"}
  - {name: Liar, turn: 1, calls: [{tool: Bash, input: {command: "echo Liar 1 >> lines.txt"}}]}
  - {name: Liar, text: It is 30 % faster.}
`

// judgedOnce: one verdict is in the log, and is handed over with the result.
func (p *place) judgedOnce(events []wire.Event) {
	p.t.Helper()
	ends, _ := named(p.t, events, "Liar")
	said := bodies[troupe.HandoffJudged](p.t, events)
	if len(ends) != 1 || len(ends[0].Flags) != 1 || ends[0].Flags[0].Rule != troupe.HandoffModelRule ||
		ends[0].Unchecked != "" || len(said) != 1 {
		p.t.Errorf("%d verdicts, and it ended with %+v", len(said), ends)
	}
}

const killedFlow = `
steps:
  - {name: first, prompt: begin}
  - {name: left, needs: first, prompt: go left}
  - {name: right, needs: first, prompt: go right}
  - {name: last, needs: [left, right], prompt: end it}
`

const killedSteps = `
replies:
  - {name: first, turn: 1, calls: [{tool: Bash, input: {command: "echo first 1 >> lines.txt"}}]}
  - {name: first, text: at the fork}
  - {name: left, contains: at the fork, turn: 1, calls: [{tool: Bash, input: {command: "echo left 1 >> lines.txt"}}]}
  - {name: left, text: it was left}
  - {name: right, contains: at the fork, turn: 1, calls: [{tool: Bash, input: {command: "echo right 1 >> lines.txt"}}]}
  - {name: right, turn: 2, calls: [{tool: Bash, input: {command: "sleep 0.02; echo right 2 >> lines.txt"}}]}
  - {name: right, text: it was right}
  - {name: last, contains: [it was left, it was right], turn: 1, calls: [{tool: Bash, input: {command: "echo last 1 >> lines.txt"}}]}
  - {name: last, text: all done}
`

// eachStepOnce: each step has one agent, which ended once, and after those that it needs.
func (p *place) eachStepOnce(events []wire.Event) {
	p.t.Helper()
	for _, name := range []string{"first", "left", "right", "last"} {
		ends, agents := named(p.t, events, name)
		if agents != 1 || len(ends) != 1 || ends[0].Status != troupe.Completed {
			p.t.Errorf("step %s had %d agents, and ended as %+v", name, agents, ends)
		}
	}
}

const killedTeam = `
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: TaskCreate, input: {subject: One part}}
      - {tool: SendMessage, input: {to: Member 1, message: take the part}}
      - {tool: SendMessage, input: {to: Member 2, message: look at it}}
  - {agent: main, contains: 'of your team is idle', text: all done}
  - {agent: main, text: I wait.}
  - {name: Member 1, turn: 1, contains: take the part, calls: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}, {tool: Bash, input: {command: "echo Member 1 1 >> lines.txt"}}]}
  - {name: Member 1, turn: 2, calls: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}, {tool: SendMessage, input: {to: Member 2, message: it is done}}]}
  - {name: Member 1, text: I did it.}
  - {name: Member 2, turn: 1, contains: look at it, calls: [{tool: Bash, input: {command: "echo Member 2 1 >> lines.txt"}}]}
  - {name: Member 2, text: I looked.}
`

// eachMessageOnce: two members are there, and what is said to them is read once, each in its order.
func (p *place) eachMessageOnce(events []wire.Event) {
	p.t.Helper()
	names := namesOf(p.t, events)
	if len(names) != 3 {
		p.t.Errorf("%d sessions: %v", len(names), names)
	}
	read := make(map[troupe.MailID]int)
	for _, id := range mailRead(p.t, events) {
		read[id]++
	}
	words := 0
	for _, b := range bodies[troupe.MailDelivered](p.t, events) {
		for _, m := range b.Mail {
			if m.Kind == troupe.MailMessage && m.Message.Type == troupe.MessageWords {
				words++
			}
		}
	}
	for id, n := range read {
		if n != 1 {
			p.t.Errorf("%s was read %d times", id, n)
		}
	}
	done := 0
	for _, b := range bodies[troupe.BoardChanged](p.t, events) {
		for _, it := range b.Items {
			if it.Status == troupe.BoardCompleted {
				done++
			}
		}
	}
	if words != 3 || done != 1 {
		p.t.Errorf("%d messages were read, of 3, and the task was completed %d times", words, done)
	}
}
