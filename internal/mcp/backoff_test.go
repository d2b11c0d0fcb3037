package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/mcp"
)

// TestBackoff: a server that cannot be started is tried again after pauses that double up to a minute, and not before;
// one that was up again has the first pause ahead of it.
func TestBackoff(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := mcp.New(t.Context(), mcp.Options{Now: func() time.Time { return now }})
	defer s.Close()
	var tries starts
	to := stdio(t, &tries)
	start, broken := to.Start, true
	to.Start = func(ctx context.Context, stderr io.Writer) (mcp.Process, error) {
		if broken {
			tries.mu.Lock()
			defer tries.mu.Unlock()
			tries.n++
			return nil, errors.New("no such program")
		}
		return start(ctx, stderr)
	}
	call := func(tool string) string {
		t.Helper()
		_, err := s.Call(t.Context(), to, tool, []byte(`{}`), nil)
		return fmt.Sprint(err)
	}
	fails := func(pause time.Duration) {
		t.Helper()
		n := tries.count()
		if err := call("echo"); tries.count() != n+1 || !strings.Contains(err, "no such program") {
			t.Fatalf("tried %d times: %s", tries.count()-n, err)
		}
		now = now.Add(pause - time.Millisecond)
		err := call("echo")
		if tries.count() != n+1 || !strings.Contains(err, "no such program (it is tried again in") {
			t.Fatalf("tried %d times, with %v of the pause gone: %s", tries.count()-n, pause-time.Millisecond, err)
		}
		now = now.Add(time.Millisecond)
	}
	for _, seconds := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		fails(seconds * time.Second)
	}
	broken = false
	if err := call("echo"); err != "<nil>" {
		t.Fatal(err)
	}
	// It dies, and cannot be started again: nothing is left of the pauses from before.
	if err := call("die"); !strings.Contains(err, "ended in the middle") {
		t.Fatal(err)
	}
	broken = true
	fails(time.Second)
	fails(2 * time.Second)
}
