package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// counting has a git before the real one that notes each call.
func (b *bench) counting() (calls func() int) {
	b.t.Helper()
	real := strings.TrimSpace(b.shell(b.home, "command -v git"))
	put(b.t, filepath.Join(b.home, "bin/git"), "#!/bin/sh\necho x >> "+b.home+"/calls\nexec "+real+` "$@"`+"\n")
	if err := os.Chmod(filepath.Join(b.home, "bin/git"), 0o755); err != nil {
		b.t.Fatal(err)
	}
	b.t.Setenv("PATH", filepath.Join(b.home, "bin")+":"+os.Getenv("PATH"))
	return func() int {
		data, err := os.ReadFile(filepath.Join(b.home, "calls"))
		if err != nil {
			return 0
		}
		return len(data) / 2
	}
}

// TestPlanAsksOnce: the births of one reply have git asked once whether there can be a worktree; what changes in the
// repository, and time, has it asked again.
func TestPlanAsksOnce(t *testing.T) {
	b := newBench(t)
	now := time.Now()
	b.k.now = func() time.Time { return now }
	calls := b.counting()
	plan := func() error {
		_, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Title: "one", From: b.dir})
		return err
	}
	again := func(what string, want bool) {
		t.Helper()
		was := calls()
		if err := plan(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := calls() > was; got != want {
			t.Errorf("%s: git was asked: %v, want %v", what, got, want)
		}
	}
	again("first", true)
	again("second", false)
	now = now.Add(answerFresh)
	again("later", true)
	b.write("staged.txt", "x\n")
	b.git(b.dir, "add", "-A")
	again("with another index", true)
	b.git(b.dir, "config", "user.name", "Other")
	again("with other settings", true)
	b.write(".gitattributes", "*.bin filter=lfs\n")
	if plan() == nil {
		t.Error("the filter is not seen")
	}
	if err := os.Remove(filepath.Join(b.dir, ".gitattributes")); err != nil {
		t.Fatal(err)
	}
	again("without the filter", false) // as it was before
	now = now.Add(answerFresh)
	b.k.free = func(string) (int64, bool) { return 1 << 20, true }
	if plan() == nil {
		t.Error("there is no room")
	}
	if plan() == nil {
		t.Error("there is no room, and git was not asked")
	}
}

// BenchmarkPlan plans the folders of 50 agents that one reply starts.
func BenchmarkPlan(b *testing.B) {
	for name, fresh := range map[string]time.Duration{"asked each time": answerFresh, "asked once": 0} {
		b.Run(name, func(tb *testing.B) {
			bench := newBench(tb)
			began, n := time.Now(), time.Duration(0)
			bench.k.now = func() time.Time { n += fresh; return began.Add(n) }
			for tb.Loop() {
				for range 50 {
					if _, err := bench.k.Plan(tb.Context(), Wish{Owner: newID(tb), Kind: troupe.WorkspaceTree,
						Title: "one", From: bench.dir}); err != nil {
						tb.Fatal(err)
					}
				}
			}
		})
	}
}
