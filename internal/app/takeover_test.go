package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestTakeFrom: a tree is taken with all its sessions, the ended ones too, and the run that is stopped is billed
// for itself alone.
func TestTakeFrom(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(`
price: {input: 3, output: 15}
replies:
  - {agent: main, turn: 1, calls: [{tool: Agent, input: {name: kid, description: d, prompt: p}}]}
  - {agent: main, turn: 2, text: one}
  - {agent: main, delay: 1h, text: late}
  - text: kid is done
`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	a, b := openHome(t, home), openHome(t, home)
	r, err := you(a).Begin(ctx, wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml"})
	if err == nil {
		err = you(a).Wait(ctx, r.Root)
	}
	if err == nil {
		_, err = you(a).Begin(ctx, wire.Begin{Resume: string(r.Root), Prompt: "more", Cwd: dir})
	}
	if err != nil {
		t.Fatal(err)
	}
	f := a.followers.Follow(wire.Follow{Root: r.Root})
	defer f.Close()
	for sealed := 0; sealed < 4; { // the second run waits for its reply
		batch, err := f.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch.Events {
			if e.Body.Kind() == troupe.KindCallSealed {
				sealed++
			}
		}
	}
	stop := TakenStop{Session: r.Root, By: troupe.You(troupe.SurfaceCommand)}
	if err := b.TakeFrom(ctx, r.Root, &stop); err != nil {
		t.Fatal(err)
	}
	err = b.trees.store.View(ctx, func(rd store.Reader) error {
		all, err := rd.Sessions(store.Filter{Root: r.Root})
		if err != nil || len(all) != 2 {
			t.Errorf("%d sessions, %v", len(all), err)
		}
		root, err := rd.Lease(r.Root)
		for _, s := range all {
			l, lerr := rd.Lease(s.ID)
			if err = errors.Join(err, lerr); l.Owner != root.Owner {
				t.Errorf("session %s is still with %q", s.Name, l.Owner)
			}
		}
		events, eerr := rd.Events(r.Root, 0, 0)
		var bills []troupe.Tally
		for _, e := range events {
			if ended, ok := e.Body.(troupe.Ended); ok {
				bills = append(bills, ended.Outcome.Tally)
			}
		}
		s, serr := rd.Session(r.Root)
		if len(bills) != 2 || bills[0].Cost == 0 || bills[0].Add(bills[1]) != s.Tally {
			t.Errorf("the runs are billed %+v, all of it is %+v", bills, s.Tally)
		}
		return errors.Join(err, eerr, serr)
	})
	if err != nil {
		t.Error(err)
	}
	if err := errors.Join(b.Close(), a.Close()); err != nil {
		t.Error(err)
	}
}
