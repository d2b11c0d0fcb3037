package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestCheck: a run that did not do all of the work is not measured.
func TestCheck(t *testing.T) {
	t.Parallel()
	want := expected{agents: 2, turns: 6}
	good := func() wire.Report {
		return wire.Report{Agents: []wire.Session{{Status: troupe.Completed, Turns: 2},
			{Status: troupe.Completed, Turns: 4}}}
	}
	for name, tt := range map[string]struct {
		change   func(*wire.Report, *measured)
		requests int
		problem  string
	}{
		"good":           {func(*wire.Report, *measured) {}, 6, ""},
		"a lost agent":   {func(r *wire.Report, _ *measured) { r.Agents = r.Agents[:1] }, 6, "1 agents"},
		"a failed agent": {func(r *wire.Report, _ *measured) { r.Agents[1].Status = troupe.Failed }, 6, "failed"},
		"a turn too few": {func(r *wire.Report, _ *measured) { r.Agents[1].Turns = 3 }, 6, "5 turns"},
		"asked twice":    {func(*wire.Report, *measured) {}, 7, "7 requests"},
		"exit code":      {func(_ *wire.Report, m *measured) { m.Exit = 1 }, 6, "exit code 1"},
	} {
		r, m := good(), measured{}
		tt.change(&r, &m)
		var err error
		if m.Out, err = json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		err = check(m, tt.requests, want)
		if tt.problem == "" && err != nil || tt.problem != "" &&
			(err == nil || !strings.Contains(err.Error(), tt.problem)) {
			t.Errorf("%s: %v; want %q", name, err, tt.problem)
		}
	}
	if err := check(measured{Out: []byte("troupe: oops")}, 6, want); err == nil {
		t.Error("output that is no report was taken for one")
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	if o, err := parse([]string{"-n", "5, 7", "-runs", "2"}); err != nil || len(o.sizes) != 2 || o.sizes[1] != 7 ||
		o.runs != 2 {
		t.Errorf("%+v, %v", o, err)
	}
	for _, args := range [][]string{{"-n", "0"}, {"-n", "x"}, {"-runs", "0"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}
