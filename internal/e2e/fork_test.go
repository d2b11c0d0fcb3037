package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newCached is a place whose provider charges what it is sent as Anthropic documents its cache.
func newCached(t testing.TB, h modeltest.Handler, firstByte time.Duration) (*place, *modeltest.Cache) {
	t.Helper()
	c := modeltest.NewCache(1024, time.Now)
	s := modeltest.NewAnthropic(h, modeltest.Options{Keep: 1000, Cache: c, Fork: isFork, FirstByte: firstByte})
	t.Cleanup(func() {
		s.Close()
		if err := s.Err(); err != nil {
			t.Errorf("requests broke a rule: %v", err)
		}
	})
	return newPlace(t, "ANTHROPIC_API_KEY="+secret, "ANTHROPIC_BASE_URL="+s.URL()), c
}

// billed is usage in the price of a token that is neither read from the cache nor written to it.
func billed(u troupe.Usage) float64 {
	return float64(u.Input) + 1.25*float64(u.CacheWrite) + 0.1*float64(u.CacheRead)
}

func (p *place) cost(ref string) (c wire.Cost) {
	p.t.Helper()
	r := p.troupe("cost", ref, "--json")
	if err := json.Unmarshal([]byte(r.out), &c); err != nil {
		p.t.Fatalf("cost of %s: %v\n%s%s", ref, err, r.out, r.errOut)
	}
	return c
}

// isFork tells a fork's requests from its parent's.
func isFork(r *modeltest.Request) bool { return bytes.Contains(r.Body, []byte("You are a fork")) }

// forkCall is a call that starts a fork.
func forkCall(task, prompt string) modeltest.Call {
	in, err := json.Marshal(map[string]any{"description": task, "prompt": prompt, "fork": true})
	if err != nil {
		panic(err) // a map of strings is always JSON
	}
	return modeltest.Call{Name: "Agent", Input: string(in)}
}

// said reports whether the last message of a request holds any of the words.
func said(r *modeltest.Request, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return bytes.Contains(r.Messages[len(r.Messages)-1], []byte(w))
	})
}

// TestForksAreCheap: three forks of a parent that the provider has just read, with less than 5,000 new tokens each,
// cost at most 0.15 of three agents that are told the same in words, each behind a beginning of its own. What sharing
// saved is on the bill.
func TestForksAreCheap(t *testing.T) {
	t.Parallel()
	warm, cold := forksAndCold(t)
	t.Logf("forks cost %.3f of agents that are told the same", warm/cold)
	if warm/cold > 0.15 {
		t.Errorf("forks cost %.0f, agents that are told the same %.0f", warm, cold)
	}
}

// BenchmarkForkBills is what TestForksAreCheap measures.
func BenchmarkForkBills(b *testing.B) {
	var warm, cold float64
	for b.Loop() {
		w, c := forksAndCold(b)
		warm, cold = warm+w, cold+c
	}
	b.ReportMetric(warm/cold, "x-cold")
}

