package chat

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/wire"
)

// TestShowRequest: whoever is asked sees who asks, why, the exact action with what hides in
// it, what was printed, and which rule a yes for good would write, and where.
func TestShowRequest(t *testing.T) {
	t.Parallel()
	r := wire.Request{
		Path: "main/kid", Tool: "Bash", Why: "it ran read-only and wanted to create /ws/x", Action: "touch x\u202e # \x1b[2J",
		Output: "one\ntwo \x07", Grant: "Bash(touch x)", File: "/home/u/.config/troupe/folders/ws.json", Running: true,
	}
	plain := showRequest(r, 1, false, false, time.UTC)
	for _, s := range []string{
		"┏━ main/kid asks: Bash", "why: it ran read-only and wanted to create /ws/x", `touch x\u{202e} # \u{001b}[2J`, `│ two \u{0007}`,
		"y once · s this session · a always: Bash(touch x) in /home/u/.config/troupe/folders/ws.json", "1 more wait",
	} {
		if !strings.Contains(plain, s) {
			t.Errorf("no %q in\n%s", s, plain)
		}
	}
	if strings.ContainsAny(plain, "\x1b\x07\u202e") {
		t.Errorf("something in it is not shown as it is:\n%q", plain)
	}
	a, b := showRequest(r, 0, false, true, time.UTC), showRequest(wire.Request{Path: "main", Running: true}, 0, false, true, time.UTC)
	if !strings.Contains(a, "m"+r.Path+"\x1b[0m") || strings.SplitN(a, "main", 2)[0] == strings.SplitN(b, "main", 2)[0] {
		t.Errorf("two agents have one colour:\n%q\n%q", a, b)
	}
}
