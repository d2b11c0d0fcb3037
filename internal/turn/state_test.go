package turn_test

import (
	"os"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// TestAllowedMatchesDocs compares turn.Allowed with the table people read, for every
// status and every kind of event.
func TestAllowedMatchesDocs(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/state.md")
	if err != nil {
		t.Fatal(err)
	}
	table := readTable(t, string(doc))
	type place struct {
		st troupe.Status
		w  troupe.WaitReason
	}
	places := map[string]place{"(unborn)": {}}
	for _, st := range troupe.Statuses() {
		if st != troupe.Waiting {
			places[string(st)] = place{st: st}
			continue
		}
		for _, w := range troupe.WaitReasons() {
			places["waiting "+string(w)] = place{st, w}
		}
	}
	if len(table) != len(places) {
		t.Errorf("docs/state.md has %d rows, the machine has %d places", len(table), len(places))
	}
	for name, p := range places {
		row, ok := table[name]
		if !ok {
			t.Errorf("docs/state.md has no row %q", name)
			continue
		}
		for _, k := range troupe.Kinds() {
			if got, want := turn.Allowed(p.st, p.w, k), row[string(k)]; got != want {
				t.Errorf("%s + %s: code says %v, docs/state.md says %v", name, k, got, want)
			}
		}
	}
}

func readTable(t *testing.T, doc string) map[string]map[string]bool {
	t.Helper()
	_, rest, ok := strings.Cut(doc, "| | session.created |")
	if !ok {
		t.Fatal("docs/state.md has no event table")
	}
	lines := strings.Split("| | session.created |"+rest, "\n")
	cells := func(line string) []string {
		parts := strings.Split(strings.Trim(line, "|"), "|")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		return parts
	}
	head := cells(lines[0])
	out := make(map[string]map[string]bool)
	for _, line := range lines[2:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		row := cells(line)
		m := make(map[string]bool)
		for i := 1; i < len(head); i++ {
			m[head[i]] = row[i] == "x"
		}
		out[row[0]] = m
	}
	return out
}

// Calls are judged side by side; what was denied is told in the order of the reply all the same.
func TestDenialsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	l := born(t, troupe.Limits{}).turn(troupe.StopToolUse, "Read", "Grep", "Glob")
	for _, call := range []int{1, 2, 0} {
		name := []string{"Read", "Grep", "Glob"}[call]
		l = l.add(troupe.ToolFinished{
			Name: name, Result: troupe.Result{Reply: 1, Call: call, IsError: true},
			Denied: &troupe.Decision{Effect: troupe.Deny},
		})
	}
	var names []string
	for _, d := range l.st.Evidence.Denied {
		names = append(names, d.Tool)
	}
	if got := strings.Join(names, " "); got != "Read Grep Glob" {
		t.Errorf("denied are %s", got)
	}
}

// TestDiagramMatchesAllowed: each arrow of the diagram is an event that may come there, and no end is left out.
// Nothing waits for mail alone yet, so that place is not drawn.
func TestDiagramMatchesAllowed(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/state.md")
	if err != nil {
		t.Fatal(err)
	}
	_, diagram, _ := strings.Cut(string(doc), "stateDiagram-v2")
	diagram, _, _ = strings.Cut(diagram, "```")
	ends := map[string]bool{}
	for line := range strings.Lines(diagram) {
		from, rest, ok := strings.Cut(strings.TrimSpace(line), " --> ")
		if !ok {
			continue
		}
		_, label, _ := strings.Cut(rest, ": ")
		kind, _, _ := strings.Cut(label, " ")
		status, waiting, _ := strings.Cut(from, "_")
		if from == "[*]" {
			status = ""
		}
		if from == string(troupe.MaxTurns) {
			status, waiting = from, ""
		}
		if !turn.Allowed(troupe.Status(status), troupe.WaitReason(waiting), troupe.Kind(kind)) {
			t.Errorf("%s: %s may not come there", strings.TrimSpace(line), kind)
		}
		ends[from] = ends[from] || kind == string(troupe.KindEnded)
	}
	for _, st := range troupe.Statuses() {
		reasons := []troupe.WaitReason{""}
		if st == troupe.Waiting {
			reasons = troupe.WaitReasons()
		}
		for _, w := range reasons {
			if place := strings.TrimSuffix(string(st)+"_"+string(w), "_"); w != troupe.WaitMail && st.Live() &&
				turn.Allowed(st, w, troupe.KindEnded) != ends[place] {
				t.Errorf("%s: that it may end is said: %v", place, ends[place])
			}
		}
	}
}