// forksAndCold are the bills of three forks, and of three agents that are told the same.
func forksAndCold(t testing.TB) (warm, cold float64) {
	t.Helper()
	const history, own = 400_000, 4_500 // bytes, of four to a token; a fork reads what all were told, and its own again
	task := strings.Repeat("What one has to do alone. ", own/26)
	p, _ := newCached(t, func(r *modeltest.Request) modeltest.Reply {
		if !isFork(r) && r.Turn == 1 && !said(r, "cold agent") {
			return modeltest.Calls(forkCall("a", "A. "+task), forkCall("b", "B. "+task), forkCall("c", "C. "+task))
		}
		return modeltest.Text("did it")
	}, 0)
	tell := func(name, text string) {
		cmd := p.command("-p", "--name", name)
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	words := strings.Repeat("What was said before this. ", history/27)
	tell("warm", words)
	for i := range 3 {
		name := fmt.Sprintf("cold%d", i+1)
		tell(name, fmt.Sprintf("cold agent %d\n%s\n%s", i+1, words, task))
		cold += billed(p.cost(name).Usage)
	}
	bill := p.cost("warm")
	if len(bill.Agents) != 4 {
		t.Fatalf("%d agents", len(bill.Agents))
	}
	for _, a := range bill.Agents[1:] {
		warm += billed(a.Usage)
		if a.Type != troupe.ForkAgent || a.Shared == nil || a.Shared.Tokens < history/4 || a.Shared.SavedUSD <= 0 {
			t.Errorf("%s is a %s, with a share of %+v", a.Name, a.Type, a.Shared)
		}
	}
	if bill.Shared == nil || bill.Shared.Tokens < 3*history/4 {
		t.Errorf("shared: %+v", bill.Shared)
	}
	return warm, cold
}

// TestForkKnowsFiles: what a parent had read counts as read in its fork, as it was then.
func TestForkKnowsFiles(t *testing.T) {
	t.Parallel()
	edit := func(name, from, to string) modeltest.Call {
		return modeltest.Call{Name: "Edit", Input: fmt.Sprintf(`{"file_path":%q,"old_string":%q,"new_string":%q}`, name,
			from,
			to)}
	}
	var p *place
	p, _ = newCached(t, func(r *modeltest.Request) modeltest.Reply {
		switch {
		case isFork(r) && said(r, "You are a fork"):
			p.write("stale.txt", "changed\n")
			return modeltest.Calls(edit("known.txt", "known", "edited"), edit("stale.txt", "changed", "lost"),
				edit("new.txt", "new", "blind"))
		case isFork(r):
			return modeltest.Text("did it")
		case r.Turn == 1:
			return modeltest.Calls(modeltest.Call{Name: "Read", Input: `{"file_path":"known.txt"}`},
				modeltest.Call{Name: "Read", Input: `{"file_path":"stale.txt"}`})
		case r.Turn == 2:
			return modeltest.Calls(forkCall("edit", "Edit them."))
		}
		return modeltest.Text("I wait")
	}, 0)
	for _, name := range []string{"known", "stale", "new"} {
		p.write(name+".txt", name+"\n")
	}
	p.run(0, "-p", "go", "--permission-mode", "acceptEdits", "--output-format", "json")
	for name, want := range map[string]string{"known": "edited\n", "stale": "changed\n", "new": "new\n"} {
		if got := p.read(name + ".txt"); got != want {
			t.Errorf("%s.txt holds %q, want %q", name, got, want)
		}
	}
}

// TestColdPrefixes: ten agents of one type that are told 20,000 tokens alike, in their prompt and in the project's
// instructions, and up to 2,000 of their own, have the provider write at most a fifth to its cache of what they would
// have it write if none waited for the first.
func TestColdPrefixes(t *testing.T) {
	t.Parallel()
	alone, shared := prefixesWritten(t)
	t.Logf("written to the cache: %d tokens where none waits, %d where nine follow the first: %.1f %% saved", alone,
		shared, 100-100*float64(shared)/float64(alone))
	if shared > alone/5 {
		t.Errorf("%d tokens are written to the cache, of %d where none waits", shared, alone)
	}
}

// BenchmarkColdPrefixes is what TestColdPrefixes measures.
func BenchmarkColdPrefixes(b *testing.B) {
	var alone, shared int64
	for b.Loop() {
		a, s := prefixesWritten(b)
		alone, shared = alone+a, shared+s
	}
	b.ReportMetric(100-100*float64(shared)/float64(alone), "%-saved")
}

// prefixesWritten are the tokens that ten agents write to the cache where none waits, and where nine follow the first.
func prefixesWritten(t testing.TB) (alone, shared int64) {
	t.Helper()
	const agents = 10
	written := func(settings string) int64 {
		var calls []modeltest.Call
		for i := range agents {
			in, _ := json.Marshal(map[string]string{"description": "part", "subagent_type": "digger",
				"prompt": fmt.Sprintf("Part %d. ", i) + strings.Repeat("This is for you alone. ", 6_500/23)})
			calls = append(calls, modeltest.Call{Name: "Agent", Input: string(in)})
		}
		p, _ := newCached(t, func(r *modeltest.Request) modeltest.Reply {
			if said(r, "This is for you alone") {
				return modeltest.Text("did it")
			}
			if r.Turn == 1 {
				return modeltest.Calls(calls...)
			}
			return modeltest.Text("all done")
		}, 300*time.Millisecond)
		p.write("../home/settings.json", settings)
		p.write(".claude/agents/digger.md", "---\nname: digger\ndescription: Works.\n---\n"+
			strings.Repeat("You work. ", 4_500))
		p.write("AGENTS.md", strings.Repeat("All of you know this. ", 1_500))
		p.run(0, "-p", "go", "--output-format", "json")
		var sum int64
		for _, a := range p.cost("main").Agents[1:] {
			sum += a.Usage.CacheWrite
		}
		return sum
	}
	return written(`{"agents": {"wait_above_usd": 0}}`), written(`{}`)
}
