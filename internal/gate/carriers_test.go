package gate

import (
	"os"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestCarriers: a rule that allows a program with whatever follows does not cover the options by which that runs
// another program, loads code or writes where its name does not say; a rule that denies a program by name holds for
// those that are known to carry it.
func TestCarriers(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/carriers.tsv")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 5 || cells[3] != "covered" && cells[3] != "open" || cells[4] == "" {
			t.Fatalf("%q has not five cells: effect, rule, command, covered or open, and why", line)
		}
		rows++
		rule := parse(t, troupe.Effect(cells[0]), cells[1])
		d := run(cells[2], bothLevels, rule)
		covered := d.Step == StepAllowRule || d.Step == StepDenyRule
		if covered != (cells[3] == "covered") {
			t.Errorf("%s %s, %q: want %s (%s): %s, %s", cells[0], cells[1], cells[2], cells[3], cells[4], d.Step, d.Why)
		}
	}
	if rows < 100 {
		t.Errorf("%d rows", rows)
	}
}

// TestCarriersAreNamed: where a rule for the program is there, the question says why it does not count.
func TestCarriersAreNamed(t *testing.T) {
	t.Parallel()
	d := run("go vet -vettool=./x .", nil, allows(t, "Bash(go vet:*)")...)
	if d.Effect != troupe.Ask || !strings.Contains(d.Why, "the word `-vettool=./x`") {
		t.Errorf("%+v", d)
	}
}
