package live

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestRunning: a command that takes long is told of after 30 seconds, and then each time it has run for twice as long;
// one that was not started yet, or has ended, is not.
func TestRunning(t *testing.T) {
	t.Parallel()
	var said []string
	r := NewRunning(func(text string) { said = append(said, text) })
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	see := func(after time.Duration, bodies ...troupe.Body) {
		var b wire.Batch
		for _, body := range bodies {
			b.Events = append(b.Events, troupe.Event{Session: "a", Body: body})
		}
		r.See(b, at.Add(after))
	}
	bash := func(n int, command string) troupe.Block {
		return troupe.Block{Type: troupe.CallBlock,
			Call: &troupe.Call{Name: "Bash", Reply: 1, Index: n, Input: `{"command":"` + command + `"}`}}
	}
	see(0, troupe.Created{}, troupe.Replied{Blocks: []troupe.Block{bash(0, `go test\n./...`), bash(1, "later")}})
	see(time.Second, troupe.ToolStarted{Reply: 1, Call: 0, Name: "Bash"})
	for _, after := range []int{29, 30, 31, 45, 61, 90, 121, 240} {
		r.Look(at.Add(time.Duration(after+1) * time.Second))
	}
	see(242*time.Second, troupe.ToolFinished{Result: troupe.Result{Reply: 1, Call: 0}})
	see(243*time.Second, troupe.ToolStarted{Reply: 1, Call: 1, Name: "Bash"})
	see(250*time.Second, troupe.Ended{})
	r.Look(at.Add(time.Hour))
	r = NewRunning(func(text string) { said = append(said, text) })
	r.Know([]wire.Session{{ID: "a", Name: "fix"}}) // as where the session goes on
	see(0, troupe.Replied{Blocks: []troupe.Block{bash(0, "make")}}, troupe.ToolStarted{Reply: 1, Call: 0, Name: "Bash"})
	r.Look(at.Add(31 * time.Second))
	var want []string
	for _, after := range []string{"30.0 s", "1 min 1 s", "2 min 1 s", "4 min 0 s"} {
		want = append(want, "main: still running after "+after+": go test ./...")
	}
	want = append(want, "fix: still running after 31.0 s: make")
	if !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
}
