package worktree

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestMergeCopy: a folder that is no repository is merged as one that is.
func TestMergeCopy(t *testing.T) {
	b := newBench(t)
	from := filepath.Join(b.home, "plain")
	put(t, filepath.Join(from, "a.txt"), "1\n2\n3\n4\n5\n")
	put(t, filepath.Join(from, ".gitignore"), "*.log\n")
	put(t, filepath.Join(from, "x.log"), "1\n")
	ws := b.copyOf(troupe.WorkspaceCopy, from)
	put(t, filepath.Join(ws.Top, "a.txt"), "one\n2\n3\n4\n5\n")
	put(t, filepath.Join(ws.Top, "new/n.txt"), "new\n")
	put(t, filepath.Join(ws.Top, "x.log"), "2\n")
	put(t, filepath.Join(from, "a.txt"), "1\n2\n3\n4\nfive\n")
	put(t, filepath.Join(from, "own.log"), "own\n")
	m := b.merge(ws, Into{})
	if len(m.Conflicts) > 0 || len(m.Changes) != 3 {
		t.Fatalf("%+v", m)
	}
	if _, err := Apply(from, m.Changes); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.txt": "one\n2\n3\n4\nfive\n", "new/n.txt": "new\n", "x.log": "2\n",
		"own.log": "own\n"} {
		if got := get(filepath.Join(from, name)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if there(filepath.Join(from, ".git")) {
		t.Error("it became a repository")
	}
	put(t, filepath.Join(ws.Top, "new/n.txt"), "theirs\n")
	put(t, filepath.Join(from, "new/n.txt"), "ours\n")
	if h := b.handBack(ws); len(h.Marked) != 1 {
		t.Errorf("handed back: %+v", h)
	}
	put(t, filepath.Join(ws.Top, "new/n.txt"), "ours\nboth\n")
	if m = b.merge(ws, Into{}); len(m.Conflicts) > 0 || len(m.Changes) != 1 {
		t.Errorf("resolved: %+v", m)
	}
	if diff, err := b.k.Diff(t.Context(), ws, false); err != nil || !strings.Contains(diff, "+both\n") {
		t.Errorf("%v\n%s", err, diff)
	}
	b.fsck(filepath.Join(b.k.data, string(ws.Owner), "repo.git"))
}

// TestMergeEmpty: what was made from nothing overwrites nothing, and is merged again as it grows.
func TestMergeEmpty(t *testing.T) {
	b := newBench(t)
	from := filepath.Join(b.home, "plain")
	put(t, filepath.Join(from, "a.txt"), "mine\n")
	put(t, filepath.Join(from, "other.txt"), "other\n")
	ws := b.copyOf(troupe.WorkspaceEmpty, from)
	put(t, filepath.Join(ws.Top, "b.txt"), "b\n")
	for _, text := range []string{"b\n", "b\nand more\n"} {
		put(t, filepath.Join(ws.Top, "b.txt"), text)
		m := b.merge(ws, Into{})
		if len(m.Conflicts) > 0 || len(m.Changes) != 1 {
			t.Fatalf("%+v", m)
		}
		if _, err := Apply(from, m.Changes); err != nil || get(filepath.Join(from, "b.txt")) != text {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(ws.Top, "a.txt"), "theirs\n")
	if m := b.merge(ws, Into{}); len(m.Conflicts) != 1 || len(m.Changes) > 0 {
		t.Errorf("%+v", m)
	}
}

// TestPains28: many agents that commit, end and merge at once on one repository all get there, while it is collected.
func TestPains28(t *testing.T) {
	b := newBench(t)
	const many = 16
	for i := range many {
		b.write(fmt.Sprintf("own%d.txt", i), "1\n")
	}
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "commit", "-qm", "many")
	errs := make([]error, many)
	all := make([]troupe.Workspace, many)
	for i := range many {
		all[i] = b.plan(fmt.Sprintf("agent%d", i))
	}
	var group sync.WaitGroup
	var folder sync.Mutex // which the gate is, in a session
	for i, ws := range all {
		group.Go(func() {
			errs[i] = func() error {
				if _, err := b.k.Open(t.Context(), ws, Making{}); err != nil {
					return err
				}
				put(t, filepath.Join(ws.Top, fmt.Sprintf("own%d.txt", i)), "2\n")
				if out, err := b.try(ws.Top, "commit", "-qam", "own"); err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				if res, err := b.k.Close(t.Context(), ws, "end", ""); err != nil || res.Commits != 1 {
					return fmt.Errorf("closed: %+v, %w", res, err)
				}
				folder.Lock()
				defer folder.Unlock()
				m, err := b.k.Merge(t.Context(), ws, Into{})
				if err == nil && len(m.Changes) != 1 {
					err = fmt.Errorf("merged: %+v", m)
				}
				if err == nil {
					_, err = Apply(b.dir, m.Changes)
				}
				return err
			}()
		})
	}
	ended := make(chan struct{})
	collected := make(chan error)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-ended:
				collected <- nil
				return
			default:
			}
			if out, err := b.try(b.dir, "gc", "-q", "--prune=now"); err != nil {
				<-ended
				collected <- fmt.Errorf("gc %d: %w: %s", n, err, out)
				return
			}
		}
	}()
	group.Wait()
	close(ended)
	if err := <-collected; err != nil {
		t.Error(err)
	}
	for i, err := range errs {
		if err != nil {
			t.Errorf("agent%d: %v", i, err)
		}
		if got := get(filepath.Join(b.dir, fmt.Sprintf("own%d.txt", i))); got != "2\n" {
			t.Errorf("own%d.txt: %q", i, got)
		}
	}
	b.fsck(filepath.Join(b.dir, ".git"))
}
