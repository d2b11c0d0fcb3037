package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/wire"
)

// TestDamagedBirth: agents whose births name a place that no session can have do not keep the others from being
// saved. Where the row is whole, an agent is saved with the place that the row has; else it is lost.
func TestDamagedBirth(t *testing.T) {
	t.Parallel()
	const birth = `UPDATE events SET body = CAST(replace(CAST(body AS TEXT), '"depth":1', '"depuh":1') AS BLOB)
		WHERE kind = 'session.created' AND session IN (SELECT id FROM sessions WHERE parent <> '');`
	for name, tt := range map[string]struct {
		damage string
		agents int
	}{
		"by its row":  {birth, 3},
		"without one": {birth + `DELETE FROM sessions WHERE name = 'kid'`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("../s.yaml", `
replies:
  - {agent: main, turn: 1, calls: [{tool: Agent, input: {name: kid, description: d, prompt: p}}, {tool: Agent, input: {name: kit, description: d, prompt: p}}]}
  - {agent: main, text: all done}
  - text: seen
`)
			p.run(0, "-p", "go", "--name", "job", "--model", "script:../s.yaml")
			p.damageLog(tt.damage)
			r := p.troupe("doctor", "--repair", "--json")
			var repaired wire.Repair
			if err := json.Unmarshal([]byte(r.out), &repaired); err != nil || r.code != 0 {
				t.Fatalf("exit %d, %v\n%s%s", r.code, err, r.out, r.errOut)
			}
			if all := p.sessions(); len(all) != tt.agents || repaired.Whole != tt.agents {
				t.Errorf("%d sessions, and %d said to be whole; want %d\n%s", len(all), repaired.Whole, tt.agents,
					r.out)
			}
			if d := p.troupe("doctor"); strings.Contains(d.out, "damaged") {
				t.Errorf("after the repair:\n%s", d.out)
			}
		})
	}
}
