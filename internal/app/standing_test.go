package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/host"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestStanding: how trees stand, as seen from two processes of a home.
func TestStanding(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	for name, script := range map[string]string{"slow": "replies: [{delay: 1h, text: late}]",
		"quick": "replies: [{agent: main, text: done}]"} {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	a, b := openHome(t, home), openHome(t, home)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	stands := func(in *App, root troupe.SessionID, want host.Standing) {
		t.Helper()
		got, err := standings{in}.Stand(ctx, root)
		if got.Standing != want || err != nil || (got.Cwd != dir) != (want == host.Unborn) {
			t.Errorf("it stands at %+v, %v; want %d", got, err, want)
		}
		held, is := standings{in}.Held(root)
		if is != (want == host.Here || want == host.Rests) || is && held != want {
			t.Errorf("held %d, %v; want %d", held, is, want)
		}
	}
	begin := func(in *App, script string) troupe.SessionID {
		t.Helper()
		r, err := you(in).Begin(ctx, wire.Begin{Prompt: "go", Cwd: dir, Model: "script:" + script + ".yaml"})
		must(err)
		return r.Root
	}
	stands(a, "7k3f00000000", host.Unborn)

	// What is over has nothing to do until there are words to it, whoever reads them.
	quick := begin(a, "quick")
	must(you(a).Wait(ctx, quick))
	stands(a, quick, host.Rests)
	stands(b, quick, host.There)
	left, err := you(a).Leave(ctx, quick)
	if must(err); !left {
		t.Fatal("it is not let go of")
	}
	stands(a, quick, host.Over)
	stands(b, quick, host.There) // it would take it up
	_, err = you(b).Send(ctx, quick, wire.Message{Text: "more"})
	must(err)
	stands(a, quick, host.Left)
	stands(b, quick, host.There)

	// What was put away has nothing to do, words or not.
	away := begin(a, "quick")
	must(you(a).Wait(ctx, away))
	_, err = you(a).Sleep(ctx, away, wire.Sleep{})
	must(err)
	stands(a, away, host.Asleep)
	stands(b, away, host.Asleep)

	// One that is taken over is lost here, and is kept in memory no longer than until it is looked at.
	slow := begin(a, "slow")
	stands(a, slow, host.Here)
	stands(b, slow, host.There)
	must(b.TakeFrom(ctx, slow, nil))
	lost := make(chan error, 1)
	go func() { lost <- you(a).Wait(ctx, slow) }()
	if err := you(a).Stop(ctx, slow, wire.Stop{Now: true}); err != nil && !errors.Is(err, troupe.ErrFenced) {
		t.Error(err)
	}
	if err := <-lost; !errors.Is(err, troupe.ErrFenced) {
		t.Errorf("who waits is told %v", err)
	}
	if a.hosting(slow) == nil {
		t.Error("nothing is left to let go of")
	}
	stands(a, slow, host.Left)
	stands(b, slow, host.Left)
	if a.hosting(slow) != nil {
		t.Error("what was lost is still held")
	}

	// A process that has ended lives no more, nor does one that never was; what it had is left, or over.
	over, under := begin(b, "quick"), begin(b, "slow")
	must(you(b).Wait(ctx, over))
	owner, err := Ready(ctx, b)
	must(err)
	for _, alive := range []bool{true, false} {
		if got, err := (standings{a}).Alive(ctx, owner.ID); got != alive || err != nil {
			t.Errorf("process %s lives: %t, %v", owner.ID, got, err)
		}
		if alive {
			must(b.Close())
		}
	}
	if alive, err := (standings{a}).Alive(ctx, "nobody"); alive || err != nil {
		t.Errorf("a process that never was lives: %t, %v", alive, err)
	}
	stands(a, over, host.Over)
	stands(a, under, host.Left)
	must(a.Close())
}
