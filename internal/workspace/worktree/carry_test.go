package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinks: heavy ignored folders lead to the caller's, and never out of it; they are neither work nor removed.
func TestLinks(t *testing.T) {
	b := newBench(t)
	b.write(".gitignore", "node_modules/\nlost/node_modules\n.venv\nbuild/\n*.log\nvault/\n")
	b.write("web/page.txt", "page\n")
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "commit", "-qm", "more")
	b.write("node_modules/m/index.js", "m\n")
	b.write("web/node_modules/w/index.js", "w\n")
	b.write("build/out.txt", "out\n")
	b.write("vault/key", "no agent's\n")
	outside := filepath.Join(b.home, "outside")
	put(t, filepath.Join(outside, "keep.txt"), "keep\n")
	if err := os.Symlink(outside, filepath.Join(b.dir, ".venv")); err != nil {
		t.Fatal(err)
	}
	ws := b.plan("links")
	calls := 0
	making := Making{Link: []string{"node_modules", ".venv", "vault"}, Progress: func(done, all int) {
		calls += done * all
	}, Hidden: func(path string) bool { return path == filepath.Join(b.dir, "vault") }}
	base, err := b.k.Open(t.Context(), ws, making)
	if err != nil {
		t.Fatal(err)
	}
	if calls == 0 {
		t.Error("no progress was told")
	}
	if fmt.Sprint(base.Linked) != "[node_modules web/node_modules]" ||
		fmt.Sprint(base.Left) != "[build: it is ignored vault: it is ignored]" {
		t.Errorf("linked %v, left %v", base.Linked, base.Left)
	}
	if get(filepath.Join(ws.Top, "node_modules/m/index.js")) != "m\n" ||
		there(filepath.Join(ws.Top, ".venv")) || there(filepath.Join(ws.Top, "vault")) {
		t.Error("the links are not what they should be")
	}
	if got := b.git(ws.Top, "status", "--porcelain"); got != "" {
		t.Errorf("status there: %s", got)
	}
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	res := b.close(ws)
	if !res.Gone || res.Files != 1 || get(filepath.Join(b.dir, "node_modules/m/index.js")) != "m\n" {
		t.Errorf("result: %+v", res)
	}
	if again, err := b.k.Open(t.Context(), ws, making); err != nil || len(again.Linked) != 2 {
		t.Fatalf("made again: %+v, %v", again, err)
	}
	if err := os.Remove(filepath.Join(ws.Top, "node_modules")); err != nil {
		t.Fatal(err)
	}
	// One that the agent made in the place of the link is the agent's.
	put(t, filepath.Join(ws.Top, "node_modules/own.js"), "own\n")
	if res := b.close(ws); res.Gone || !strings.Contains(res.Kept, "node_modules") {
		t.Errorf("an own one: %+v", res)
	}
}

// TestWorktreeInclude: ignored files that .worktreeinclude names are copied, hidden ones never; a copy that was not
// changed is no work.
func TestWorktreeInclude(t *testing.T) {
	b := newBench(t)
	b.write(".worktreeinclude", "*.log\n!no.log\nconf/\n")
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "commit", "-qm", "include")
	for _, name := range []string{"yes.log", "no.log", "secret.log", "conf/deep/local.log"} {
		b.write(name, name+"\n")
	}
	ws := b.plan("include")
	hidden := func(path string) bool { return filepath.Base(path) == "secret.log" }
	base, err := b.k.Open(t.Context(), ws, Making{Hidden: hidden})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(base.Left); got != "[secret.log: no agent may read it]" {
		t.Errorf("left: %s", got)
	}
	for name, want := range map[string]bool{"yes.log": true, "conf/deep/local.log": true, "no.log": false,
		"secret.log": false} {
		if there(filepath.Join(ws.Top, name)) != want {
			t.Errorf("%s: there %v", name, !want)
		}
	}
	if res := b.close(ws); !res.Gone {
		t.Errorf("unchanged: %+v", res)
	}
	ws = b.plan("again")
	if _, err := b.k.Open(t.Context(), ws, Making{Hidden: hidden}); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(ws.Top, "yes.log"), "changed\n")
	if res := b.close(ws); res.Gone || !strings.Contains(res.Kept, "yes.log") || strings.Contains(res.Kept, "local") {
		t.Errorf("changed: %+v", res)
	}
}
