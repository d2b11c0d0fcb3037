package storetest

import (
	"errors"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

func (e *env) owner(s store.Store, id troupe.OwnerID) (troupe.Owner, bool) {
	e.Helper()
	o, alive, err := s.Owner(e.Context(), id)
	if err != nil {
		e.Fatalf("Owner(%s): %v", id, err)
	}
	return o, alive
}

func (e *env) alive(id troupe.OwnerID, want bool, stores ...store.Store) {
	e.Helper()
	for _, s := range stores {
		if _, alive := e.owner(s, id); alive != want {
			e.Errorf("owner %s: alive is %v, want %v", id, alive, want)
		}
	}
}

func testOwners(e *env) {
	other := e.open()
	ctx := e.Context()
	if _, alive, err := e.Owner(ctx, "owner-a"); !errors.Is(err, troupe.ErrNotFound) || alive {
		e.Errorf("an owner that never was: alive %v, %v", alive, err)
	}
	want := troupe.Owner{ID: "owner-a", PID: 4711, Host: "ada-laptop", Socket: "/run/troupe/a.sock", StartedAt: epoch()}
	release, err := e.Register(ctx, want)
	if err != nil {
		e.Fatal(err)
	}
	for _, s := range []store.Store{e.Store, other} {
		got, alive := e.owner(s, "owner-a")
		e.same("the owner", got, want)
		if !alive {
			e.Error("a registered owner is not alive")
		}
		if _, err := s.Register(ctx, want); !errors.Is(err, troupe.ErrExists) {
			e.Errorf("registering the id again: %v, want %v", err, troupe.ErrExists)
		}
	}
	releaseB, err := other.Register(ctx, troupe.Owner{ID: "owner-b", StartedAt: epoch()})
	if err != nil {
		e.Fatal(err)
	}
	e.alive("owner-a", true, e.Store, other)
	e.alive("owner-b", true, e.Store, other)
	for range 2 {
		if err := release(); err != nil {
			e.Errorf("release: %v", err)
		}
	}
	e.alive("owner-a", false, e.Store, other)
	e.alive("owner-b", true, e.Store, other)
	if _, err := e.Register(ctx, want); !errors.Is(err, troupe.ErrExists) {
		e.Errorf("registering a released id: %v, want %v", err, troupe.ErrExists)
	}
	if _, err := e.Register(ctx, troupe.Owner{}); err == nil {
		e.Error("an owner without an id was registered")
	}
	if err := releaseB(); err != nil {
		e.Error(err)
	}
	got, _ := e.owner(other, "owner-a")
	e.same("what is known of a released owner", got, want)
}

// testOwnersDie: an owner lives no longer than its process, and nobody takes a dead one for
// alive, however many ask at once.
func testOwnersDie(e *env) {
	ctx := e.Context()
	closing, killed := e.home.Open(e.T), e.home.Open(e.T)
	releaseLate, err := closing.Register(ctx, troupe.Owner{ID: "closing"})
	if err != nil {
		e.Fatal(err)
	}
	if _, err := killed.Register(ctx, troupe.Owner{ID: "killed"}); err != nil {
		e.Fatal(err)
	}
	e.alive("closing", true, e.Store, killed)
	e.alive("killed", true, e.Store, closing)
	if err := closing.Close(); err != nil {
		e.Error(err)
	}
	e.home.Kill(e.T, killed)
	if err := releaseLate(); err != nil {
		e.Errorf("release after Close: %v", err)
	}
	var wg sync.WaitGroup
	for range 4 {
		s := e.open()
		wg.Go(func() {
			for range 20 {
				for _, id := range []troupe.OwnerID{"closing", "killed"} {
					if _, alive, err := s.Owner(ctx, id); alive || err != nil {
						e.Errorf("dead owner %s: alive %v, %v", id, alive, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	// A new process is alive among the dead.
	release, err := e.Register(ctx, troupe.Owner{ID: "heir"})
	if err != nil {
		e.Fatal(err)
	}
	e.alive("heir", true, e.Store)
	e.alive("killed", false, e.Store)
	if err := release(); err != nil {
		e.Error(err)
	}
}
