package worktree

import (
	"path/filepath"
	"strings"
	"testing"
)

// collected has the caller delete branches, and everything that nothing of its reaches.
func (b *bench) collected(branches ...string) {
	b.t.Helper()
	for _, name := range branches {
		b.git(b.dir, "branch", "-q", "-D", name)
	}
	b.git(b.dir, "reflog", "expire", "--expire=now", "--all")
	b.git(b.dir, "gc", "-q", "--prune=now")
}

// TestBornWith: an agent's own collection goes on working when the caller deletes the branches and tags that the
// agent's repository was born with.
func TestBornWith(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"one", "two"} {
		b.git(b.dir, "checkout", "-qb", name, "main")
		b.write(name+".txt", name+"\n")
		b.git(b.dir, "add", "-A")
		b.git(b.dir, "commit", "-qm", name)
		b.git(b.dir, "tag", "-am", "of "+name, "v-"+name)
		b.git(b.dir, "tag", "-am", "of a tag", "vv-"+name, "v-"+name)
	}
	b.git(b.dir, "tag", "blob", b.git(b.dir, "rev-parse", "HEAD:two.txt"))
	b.git(b.dir, "checkout", "-q", "main")
	ws := b.made("born")
	if tags := b.git(ws.Top, "tag"); tags != "v-one\nv-two\nvv-one\nvv-two" {
		t.Errorf("tags: %s", tags)
	}
	b.git(b.dir, "tag", "-d", "v-one", "vv-one", "v-two", "vv-two", "blob")
	b.collected("one", "two")
	b.git(ws.Top, "gc", "-q", "--prune=now")
	b.fsck(filepath.Join(ws.Top, ".git"), filepath.Join(b.dir, ".git"))
	if got := b.git(ws.Top, "show", "origin/one:one.txt", "vv-two:two.txt"); got != "one\ntwo" {
		t.Errorf("shown: %q", got)
	}
	// Where the base reaches all of them, none needs to be kept.
	b.close(ws)
	plain := b.made("plain")
	refs := b.git(b.dir, "for-each-ref", "--format=%(refname)", "refs/troupe")
	if !strings.Contains(refs, refOf(plain, "base")) || strings.Contains(refs, "/born") {
		t.Errorf("refs: %s", refs)
	}
}
