package e2e_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// damageLog runs SQL on the database of the home, as damage would have it.
func (p *place) damageLog(statements string) {
	p.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(p.home(), "troupe.db"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(p.t.Context(), statements); err != nil {
		p.t.Fatal(err)
	}
}

// teamOfTwo is a main agent with an agent that it waits for, and one in the background.
const teamOfTwo = `
price: {input: 3, output: 15, cache_read: 0.3, cache_write: 3.75}
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: Agent, input: {subagent_type: general-purpose, description: A one, prompt: job A}}
      - {tool: Agent, input: {subagent_type: general-purpose, description: B two, prompt: job B, run_in_background: true}}
  - {agent: main, text: all done}
  - {turn: 1, calls: [{tool: Bash, input: {command: echo ran >> log.txt}}]}
  - text: sub is done
`

// TestResumeAfterCut: after a repair that lost the end of the main agent's log, a resume settles: the agents
// that were born in it are not born again, their ends are there, and the bill is not less than it was.
func TestResumeAfterCut(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"the reply": `delete from events where seq = 5 and session = root`,
		"the births": `delete from events where session = root and seq = (select min(seq) from events
			where session = root and kind = 'tool.started')`,
		"the row too": `delete from events where seq = 5 and session = root; delete from sessions where id = root`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("../s.yaml", teamOfTwo)
			flags := []string{"--model", "script:../s.yaml", "--permission-mode", "bypassPermissions"}
			before := p.run(0, append([]string{"-p", "go"}, flags...)...)
			p.damageLog(damage)
			if r := p.troupe("doctor", "--repair"); r.code != 0 {
				t.Fatalf("exit %d\n%s%s", r.code, r.out, r.errOut)
			}
			after := p.run(0, append([]string{"-p", "--resume", string(before.SessionID)},
				flags...)...)
			if after.Result != "all done" || len(after.Agents) != 3 {
				t.Errorf("it ended with %q, of %d agents", after.Result, len(after.Agents))
			}
			if n := strings.Count(p.read("log.txt"), "ran"); n != 2 {
				t.Errorf("two agents did their job %d times", n)
			}
			if !strings.Contains(name, "row") && after.CostUSD < before.CostUSD {
				t.Errorf("the bill was %v and is %v", before.CostUSD, after.CostUSD)
			}
			cost := p.troupe("cost", string(before.SessionID))
			if !strings.Contains(cost.out, "may be incomplete") || !strings.Contains(cost.out, "main") {
				t.Errorf("exit %d\n%s%s", cost.code, cost.out, cost.errOut)
			}
			p.audit(string(before.SessionID))
			if d := p.troupe("doctor"); strings.Contains(d.out, "damaged") {
				t.Errorf("%s", d.out)
			}
		})
	}
}

// TestParentOfCutAgent: an agent whose log was cut, or lost, comes to an end for the parent that waits for it.
func TestParentOfCutAgent(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"cut":  `delete from events where seq > 4 and session <> root`,
		"lost": `delete from events where session <> root`,
		"gone": `delete from events where session <> root; delete from sessions where id <> root`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("../s.yaml", teamOfTwo)
			flags := []string{"--model", "script:../s.yaml", "--permission-mode", "bypassPermissions"}
			before := p.run(0, append([]string{"-p", "go"}, flags...)...)
			// As it was while the main agent waited: what brought the ends, and what followed, is not there yet.
			p.damageLog(`create temp table cut as select min(seq) s from events where session = root and (
				kind = 'tool.finished' and json_extract(body, '$.result.call') = 0
				or kind = 'mail.delivered' and seq > 4);
				delete from events where session = root and seq >= (select s from cut);
				delete from mail where receiver = root;
				update sessions set seq = (select s - 1 from cut), status = 'waiting', waiting = 'children',
					result = '', ended_at = 0 where id = root; ` + damage)
			if r := p.troupe("doctor", "--repair"); r.code != 0 {
				t.Fatalf("exit %d\n%s%s", r.code, r.out, r.errOut)
			}
			after := p.run(0, append([]string{"-p", "--resume", string(before.SessionID)},
				flags...)...)
			log := p.troupe("log", string(before.SessionID), "--json").out
			if after.Result != "all done" || strings.Count(log, "interrupted: its log") < 2 {
				t.Errorf("it ended with %q\n%s", after.Result, log)
			}
		})
	}
}
