package app

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

const definition = "---\nname: n\ndescription: Does.\n---\nDo it, "

// storedBy is what a user of a server has of stored agents.
func storedBy(a *App, name string, right troupe.Right) api.Stored {
	return a.As(troupe.Caller{Name: name, Right: right, Surface: troupe.SurfaceServer}).Server().Stored()
}

// TestStoredVersions: of several changes of one version one counts, and each version is there afterwards, by its number
// and its hash. A change that is made again under its key is the same one.
func TestStoredVersions(t *testing.T) {
	t.Parallel()
	a := openHome(t, t.TempDir())
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, ann := t.Context(), storedBy(a, "ann", troupe.RightOperator)
	first, err := ann.SetStoredAgent(ctx, wire.StoredTerms{Name: "n", Text: definition + "first", Once: "k"})
	if err != nil || first.Version != 1 {
		t.Fatalf("%+v %v", first, err)
	}
	for round := int64(1); round <= 5; round++ {
		var all sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			all.Go(func() {
				_, errs[i] = ann.SetStoredAgent(ctx, wire.StoredTerms{Name: "n", Version: round,
					Text: fmt.Sprintf("%s%d.%d", definition, round, i)})
			})
		}
		all.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if !errors.Is(err, troupe.ErrChanged) {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d changes of version %d counted", won, round)
		}
	}
	now, err := ann.StoredAgent(ctx, wire.StoredQuery{Name: "N"})
	if err != nil || now.Version != 6 || len(now.Versions) != 6 {
		t.Fatalf("%+v %v", now, err)
	}
	for i, v := range now.Versions {
		for _, by := range []string{fmt.Sprint(v.Version), v.Hash[:6]} {
			one, err := ann.StoredAgent(ctx, wire.StoredQuery{Name: "n", Version: by})
			if err != nil || one.StoredVersion != v || v.Version != int64(6-i) || one.Text == "" {
				t.Errorf("by %s: %+v %v", by, one, err)
			}
		}
	}
	for _, version := range []string{"0", "7", "zzzzzz", "abc"} {
		_, err := ann.StoredAgent(ctx, wire.StoredQuery{Name: "n", Version: version})
		if !errors.Is(err, troupe.ErrNotFound) {
			t.Errorf("version %s: %v", version, err)
		}
	}

	// The first is made again, as by a client that had no answer.
	again, err := ann.SetStoredAgent(ctx, wire.StoredTerms{Name: "n", Text: definition + "first", Once: "k"})
	if err != nil || again.StoredVersion != first.StoredVersion {
		t.Errorf("again: %+v %v", again, err)
	}
	_, err = ann.SetStoredAgent(ctx, wire.StoredTerms{Name: "n", Text: definition + "other", Once: "k"})
	if !errors.Is(err, troupe.ErrExists) {
		t.Errorf("another text under the key: %v", err)
	}
	same, err := ann.SetStoredAgent(ctx, wire.StoredTerms{Name: "n", Text: now.Text, Version: 6})
	if err != nil || same.Version != 6 {
		t.Errorf("the same text: %+v %v", same, err)
	}
}

// TestStoredRights: who stored an agent changes and removes it, and admins; its name stays its owner's once it is
// removed, and a change that was meant for what was removed is refused.
func TestStoredRights(t *testing.T) {
	t.Parallel()
	a := openHome(t, t.TempDir())
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx := t.Context()
	ann, bob := storedBy(a, "ann", troupe.RightOperator), storedBy(a, "bob", troupe.RightOperator)
	admin, you := storedBy(a, "cleo", troupe.RightAdmin), storedBy(a, "you", troupe.RightOperator)
	set := func(by api.Stored, name, text string, version int64) error {
		_, err := by.SetStoredAgent(ctx, wire.StoredTerms{Name: name, Text: "Do " + text, Version: version})
		return err
	}
	denied := func(err error) bool {
		user, ok := errors.AsType[*troupe.UserError](err)
		return ok && user.Code == troupe.ExitPermission
	}
	home := a.As(troupe.You(troupe.SurfaceCommand)).Server().Stored()
	for _, x := range []struct {
		err    error
		denied bool
	}{
		{set(ann, "a", "a", 0), false},
		{set(bob, "a", "b", 1), true},
		{bob.RemoveStoredAgent(ctx, wire.StoredRemoval{Name: "a"}), true},
		{set(admin, "a", "c", 1), false},
		{ann.RemoveStoredAgent(ctx, wire.StoredRemoval{Name: "a"}), false},
		{set(bob, "a", "mine", 0), true},
		{set(ann, "a", "again", 0), false},
		{set(home, "h", "of the home", 0), false},
		{set(you, "h", "by a user of the owner's name", 1), true},
	} {
		if denied(x.err) != x.denied || !x.denied && x.err != nil {
			t.Errorf("denied: %t, and should be %t: %v", denied(x.err), x.denied, x.err)
		}
	}
	err := ann.RemoveStoredAgent(ctx, wire.StoredRemoval{Name: "a", Version: 1})
	if !errors.Is(err, troupe.ErrChanged) {
		t.Errorf("a version that is not the newest is removed: %v", err)
	}
	if err := ann.RemoveStoredAgent(ctx, wire.StoredRemoval{Name: "a", Version: 3}); err != nil {
		t.Error(err)
	}
	if err := set(ann, "a", "late", 3); !errors.Is(err, troupe.ErrChanged) {
		t.Errorf("what was removed is changed: %v", err)
	}
	for i := range mostStoredOfUser - 1 {
		if err := set(ann, fmt.Sprintf("more%d", i), "x", 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := set(ann, "one-more", "x", 0); !errors.Is(err, troupe.ErrCap) {
		t.Errorf("one more than there may be: %v", err)
	}
}
