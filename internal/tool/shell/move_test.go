package shell_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// TestMove: a command that is moved to the background goes on, its log has all that it prints, and it has
// more time than it was given.
func TestMove(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"little": 2, "much": 20_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.fifo("go")
			log := filepath.Join(b.env.OutputDir, "b1.log")
			command := fmt.Sprintf("seq %d; touch there; cat go; sleep 1; echo last; exit 3", before)
			p := b.prepare(map[string]any{"command": command, "timeout": 1000, "description": "count"})
			done := make(chan tool.Output, 1)
			m, ok := p.(tool.Mover)
			if !ok {
				t.Fatal("it cannot be moved")
			}
			if _, err := m.Move(log); err == nil {
				t.Error("it was moved before it ran")
			}
			go func() {
				out, err := p.Run(t.Context(), b.env)
				if err != nil {
					t.Error(err)
				}
				done <- out
			}()
			await(t, "the command to count", func() bool {
				_, err := os.Stat(filepath.Join(b.env.Cwd, "there"))
				return err == nil
			})
			if label, err := m.Move(log); err != nil || label != "count" {
				t.Fatalf("moved as %q: %v", label, err)
			}
			if _, err := m.Move(log); err == nil {
				t.Error("it was moved twice")
			}
			if err := os.WriteFile(filepath.Join(b.env.Cwd, "go"), nil, 0); err != nil {
				t.Fatal(err)
			}
			out := <-done
			text := troupe.JoinText(out.Blocks)
			if out.IsError || !strings.HasPrefix(text, "(Exit code 3.)\n") || !strings.HasSuffix(text, "last") {
				t.Errorf("got %q", text)
			}
			got, err := os.ReadFile(log)
			var want strings.Builder
			for i := range before {
				fmt.Fprintln(&want, i+1)
			}
			want.WriteString("last\n")
			if err != nil || string(got) != want.String() {
				t.Errorf("the log has %d bytes of %d: %v", len(got), want.Len(), err)
			}
			if _, err := m.Move(log); err == nil {
				t.Error("it was moved after its end")
			}
		})
	}
}

// TestMovedIsStopped: what was moved ends as anything in the background does.
func TestMovedIsStopped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.prepare(map[string]any{"command": "touch there; sleep 300"})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan tool.Output, 1)
	go func() {
		out, _ := p.Run(ctx, b.env)
		done <- out
	}()
	await(t, "the command to begin", func() bool {
		_, err := os.Stat(filepath.Join(b.env.Cwd, "there"))
		return err == nil
	})
	m, ok := p.(tool.Mover)
	if !ok {
		t.Fatal("it cannot be moved")
	}
	if _, err := m.Move(filepath.Join(b.env.OutputDir, "b1.log")); err != nil {
		t.Fatal(err)
	}
	cancel()
	if text := troupe.JoinText((<-done).Blocks); !strings.HasPrefix(text, "(Ended: it was stopped.)") {
		t.Errorf("got %q", text)
	}
}

// TestMovedWhileEnding: what is being ended since its time is up is not moved any more, and its end says so.
func TestMovedWhileEnding(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.prepare(map[string]any{"timeout": 300,
		"command": "trap 'touch there; sleep 0.6; exit 0' TERM; while :; do sleep 0.05; done"})
	done := make(chan tool.Output, 1)
	go func() {
		out, err := p.Run(t.Context(), b.env)
		if err != nil {
			t.Error(err)
		}
		done <- out
	}()
	await(t, "its time to be up", func() bool {
		_, err := os.Stat(filepath.Join(b.env.Cwd, "there"))
		return err == nil
	})
	m, ok := p.(tool.Mover)
	if !ok {
		t.Fatal("it cannot be moved")
	}
	if _, err := m.Move(filepath.Join(b.env.OutputDir, "b1.log")); err == nil {
		t.Error("it was moved while it was ended")
	}
	if text := troupe.JoinText((<-done).Blocks); !strings.Contains(text, "it had not finished after 300ms") {
		t.Errorf("its end says %q", text)
	}
}
