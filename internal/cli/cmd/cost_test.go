package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestWriteCost(t *testing.T) {
	t.Parallel()
	usage := troupe.Usage{Input: 1200, CacheRead: 30_000, CacheWrite: 900, Output: 500}
	bill := wire.Cost{
		Usage: usage.Add(usage), CostUSD: 1.5, Unpriced: []string{"script/x"},
		Agents: []wire.Account{
			{Session: wire.Session{Path: "main", Model: "anthropic/x", Turns: 2, Usage: usage, CostUSD: 1.4958,
				ActiveMS: 61_000}},
			{Session: wire.Session{Path: "main/Auth\u202eExplorer", Model: "script/x", Turns: 1, Usage: usage,
				CostUSD: 0.0042, ActiveMS: 900}, Shared: &wire.Shared{Tokens: 30_000, SavedUSD: 0.0345}},
		},
		Shared: &wire.Shared{Tokens: 30_000, SavedUSD: 0.0345},
		Limits: []wire.Limit{{Name: "tokens", Used: 65_200, Limit: 100_000}, {Name: "cost_usd", Used: 1.5, Limit: 5},
			{Name: "agents", Used: 1, Limit: 200}, {Name: "turns", Used: 2, Limit: 4},
			{Name: "time_ms", Used: 61_000, Limit: 120_000}, {Name: "other", Used: 3}},
	}
	var b bytes.Buffer
	if err := writeCost(&console.Console{Out: &b}, bill); err != nil {
		t.Fatal(err)
	}
	want := `AGENT                      MODEL        TURNS  INPUT  CACHED  WRITTEN  OUTPUT  COST     TIME       SAVED
main                       anthropic/x  2      1k     30k     900      500     $1.50    1 min 1 s
main/Auth\u{202e}Explorer  script:x     1      1k     30k     900      500     $0.0042  0.9 s      $0.0345
all                                     3      2k     60k     2k       1k      $1.50               $0.0345
No price is known for script:x; its tokens are counted, its cost is not.
30k tokens of first calls were read from the cache, where other agents had written them, which saved $0.0345

limit of tokens                             65k of 100k             65 %
limit of cost                               $1.50 of $5.00          30 %
limit of sub-agents since your last prompt  1 of 200                0 %
limit of turns of this run                  2 of 4                  50 %
limit of time                               1 min 1 s of 2 min 0 s  51 %
limit of other                              3                       no limit
`
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
}

func TestShowCost(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	c := &console.Console{Out: &b, Cwd: "/src"}
	if err := showCost(t.Context(), c, apitest.New(), "main", true); err != nil ||
		!strings.HasPrefix(b.String(), `{"session_id":"7k3f00000000"`) {
		t.Errorf("%v: %s", err, b.String())
	}
	if err := showCost(t.Context(), c, apitest.New(), "nobody", true); console.Code(err) != troupe.ExitUsage {
		t.Errorf("the cost of nobody: %v", err)
	}
}
