package worktree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLookingGivesUp: who only looks says after two seconds for which process it waits, gives up in time, and says so;
// who has to have it goes on to wait.
func TestLookingGivesUp(t *testing.T) {
	t.Parallel()
	k := New(Options{Data: t.TempDir(), Folders: t.TempDir(), Now: time.Now})
	_, release, err := k.hold(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	process := fmt.Sprintf("process %d of troupe", os.Getpid())
	synctest.Test(t, func(t *testing.T) {
		var told []string
		begun := time.Now()
		ctx := Looking(t.Context(), 10*time.Second, func(text string) {
			told = append(told, fmt.Sprint(time.Since(begun).Round(time.Second), " ", text))
		})
		_, _, err := k.hold(ctx, "one")
		if took := time.Since(begun).Round(time.Second); !errors.Is(err, errLocked) || took != 10*time.Second ||
			!strings.Contains(err.Error(), process+" has been at work on this for 10s") {
			t.Errorf("after %v: %v", took, err)
		}
		if want := []string{"2s waiting for " + process + ", 8s at most"}; !slices.Equal(told, want) {
			t.Errorf("it is told %q", told)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, _, err := k.hold(t.Context(), "one")
		if took := time.Since(begun).Round(time.Second); !errors.Is(err, errLocked) || took != lockWait {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestCallersAreOneRepository: of two linked trees of one repository one alone is written to at a time.
func TestCallersAreOneRepository(t *testing.T) {
	b := newRaced(t)
	linked := filepath.Join(b.home, "linked")
	b.git(b.dir, "worktree", "add", "-q", linked)
	callers := make([]*caller, 2)
	for i, dir := range []string{b.dir, linked} {
		c, err := b.k.callerOf(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		callers[i] = c
	}
	_, release, err := b.k.holdCaller(t.Context(), callers[0])
	if err != nil {
		t.Fatal(err)
	}
	look := Looking(t.Context(), time.Nanosecond, func(string) {})
	if _, _, err := b.k.holdCaller(look, callers[1]); !errors.Is(err, errLocked) {
		t.Errorf("both are written to at once: %v", err)
	}
	release()
	_, release, err = b.k.holdCaller(look, callers[1])
	if err != nil {
		t.Fatal(err)
	}
	release()
}
