package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// TestSleepOfWhom: a process puts away no tree that another one runs, and no part of a tree.
func TestSleepOfWhom(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(`
replies:
  - {agent: main, turn: 1, calls: [{tool: Agent, input: {name: kid, description: d, prompt: p}}]}
  - {agent: main, delay: 1h, text: late}
  - text: kid is done
`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	a, b := openHome(t, home), openHome(t, home)
	r, err := you(a).Begin(ctx, wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	f := a.followers.Follow(wire.Follow{Root: r.Root})
	defer f.Close()
	for sealed := 0; sealed < 2; { // the main agent waits for its second reply
		batch, err := f.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch.Events {
			if e.Session == r.Root && e.Body.Kind() == troupe.KindCallSealed {
				sealed++
			}
		}
	}
	var held *api.HeldError
	if _, err := you(b).Sleep(ctx, r.Root, wire.Sleep{}); !errors.As(err, &held) {
		t.Errorf("another process puts it away: %v", err)
	}
	kid := troupe.ChildID(r.Root, troupe.Coord{Reply: 1})
	if _, err := you(a).Sleep(ctx, kid, wire.Sleep{}); err == nil ||
		!strings.Contains(err.Error(), "is a sub-agent of") {
		t.Errorf("a part of it is put away: %v", err)
	}
	for _, ms := range []int64{-1, sleepMost.Milliseconds() + 1} {
		if _, err := you(a).Sleep(ctx, r.Root, wire.Sleep{WithinMS: ms}); err == nil {
			t.Errorf("it is waited for for %d ms", ms)
		}
	}
	for _, id := range []troupe.SessionID{r.Root, kid} {
		if s, err := a.trees.session(ctx, id); err != nil || !s.AsleepAt.IsZero() {
			t.Errorf("session %s sleeps: %v", id, err)
		}
	}
	if err := you(a).Stop(ctx, r.Root, wire.Stop{Now: true, Tree: true}); err != nil {
		t.Error(err)
	}
	if err := you(a).Wait(ctx, r.Root); err != nil {
		t.Error(err)
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}

// TestPatience: what is under way has ten seconds unless another time is said, and none only where that is said.
func TestPatience(t *testing.T) {
	t.Parallel()
	for o, want := range map[wire.Sleep]time.Duration{{}: 10 * time.Second, {Now: true}: 0,
		{WithinMS: 7}: 7 * time.Millisecond, {WithinMS: 180_000}: 3 * time.Minute, {WithinMS: 7, Now: true}: -1,
		{WithinMS: -1}: -1, {WithinMS: 180_001}: -1} {
		if got, err := patience(o); got != max(0, want) || (err != nil) != (want < 0) {
			t.Errorf("%+v: %v, %v", o, got, err)
		}
	}
}

// TestPutAwayWithin: of folders of which one was made from the other that one stays, and says why; the inner goes
// first.
func TestPutAwayWithin(t *testing.T) {
	t.Parallel()
	p := repositoryPlay(t)
	outer := inTree(t, p, "outer", "new.txt")
	at := troupe.Coord{Reply: 1, Call: 1}
	id := troupe.ChildID(p.root, at)
	inner, err := p.a.keeper.Plan(t.Context(), worktree.Wish{Owner: id, Kind: troupe.WorkspaceTree, Name: "inner",
		Exact: true, From: outer.Top})
	if err == nil {
		_, err = p.a.keeper.Open(t.Context(), inner, worktree.Making{})
	}
	if err != nil {
		t.Fatal(err)
	}
	p.insert(troupe.Session{ID: id, Root: p.root, Parent: p.root, Name: "inner", Depth: 1, Cwd: outer.Folder,
		Workspace: inner, Status: troupe.Completed, Run: 1, Coord: at, EndedAt: p.a.env.Now()}, nil)
	all, err := p.a.keeper.Names("")
	if err != nil || len(all) != 2 {
		t.Fatalf("%d folders, %v", len(all), err)
	}
	rows := make(map[troupe.SessionID]worktree.Row)
	for _, row := range all {
		rows[row.Workspace.Owner] = row
	}
	out := steering{bound{p.a, troupe.You(troupe.SurfaceCommand)}}.putAway(t.Context(), p.root, rows)
	if len(out) != 2 || out[0].Name != "inner" || !out[0].Gone || out[1].Gone ||
		out[1].Why != "the folder of inner was made from it" {
		t.Errorf("put away: %+v", out)
	}
}

// TestMergeHoldsTheFolder: from the first look at what a merge overwrites until all is written no other one is written
// into the folder.
func TestMergeHoldsTheFolder(t *testing.T) {
	t.Parallel()
	p := repositoryPlay(t)
	looked := 0
	keep := func([]byte) (string, error) {
		looked++
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, release, err := worktree.Writing(ctx, p.a.keeper, p.dir)
		if err == nil {
			release()
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("another merge is written meanwhile: %v", err)
		}
		return "kept", nil
	}
	touched, err := applyMerge(t.Context(), p.a.keeper, p.dir, []worktree.Change{{Path: p.path("a.txt"),
		Was: troupe.ContentHash([]byte("a\n")), Content: []byte("b\n"), Mode: 0o644}}, keep)
	if err != nil || len(touched) != 1 || looked != 1 {
		t.Errorf("%+v, %v, looked %d times", touched, err, looked)
	}
	_, release, err := worktree.Writing(t.Context(), p.a.keeper, p.dir)
	if err != nil {
		t.Fatal(err)
	}
	release()
}
