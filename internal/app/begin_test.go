package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// between is a home in which something happens right before the first thing is written.
type between struct {
	store.Store
	first func()
}

func (b *between) Update(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
	b.first()
	return b.Store.Update(ctx, root, fn)
}

// served is a socket that nobody calls.
type served string

func (s served) Path() string              { return string(s) }
func (served) Close(context.Context) error { return nil }

// TestSaidWhileTakenOver: what is said to a tree in the moment in which another process takes it over
// is not left where that process looks no more: it is refused, and the caller asks that process.
func TestSaidWhileTakenOver(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("replies:\n  - text: done\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := openHome(t, home)
	r, err := you(a).Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(you(a).Wait(t.Context(), r.Root), a.Close()); err != nil {
		t.Fatal(err)
	}
	taker, err := Open(t.Context(), Env{
		Lookup: func(name string) (string, bool) { return home, name == "TROUPE_HOME" },
		Now:    time.Now, Log: slog.New(slog.DiscardHandler), Version: "test",
		Serve: func(context.Context, *App, string) (Served, error) { return served("/x.sock"), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	b := openHome(t, home)
	b.trees.store = &between{b.trees.store, sync.OnceFunc(func() {
		if _, err := you(taker).Begin(t.Context(), wire.Begin{Resume: string(r.Root), Cwd: dir,
			Idle: true}); err != nil {
			t.Error(err)
		}
	})}
	if _, err := you(b).Send(t.Context(), r.Root, wire.Message{Text: "more"}); !errors.Is(err, troupe.ErrFenced) {
		t.Errorf("it was said to nobody: %v", err)
	}
	if err := errors.Join(taker.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}

// TestLeft: a tree that this process has left is not at work in it any more, and can be removed.
func TestLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("replies:\n  - text: done\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	app := openHome(t, t.TempDir())
	a := you(app)
	r, err := a.Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Wait(t.Context(), r.Root); err != nil {
		t.Fatal(err)
	}
	if tree, err := a.Tree(t.Context(), r.Root); err != nil || !tree.Running || !tree.Here {
		t.Errorf("held: %+v, %v", tree, err)
	}
	if left, err := a.Leave(t.Context(), r.Root); err != nil || !left {
		t.Fatal(left, err)
	}
	if tree, err := a.Tree(t.Context(), r.Root); err != nil || tree.Running || tree.Here {
		t.Errorf("left: %+v, %v", tree, err)
	}
	if err := errors.Join(a.Remove(t.Context(), r.Root), app.Close()); err != nil {
		t.Error(err)
	}
}

// TestRefusedBegin: what other programs may send by mistake is refused as a mistake of theirs.
func TestRefusedBegin(t *testing.T) {
	t.Parallel()
	a := openHome(t, t.TempDir())
	for name, b := range map[string]wire.Begin{
		"a relative folder": {Prompt: "go", Cwd: "."}, "no folder": {Prompt: "go"}, "no prompt": {Cwd: t.TempDir()},
		"turns": {Prompt: "go", Cwd: t.TempDir(), MaxTurns: -1},
		"money": {Prompt: "go", Cwd: t.TempDir(), MaxUSD: 1e300},
		"time":  {Prompt: "go", Cwd: t.TempDir(), MaxMS: -5},
	} {
		var user *troupe.UserError
		if _, err := you(a).Begin(t.Context(), b); !errors.As(err, &user) || user.Code != troupe.ExitUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
