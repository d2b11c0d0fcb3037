package app

import (
	"testing"
	"time"
)

// TestTurnCountsAllWrites: what a turn did to a file is the sum of what each of its writes did.
func TestTurnCountsAllWrites(t *testing.T) {
	t.Parallel()
	var turn Turn
	for i, s := range []step{
		{path: "/a", agent: "main", added: 2, removed: 1}, {path: "/b", agent: "main", from: "x", added: 7},
		{path: "/a", agent: "main/x", from: "x", added: 3, removed: 4},
	} {
		s.at = time.Unix(int64(i), 0)
		turn.add(s)
	}
	if len(turn.Files) != 2 {
		t.Fatalf("files %+v", turn.Files)
	}
	if f := turn.Files[0]; f.Added != 5 || f.Removed != 5 || f.Writes != 2 || !f.New || len(f.Agents) != 2 {
		t.Errorf("two writes of one file: %+v", f)
	}
}
