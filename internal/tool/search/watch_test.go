package search

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/tool"
)

// TestWatchBeginsWithItsResult: what changes as soon as the call has its turn is told, though nothing was looked at by
// Run by then; where nothing can be looked at, it has its turn all the same, and Run says why.
func TestWatchBeginsWithItsResult(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := make(chan string, 1)
	env := tool.Env{Cwd: dir, Log: filepath.Join(t.TempDir(), "log"), Line: func(line string) {
		told <- line
		cancel()
	}}
	p, err := Watch(env, "Monitor", "*.txt", "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	q, ok := p.(tool.Queuer)
	if !ok || q.TakeTurn(ctx, env, false) || !q.TakeTurn(ctx, env, true) || !q.TakeTurn(ctx, env, false) {
		t.Fatal("its turn does not come with the first look")
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _ = p.Run(ctx, env)
	if line := <-told; line != "new: a.txt" {
		t.Errorf("told %q", line)
	}

	hidden := tool.Env{Cwd: dir, Log: env.Log, Hidden: func(string) bool { return true }}
	p, err = Watch(hidden, "Monitor", "*.txt", "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	q, ok = p.(tool.Queuer)
	if !ok || !q.TakeTurn(t.Context(), hidden, true) || !q.TakeTurn(t.Context(), hidden, false) {
		t.Fatal("it waits for ever")
	}
	if out, err := p.Run(t.Context(), hidden); err != nil || !out.IsError {
		t.Errorf("what cannot be looked at: %+v, %v", out, err)
	}
}
