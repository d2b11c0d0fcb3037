package httpd

import (
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestAnywhereIsAFolder: what may be asked for from any folder is asked for from one of the server's.
func TestAnywhereIsAFolder(t *testing.T) {
	t.Parallel()
	var in folders
	for range 2 {
		folder, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, folder)
	}
	g := groundOf(in, troupe.Caller{Right: troupe.RightAdmin}, troupe.RightOperator)
	for _, cwd := range []string{"/", "/no/such/folder", in[1]} {
		want := in[0]
		if cwd == in[1] {
			want = cwd
		}
		b := &struct{ Body wire.Begin }{wire.Begin{Cwd: cwd,
			Role: wire.Role{Repository: wire.Repository{Repo: "https://git.example.com/you/app"}}}}
		q := &struct{ Body wire.WorktreePush }{wire.WorktreePush{WorktreeQuery: wire.WorktreeQuery{Cwd: cwd}}}
		if err := g.admit("begin", b); err != nil || b.Body.Cwd != want {
			t.Errorf("a session begins from %s in %q, %v", cwd, b.Body.Cwd, err)
		}
		if err := g.admit("push-worktree", q); err != nil || q.Body.Cwd != want {
			t.Errorf("a worktree is asked for from %s in %q, %v", cwd, q.Body.Cwd, err)
		}
	}
	p := &struct{ Body wire.WorktreePrune }{wire.WorktreePrune{Cwd: "/"}}
	if err := g.admit("prune-worktrees", p); err == nil {
		t.Errorf("worktrees of / are pruned in %q", p.Body.Cwd)
	}
}
