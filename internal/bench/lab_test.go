package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// TestFollowed: where children follow the first byte of one of them, that one is part of what is ideal.
func TestFollowed(t *testing.T) {
	t.Parallel()
	const firstByte = 200 * time.Millisecond
	for wait, want := range map[time.Duration]time.Duration{0: 0, firstByte / 2: 0, firstByte: firstByte} {
		synctest.Test(t, func(t *testing.T) {
			p := &play{n: 3, files: make([]string, reads)}
			p.child(1)
			<-time.After(wait)
			p.child(1)
			<-time.After(firstByte)
			p.child(1)
			p.child(2)
			r := result{wall: 3 * time.Second, followed: p.followed(firstByte)}
			f := fanout{n: 3, replies: idealReplies * firstByte, runs: []result{r}}
			if got := f.ideal(r); got != idealReplies*firstByte+want ||
				!strings.Contains(f.line(r), fmt.Sprintf("%d ideal-ns/op %.3f x-ideal", got, 3/got.Seconds())) {
				t.Errorf("the second came after %s: ideal %s\n%s", wait, got, f.line(r))
			}
		})
	}
	one := &play{n: 1, files: make([]string, reads)}
	one.child(1)
	if got := one.followed(firstByte); got != 0 {
		t.Errorf("one alone followed %s", got)
	}
}
