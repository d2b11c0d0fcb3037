package worktree

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestManyRefs: an agent's refs fill no repository of the caller's, and what they stand for is there all the same.
func TestManyRefs(t *testing.T) {
	b := newBench(t)
	ws := b.made("many")
	head := b.git(ws.Top, "rev-parse", "HEAD")
	tree := b.git(ws.Top, "rev-parse", "HEAD^{tree}")
	var stream strings.Builder
	const lone = namedMost + 200 // of which nothing else leads to
	for i := range lone {
		text := fmt.Sprintf("lone %d", i)
		fmt.Fprintf(&stream, "commit refs/heads/lone/%05d\ncommitter a <a@a> 1700000000 +0000\ndata %d\n%s\nfrom "+
			"%s\n\n", i,
			len(text), text, head)
	}
	b.feedIn(ws.Top, stream.String(), "fast-import", "--quiet")
	tag := b.feedIn(ws.Top, "object "+b.git(ws.Top, "commit-tree", "-m", "tagged", tree)+
		"\ntype commit\ntag t\ntagger a <a@a> 1700000000 +0000\n\nt\n", "hash-object", "-w", "-t", "tag", "--stdin")
	b.git(ws.Top, "pack-refs", "--all")
	list := filepath.Join(ws.Top, ".git/packed-refs")
	var more strings.Builder
	for i := range 2 * namedMost {
		fmt.Fprintf(&more, "%s refs/heads/zz%05d\n", head, i)
	}
	for i := range namedMost {
		fmt.Fprintf(&more, "%s refs/tags/zz%05d\n", tag, i)
	}
	put(t, list, get(list)+more.String())
	put(t, filepath.Join(ws.Top, "work.txt"), "work\n")
	if res := b.close(ws); res.Kept != "" || res.Tip == "" {
		t.Fatalf("%+v", res)
	}
	named := strings.Count(b.git(b.dir, "for-each-ref", "refs/troupe"), "\n") + 1
	if named > namedMost+1 {
		t.Errorf("%d refs in the caller's repository", named)
	}
	if got := strings.Count(b.git(b.dir, "log", "--format=%s", "--glob=refs/troupe"), "lone "); got != lone {
		t.Errorf("%d of %d commits are there", got, lone)
	}
	if got := b.git(b.dir, "log", "--format=%s", "--glob=refs/troupe"); !strings.Contains(got, "tagged") {
		t.Error("what only a tag leads to is not there")
	}
}
