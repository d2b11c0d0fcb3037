package chat

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe/internal/wire"
)

// TestShowRequest: whoever is asked sees who asks, why, the exact action with what hides in
// it, what was printed, and which rule a yes for good would write, and where.
func TestShowRequest(t *testing.T) {
	t.Parallel()
	r := wire.Request{
		Path: "main/kid", Tool: "Bash", Why: "it ran read-only and wanted to create /ws/x",
		Action: "touch x\u202e # \x1b[2J",
		Output: "one\ntwo \x07", Grant: "Bash(touch x)", File: "/home/u/.config/troupe/folders/ws.json", Running: true,
	}
	plain := showRequest(r, 1, false, 0, false, time.UTC)
	for _, s := range []string{
		"┏━ main/kid asks: Bash", "why: it ran read-only and wanted to create /ws/x", `touch x\u{202e} # \u{001b}[2J`,
		`│ two \u{0007}`,
		"y once · s this session · a always: Bash(touch x) in /home/u/.config/troupe/folders/ws.json", "1 more waits",
	} {
		if !strings.Contains(plain, s) {
			t.Errorf("no %q in\n%s", s, plain)
		}
	}
	if strings.ContainsAny(plain, "\x1b\x07\u202e") {
		t.Errorf("something in it is not shown as it is:\n%q", plain)
	}
	a, b := showRequest(r, 0, false, 0, true, time.UTC), showRequest(wire.Request{Path: "main", Running: true}, 0,
		false, 0, true, time.UTC)
	if !strings.Contains(a, "m"+r.Path+"\x1b[0m") || strings.SplitN(a, "main", 2)[0] == strings.SplitN(b, "main",
		2)[0] {
		t.Errorf("two agents have one colour:\n%q\n%q", a, b)
	}
}

// TestRequestFits: no row of a request is wider than the screen, every one has the edge before
// it, and nothing of it is lost.
func TestRequestFits(t *testing.T) {
	t.Parallel()
	r := wire.Request{
		Path: "main/somebody with a rather long name/and a kid of that", Tool: "Bash", Grant: "Bash(go test *)",
		Why: "nothing says whether it may run, and it wanted to create a file in a folder that it may not write to",
		Action: "go test -run 'TestOne|TestTwo' " +
			"./internal/a/very/long/path/without/a/single/space/in/it/that/ends/somewhere && echo done",
		Output: strings.Repeat("out ", 40),
		File:   "/home/somebody/.config/troupe/folders/project-with-a-long-name-0123456789.json",
		Until:  time.Unix(7200, 0),
	}
	squeeze := func(s string) string {
		return strings.NewReplacer(" ", "", "┏━", "", "┃", "", "┗━", "", "│", "", "\n", "").Replace(ansi.Strip(s))
	}
	whole := squeeze(showRequest(r, 1, false, 0, false, time.UTC))
	for _, width := range []int{40, 60, 80} {
		for _, color := range []bool{false, true} {
			text := showRequest(r, 1, false, width, color, time.UTC)
			for l := range strings.Lines(text) {
				l = strings.TrimSuffix(l, "\n")
				if n := ansi.StringWidth(l); n > width {
					t.Errorf("%d of %d columns: %s", n, width, l)
				}
				if !strings.HasPrefix(l, "┏━ ") && !strings.HasPrefix(l, "┃ ") && !strings.HasPrefix(l, "┗━ ") {
					t.Errorf("no edge: %s", l)
				}
			}
			if squeeze(text) != whole {
				t.Errorf("something is lost:\n%s", text)
			}
			for _, word := range []string{" leave", "unless", "answered", "session", "nothing", "create"} {
				if strings.Contains(whole, word) && !strings.Contains(text, word) {
					t.Errorf("%q is broken in %d columns:\n%s", word, width, text)
				}
			}
		}
	}
}
