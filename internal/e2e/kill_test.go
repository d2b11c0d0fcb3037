package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// twoChildren is a run of three agents, each reply of which has an effect that can be
// counted: a line added to a file, by Bash or by Edit. The script never repeats a step,
// whatever became of it; only the runtime could.
const twoChildren = `
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: Agent, input: {name: basher, description: d, prompt: p}}
      - {tool: Agent, input: {name: editor, description: d, prompt: p}}
  - agent: main
    turn: 2
    calls: [{tool: Bash, input: {command: echo main 2 >> main.txt}}]
  - agent: main
    text: all done
  - {name: basher, turn: 1, calls: [{tool: Bash, input: {command: echo basher 1 >> basher.txt}}]}
  - {name: basher, turn: 2, calls: [{tool: Glob, input: {pattern: "*"}}, {tool: Bash, input: {command: echo basher 2 >> basher.txt}}]}
  - {name: basher, turn: 3, calls: [{tool: Bash, input: {command: echo basher 3 >> basher.txt}}]}
  - {name: basher, text: bashed}
  - {name: editor, turn: 1, calls: [&r {tool: Read, input: {file_path: editor.txt}}, {tool: Edit, input: {file_path: editor.txt, old_string: END, new_string: "editor 1\nEND"}}]}
  - {name: editor, turn: 2, calls: [*r, {tool: Edit, input: {file_path: editor.txt, old_string: END, new_string: "editor 2\nEND"}}]}
  - {name: editor, turn: 3, calls: [*r, {tool: Edit, input: {file_path: editor.txt, old_string: END, new_string: "editor 3\nEND"}}]}
  - {name: editor, text: edited}
`

// TestKillAnywhere kills a run at moments nobody chose, its resumption as well, and resumes
// it until it is done. TROUPE_E2E_SEED repeats the moments of a run.
func TestKillAnywhere(t *testing.T) {
	t.Parallel()
	rng := lots(t)
	const runs = 20
	for i := range runs {
		// Most of a run happens soon after its start; the square has more early moments.
		moments := make([]time.Duration, 3)
		for j := range moments {
			f := rng.Float64()
			moments[j] = time.Duration(f * f * float64(200*time.Millisecond))
		}
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			killAt(t, moments)
		})
	}
}

// lots draws what is left to chance; TROUPE_E2E_SEED repeats it.
func lots(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("TROUPE_E2E_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("TROUPE_E2E_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func killAt(t *testing.T, moments []time.Duration) {
	p := newPlace(t)
	p.write("../s.yaml", twoChildren)
	p.write("editor.txt", "END\n")
	p.write("basher.txt", "")
	p.write("main.txt", "")
	for _, after := range moments {
		args := p.goOn()
		if args == nil {
			break
		}
		proc, err := startProcess(p.command(args...))
		if err != nil {
			t.Fatal(err)
		}
		timer := time.NewTimer(after)
		<-timer.C
		_ = proc.cmd.Process.Kill() // it may have ended
		r, err := proc.wait()
		if err != nil || r.code > 0 {
			t.Fatalf("killed after %v: %v, exit %d\n%s", after, err, r.code, r.errOut)
		}
		t.Logf("killed after %v, code %d", after, r.code)
	}
	if args := p.goOn(); args != nil {
		if run := p.run(0, args...); run.Result != "all done" {
			t.Errorf("after kills at %v: %+v", moments, run)
		}
	}
	p.countEffects(p.audit("job"))
}

// goOn is the command that begins the job, or goes on with it; nil if it is done.
func (p *place) goOn() []string {
	p.t.Helper()
	switch show := p.troupe("show", "job", "--json"); {
	case show.code == 2:
		return []string{"-p", "go", "--name", "job", "--model", "script:../s.yaml", "--permission-mode",
			"bypassPermissions"}
	case strings.Contains(show.out, `"type":"session"`) && strings.Contains(show.out, `"result":"all done"`):
		return nil
	}
	return []string{"-p", "--resume", "job"}
}

// countEffects: what a call reports as done was done once, and nothing was done twice.
func (p *place) countEffects(events []wire.Event) {
	p.t.Helper()
	clear := make(map[string]bool) // steps whose call neither failed nor was interrupted
	names := make(map[troupe.SessionID]string)
	for _, e := range events {
		body, err := troupe.DecodeBody(e.Type, e.Data)
		if err != nil {
			p.t.Fatal(err)
		}
		switch b := body.(type) {
		case troupe.Created:
			names[e.Session] = b.Name
		case troupe.ToolFinished:
			name := names[e.Session]
			if name == "job" {
				name = "main"
			}
			if (b.Name == "Bash" || b.Name == "Edit") && !b.Result.IsError {
				clear[fmt.Sprintf("%s %d", name, b.Result.Reply)] = true
			}
		}
	}
	for _, step := range []string{"main 2", "basher 1", "basher 2", "basher 3", "editor 1", "editor 2", "editor 3"} {
		name, _, _ := strings.Cut(step, " ")
		n := strings.Count(p.read(name+".txt"), step+"\n")
		if n > 1 || n == 0 && clear[step] {
			p.t.Errorf("%q was done %d times; its call succeeded: %v", step, n, clear[step])
		}
	}
}
