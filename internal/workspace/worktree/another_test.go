package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// another puts a folder of somebody's own where that of a workspace was, with one file.
func another(t *testing.T, ws troupe.Workspace, name string) {
	t.Helper()
	if err := os.RemoveAll(ws.Top); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(ws.Top, name), "log\n")
}

// TestAnotherFolder: a folder that takes the place of the agent's is not the agent's. What is missing in it was not
// removed, a checkpoint of it replaces none, no merge empties the caller's, and nothing of it is thrown away.
func TestAnotherFolder(t *testing.T) {
	b := newBench(t)
	ws := b.made("fix")
	put(t, filepath.Join(ws.Top, "f1"), "L-1\n")
	saved := b.save(ws, filepath.Join(ws.Top, "f1"))
	another(t, ws, "f4")
	if got, err := b.k.Save(t.Context(), ws, nil, ""); err == nil {
		t.Errorf("another folder was saved as %s, and %s was", got.Tree, saved.Tree)
	}
	res := b.close(ws)
	if res.Gone || !strings.Contains(res.Kept, "something else is in its place") || res.Removed != 0 || res.Files != 1 {
		t.Errorf("%+v", res)
	}
	if got := b.show(res.Branch, "f1"); got != "L-1\n" {
		t.Errorf("on the branch: %q", got)
	}
	got, err := b.k.Merge(t.Context(), ws, Into{})
	if err != nil || len(got.Changes) != 1 || got.Changes[0].Gone {
		t.Errorf("%+v %v", got.Changes, err)
	}
	b.open(ws)
	if get(filepath.Join(ws.Top, "f1")) != "L-1\n" || get(filepath.Join(ws.Top, "a.txt")) == "" {
		t.Error("it was not made again")
	}
	if beside, err := filepath.Glob(ws.Top + ".other-*/f4"); err != nil || len(beside) != 1 {
		t.Errorf("what stood there: %v %v", beside, err)
	}

	// After an end that removed it.
	put(t, filepath.Join(ws.Top, "f2"), "L-2\n")
	if res = b.close(ws); !res.Gone {
		t.Fatalf("%+v", res)
	}
	another(t, ws, "x.txt")
	if got, err = b.k.Merge(t.Context(), ws, Into{}); err != nil || len(got.Changes) != 2 {
		t.Errorf("%+v %v", got.Changes, err)
	}
	for _, c := range got.Changes {
		if c.Gone {
			t.Errorf("%s would be removed", c.Path)
		}
	}

	// Gone while its agent works.
	b.open(ws)
	if err := os.RemoveAll(ws.Top); err != nil {
		t.Fatal(err)
	}
	if res = b.close(ws); res.Gone || !strings.Contains(res.Kept, "removed or moved away") ||
		b.show(res.Branch, "f2") != "L-2\n" {
		t.Errorf("%+v", res)
	}
}

// TestEndedUnnamed: a folder that was being made again when its process ended was not moved away by its agent.
func TestEndedUnnamed(t *testing.T) {
	b := newBench(t)
	ws := b.made("fix")
	put(t, filepath.Join(ws.Top, "a.txt"), "changed\n")
	was := b.close(ws)
	k := b.keeper()
	k.step = func(name string) error {
		if name == "named" {
			panic(errKilled)
		}
		return nil
	}
	err := until(func() error {
		_, err := k.Open(t.Context(), ws, Making{})
		return err
	})
	if !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	p, err := b.k.place(ws)
	if err != nil || !there(p.making) {
		t.Fatalf("nothing was being made: %v", err)
	}
	if res := b.close(ws); !res.Gone || res.Kept != "" || res.Tip != was.Tip || there(p.making) {
		t.Errorf("%+v", res)
	}
}
