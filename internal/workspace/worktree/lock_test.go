package worktree

import (
	"errors"
	"fmt"
	"os"
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
