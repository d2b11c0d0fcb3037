package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestForksOfTurns: a turn names the forks that changed files in it, and none whose name only begins so.
func TestForksOfTurns(t *testing.T) {
	t.Parallel()
	h := &history{
		names: map[troupe.SessionID]string{"a": "main/fork-1", "b": "main/fork-12"},
		forks: map[troupe.SessionID]string{"a": "one", "b": "twelve", "gone": "of a session that was removed"},
		turns: []Turn{
			{Files: []wire.FileChange{{Agents: []string{"main/fork-12"}}}},
			{Files: []wire.FileChange{{Agents: []string{"main", "main/fork-1/child"}}}},
			{Files: []wire.FileChange{{Agents: []string{"main"}}}},
		},
	}
	h.dealForks()
	want := [][]wire.ForkAsked{{{Agent: "main/fork-12", Asked: "twelve"}}, {{Agent: "main/fork-1", Asked: "one"}}, nil}
	for i := range want {
		if diff := cmp.Diff(want[i], h.turns[i].Forks); diff != "" {
			t.Errorf("turn %d: %s", i, diff)
		}
	}
}
