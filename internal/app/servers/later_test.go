package servers

import (
	"testing"

	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// TestLaterForgets: what an agent's own server said goes with the agent, for the next one begins anew; what it was told
// of the tree's servers stays, for it may be run again.
func TestLaterForgets(t *testing.T) {
	t.Parallel()
	var l later
	own := Server{Entry: entry.Entry{Name: "own"}, Scope: ScopeAgent}
	shared := Server{Entry: entry.Entry{Name: "shared"}, Scope: ScopeUser}
	list := mcp.List{Resources: true}
	for _, s := range []Server{own, shared} {
		l.changed(mcp.Target{Entry: s.Entry, Owner: ownerOf(s, "a")}, list)
		l.tell(s, "a", mcp.List{}, list)
	}
	l.forget("a")
	if _, ok := l.list(own, "a"); ok || l.tell(own, "a", mcp.List{}, list).Resources {
		t.Error("what its own server said is still there")
	}
	if _, ok := l.list(shared, "a"); !ok || !l.tell(shared, "a", mcp.List{}, list).Resources {
		t.Error("what it was told of the tree's server is gone")
	}
	l.tell(own, "b", mcp.List{}, list)
	if l.forget("b"); len(l.told) != 1 {
		t.Errorf("it remembers %d sessions", len(l.told))
	}
}
