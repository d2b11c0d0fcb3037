package session_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// lasting reads for as long as its input says.
type lasting struct{ input string }

func (lasting) Prepare(_ tool.Env, input string) (tool.Prepared, error) { return lasting{input}, nil }

func (lasting) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassRead, Reads: []string{"/ws/f"}}
}

func (s lasting) Run(ctx context.Context, _ tool.Env) (tool.Output, error) {
	d, err := time.ParseDuration(s.input)
	if err != nil {
		return tool.Errorf("not a duration: %s", s.input), nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return tool.Output{Blocks: []troupe.Block{troupe.Text("after " + s.input)}}, nil
	case <-ctx.Done():
		return tool.Errorf("stopped"), nil
	}
}

// TestResultsKeepTheOrderOfCalls: a model reads the results of a reply in the order of its calls, whichever ended
// first, also when another process goes on in between.
func TestResultsKeepTheOrderOfCalls(t *testing.T) {
	t.Parallel()
	takes := []string{"5s", "1s", "7s", "3s", "1ms"}
	ends := []int{4, 1, 3, 0, 2}
	var calls, want []string
	for _, d := range takes {
		calls, want = append(calls, "Read:"+d), append(want, "after "+d)
	}
	for _, down := range []time.Duration{0, 3500 * time.Millisecond} { // 0: never
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			replies := plays{"main": {call(calls...), say("ok")}}
			slowly := func(p *process) {
				p.deps = func(d *session.Deps) {
					d.Tools = tool.NewSet(tool.Descriptor{ToolFacts: troupe.ToolFacts{Name: "Read",
						Schedule: troupe.Parallel, Argument: troupe.PathArgument}, Runner: lasting{}})
				}
			}
			p := h.start(replies.reply, slowly).begin(troupe.Caps{})
			if down > 0 {
				pass(down)
				p.pool.Close()
				p = h.adopt(replies.reply, true, slowly)
			}
			p.end()
			var finished []int
			for _, e := range h.events(h.root) {
				if b, ok := e.Body.(troupe.ToolFinished); ok {
					finished = append(finished, b.Result.Call)
				}
			}
			if down == 0 && !slices.Equal(finished, ends) {
				t.Errorf("the calls ended in the order %v, want %v", finished, ends)
			}
			requests := p.llm.of(h.root)
			last := requests[len(requests)-1].Messages
			var m troupe.Message
			if err := json.Unmarshal(last[len(last)-1], &m); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range m.Blocks {
				if b.Result != nil {
					got = append(got, troupe.JoinText(b.Result.Blocks))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("down %v: the results are %q, want %q", down, got, want)
			}
			h.checkTree()
		})
	}
}
