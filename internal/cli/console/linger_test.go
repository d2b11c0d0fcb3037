package console

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestLingering: a last look has a second from the interrupt on, and as long as it takes without one.
func TestLingering(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		last, end := Lingering(ctx)
		defer end()
		at := func(d time.Duration) error {
			<-time.After(d)
			synctest.Wait()
			return last.Err()
		}
		if at(time.Hour) != nil {
			t.Error("it is over, and nothing was interrupted")
		}
		if interrupt(); at(lingers/2) != nil {
			t.Error("no last look is left")
		}
		if at(lingers) == nil {
			t.Error("it is not over")
		}
	})
}
