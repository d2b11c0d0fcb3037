package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const twoAgents = `
replies:
  - agent: main
    turn: 1
    calls: [{tool: Agent, input: {description: look, prompt: look, subagent_type: Explore}}]
  - agent: Explore
    text: nothing there
  - agent: main
    text: all in
`

func openHome(t testing.TB, home string) *App {
	t.Helper()
	a, err := Open(t.Context(), Env{
		Lookup: func(name string) (string, bool) { return home, name == "TROUPE_HOME" },
		Now:    time.Now, Log: slog.New(slog.DiscardHandler), Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestNothingIsLeft runs a whole tree in this process while somebody follows it, ends
// another one in the middle, and goes on with it. goleak sees to it that nothing of either
// is left running once the home is closed.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"two.yaml": twoAgents,
		"slow.yaml": "replies: [{delay: 1h, text: late}]"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := openHome(t, home)
	r, err := you(a).Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:two.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	f := a.followers.Follow(wire.Follow{Root: r.Root})
	if err := you(a).Wait(t.Context(), r.Root); err != nil {
		t.Fatal(err)
	}
	events, err := f.Rest(t.Context())
	f.Close()
	if err != nil || len(events) == 0 {
		t.Fatalf("the follower read %d events: %v", len(events), err)
	}
	report, err := you(a).Report(t.Context(), r.Root)
	if err != nil || report.Status != troupe.Completed || report.Result != "all in" || len(report.Agents) != 2 {
		t.Errorf("it ended as %+v: %v", report, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	// Closed while a model call is under way: the call ends, the session is left to be resumed.
	b := openHome(t, home)
	slow, err := you(b).Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:slow.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	c := openHome(t, home)
	again, err := you(c).Begin(t.Context(), wire.Begin{Cwd: dir, Resume: string(slow.Root), Model: "script:two.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := you(c).Wait(ctx, again.Root); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMailIsLookedFor: a process that nobody can reach hears what others leave in the home for
// the trees that it runs.
func TestMailIsLookedFor(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "slow.yaml"), []byte("replies: [{delay: 1h, text: late}]"),
		0o600); err != nil {
		t.Fatal(err)
	}
	a, b := openHome(t, home), openHome(t, home)
	r, err := you(a).Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:slow.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if err := you(b).Stop(t.Context(), r.Root, wire.Stop{Now: true}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := you(a).Wait(ctx, r.Root); err != nil {
		t.Fatal(err)
	}
	if report, err := you(b).Report(ctx, r.Root); err != nil || report.Status != troupe.Cancelled {
		t.Errorf("it ended as %+v: %v", report, err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestFollowsWhoTakesOver: somebody who follows a tree here while another process takes it over, and is
// told nothing of that, sees what becomes of it there.
func TestFollowsWhoTakesOver(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "slow.yaml"), []byte("replies: [{delay: 1h, text: late}]"),
		0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	a, b := openHome(t, home), openHome(t, home)
	defer func() {
		if err := errors.Join(b.Close(), a.Close()); err != nil {
			t.Error(err)
		}
	}()
	racing := &beforeUpdate{Store: a.trees.store}
	a.trees.store = racing
	r, err := you(a).Begin(ctx, wire.Begin{Prompt: "go", Cwd: dir, Model: "script:slow.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	f := a.followers.Follow(wire.Follow{Root: r.Root})
	defer f.Close()
	// until reads until there is an event of a kind.
	until := func(kind troupe.Kind) error {
		for ctx.Err() == nil {
			batch, err := f.Next(ctx)
			if err != nil {
				return err
			}
			for _, e := range batch.Events {
				if e.Body.Kind() == kind {
					return nil
				}
			}
		}
		return fmt.Errorf("no %s has come: %w", kind, ctx.Err())
	}
	if err := until(troupe.KindCallSealed); err != nil { // nothing more comes for an hour
		t.Fatal(err)
	}
	came, lost := make(chan error, 1), make(chan error, 1)
	go func() { came <- until(troupe.KindEnded) }()
	go func() { lost <- you(a).Wait(ctx, r.Root) }()

	e, err := b.start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// It takes the tree over when the session here is about to log that it is stopped.
	racing.arm(1, func() {
		ad := session.Adoption{Root: r.Root}
		err := b.trees.store.View(ctx, func(rd store.Reader) (err error) {
			ad.Expect,
				err = rd.Lease(r.Root)
			return err
		})
		if err == nil {
			err = e.hub.Adopt(ctx, ad)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err := you(a).Stop(ctx, r.Root, wire.Stop{Now: true}); err != nil {
		t.Fatal(err)
	}
	if err := <-lost; !errors.Is(err, troupe.ErrFenced) {
		t.Errorf("who waits for a tree that was taken over is told %v", err)
	}
	if err := you(b).Stop(ctx, r.Root, wire.Stop{Now: true, Tree: true}); err != nil {
		t.Error(err)
	}
	if err := <-came; err != nil {
		t.Error(err)
	}
}

// you is the api of a home for the one person of it.
func you(a *App) api.API { return a.As(troupe.You(troupe.SurfaceCommand)) }
