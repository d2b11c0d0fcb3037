package chat

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestClientRequestIsTold: a call that a program carries out is told once, in words and with what answers it; nobody is
// asked yes or no about it, and other requests do not wait for it.
func TestClientRequestIsTold(t *testing.T) {
	t.Parallel()
	m := machine{terminal: true, begun: true, now: time.Unix(0, 0)}
	call := wire.Request{ID: "7k3f.1.0", Path: "main", Kind: troupe.RequestTool, Tool: "ticket",
		Action: "ticket {\"title\":\"\x1b[2Jit fails\"}", Input: json.RawMessage(`{}`), Until: time.Unix(90, 0)}
	edit := wire.Request{ID: "7k3f.2.0", Path: "main/x", Kind: troupe.RequestPermission, Tool: "Edit"}
	acts := m.requests([]wire.Request{call})
	if len(acts) != 1 || acts[0].kind != actSay || strings.Contains(acts[0].text, "\x1b") {
		t.Fatalf("told is %+v", acts)
	}
	for _, want := range []string{"main waits for the program", "ticket", "1 min 30 s",
		"troupe answer 7k3f.1.0 --text RESULT"} {
		if !strings.Contains(acts[0].text, want) {
			t.Errorf("%q is not in %q", want, acts[0].text)
		}
	}
	if len(m.asks) != 0 || strings.Contains(m.prompt(), "y/") {
		t.Errorf("asked is %+v with %q", m.asks, m.prompt())
	}
	if acts := m.requests([]wire.Request{call}); len(acts) != 0 {
		t.Errorf("it is told again: %+v", acts)
	}
	acts = m.requests([]wire.Request{call, edit})
	if len(acts) != 1 || acts[0].kind != actShow || m.asks[0].ID != edit.ID {
		t.Errorf("another request waits: %+v, %+v", acts, m.asks)
	}
}
