package people_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestUserChangedMeanwhile: of several changes of one user as they were read one counts, and the others are refused.
func TestUserChangedMeanwhile(t *testing.T) {
	t.Parallel()
	p, _, _ := fresh(t)
	first(t, p)
	made, err := p.Change(t.Context(), wire.UserChange{Precondition: wire.Precondition{IfNew: true}, Name: "bob",
		Right: troupe.RightViewer})
	if err != nil || made.ETag == "" {
		t.Fatalf("%+v, %v", made, err)
	}
	all, err := p.Users(t.Context())
	if err != nil || len(all) != 2 || all[1].ETag != made.ETag {
		t.Fatalf("%+v, %v", all, err)
	}
	of := wire.Precondition{IfMatch: made.ETag}
	var wg sync.WaitGroup
	done := make(chan error, 8)
	for range cap(done) {
		wg.Go(func() {
			_, err := p.Change(t.Context(), wire.UserChange{Precondition: of, Name: "bob", Right: troupe.RightOperator})
			done <- err
		})
	}
	wg.Wait()
	close(done)
	counted := 0
	for err := range done {
		if err == nil {
			counted++
		} else if !errors.Is(err, troupe.ErrChanged) {
			t.Error(err)
		}
	}
	if counted != 1 {
		t.Errorf("%d changes count", counted)
	}
	if _, err := p.Change(t.Context(), wire.UserChange{Precondition: of, Name: "bob", Remove: true}); !errors.Is(err,
		troupe.ErrChanged) {
		t.Errorf("removed as they were: %v", err)
	}
	if _, err := p.Change(t.Context(), wire.UserChange{Precondition: of, Name: "eve",
		Right: troupe.RightAdmin}); !errors.Is(err, troupe.ErrChanged) {
		t.Errorf("one that is not there: %v", err)
	}
	now, err := p.Change(t.Context(), wire.UserChange{Name: "bob", Invite: true})
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Change(t.Context(), wire.UserChange{Precondition: wire.Precondition{IfMatch: now.ETag}, Name: "bob",
		Remove: true})
	if err != nil || out.ETag != "" {
		t.Errorf("removed: %+v, %v", out, err)
	}
}
