package console

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/api"
)

// TestWaiting: on a terminal, what takes longer than two seconds says how far it is, and leaves nothing there.
func TestWaiting(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{true, false} {
		var out bytes.Buffer
		now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		c := &Console{Err: &out, ErrTTY: terminal, Now: func() time.Time { return now }}
		ctx, stop := Waiting(t.Context(), c, "Looking")
		for i := range 10 {
			api.Progress(ctx)(i, 10)
			now = now.Add(400 * time.Millisecond)
		}
		stop()
		want := "Looking: 50 %Looking: 70 %Looking: 90 %"
		if !terminal {
			want = ""
		}
		if got := strings.ReplaceAll(out.String(), "\r\x1b[K", ""); got != want {
			t.Errorf("terminal %v: %q", terminal, out.String())
		}
	}
}
