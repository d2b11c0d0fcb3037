package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// TestMainAloneIsToldMore: --append-system-prompt adds to the main agent's system prompt and
// to nobody else's, and stays with the session when it is resumed.
func TestMainAloneIsToldMore(t *testing.T) {
	t.Parallel()
	srv := modeltest.NewAnthropic(func(r *modeltest.Request) modeltest.Reply {
		if slices.Contains(r.Tools(), "Agent") && r.Turn == 1 {
			return modeltest.Calls(toolCall("Agent", map[string]any{"description": "help", "prompt": "help"}))
		}
		return modeltest.Text("done")
	}, modeltest.Options{})
	t.Cleanup(srv.Close)
	p := newPlace(t, "ANTHROPIC_API_KEY=test-key-0123456789", "ANTHROPIC_BASE_URL="+srv.URL())
	const extra = "Speak like a lighthouse keeper."
	p.run(0, "-p", "--append-system-prompt", extra, "go")
	p.run(0, "-p", "--continue", "and again")
	main, others := 0, 0
	for _, r := range srv.Requests() {
		told := strings.Contains(r.System(), extra)
		if slices.Contains(r.Tools(), "Agent") != told {
			t.Errorf("request %d: told %v, but its tools are %v", r.Number, told, r.Tools())
		}
		if told {
			main++
		} else {
			others++
		}
	}
	if main != 3 || others != 1 {
		t.Errorf("%d requests of main and %d of others, want 3 and 1", main, others)
	}
	if err := srv.Err(); err != nil {
		t.Error(err)
	}
}
