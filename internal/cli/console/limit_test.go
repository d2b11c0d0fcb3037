package console

import (
	"testing"

	"github.com/troupe-dev/troupe/internal/wire"
)

func TestLimit(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]wire.Limit{
		"turns of all agents|1 of 50|2 %":                {Name: wire.LimitAll, Used: 1, Limit: 50},
		"time|1 min 0 s of 2 min 0 s|50 %":               {Name: wire.LimitTime, Used: 60_000, Limit: 120_000},
		"cost|$0.5000 of $2.00|25 %":                     {Name: wire.LimitCost, Used: .5, Limit: 2},
		"tokens|2k of 4k|50 %":                           {Name: wire.LimitTokens, Used: 2000, Limit: 4000},
		"turns of all agents|7|":                         {Name: wire.LimitAll, Used: 7},
		"sub-agents since your last prompt|0 of 200|0 %": {Name: wire.LimitAgents, Limit: 200},
		"turns of this run|3 of 4|75 %":                  {Name: wire.LimitTurns, Used: 3, Limit: 4},
		"something of a later version|1 of 2|50 %":       {Name: "something of a later version", Used: 1, Limit: 2},
	} {
		name, used, share := Limit(l)
		if got := name + "|" + used + "|" + share; got != want {
			t.Errorf("%+v: %q, want %q", l, got, want)
		}
	}
}
