package chat

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/hometest"
)

// hosts are the two ways in which a conversation is held: with an app of its own process, and over
// a socket with one of another.
func hosts() map[string]func(t *testing.T, a *app.App) api.API {
	return map[string]func(t *testing.T, a *app.App) api.API{
		"in this process": func(_ *testing.T, a *app.App) api.API { return a.As(troupe.You(troupe.SurfaceChat)) },
		"over a socket":   func(t *testing.T, a *app.App) api.API { return hometest.OverSocket(t, a) },
	}
}

// TestSameScreen: one script of input shows the same, and one of orders writes the same, wherever
// the agents run.
func TestSameScreen(t *testing.T) {
	t.Parallel()
	// What comes of the last command is told when it comes; nothing is asked behind it.
	const words = "/mode acceptEdits\n/mode default\n/model\nlook around\nwrite it\nv\ny\n/undo\ny\n/undo " +
		"redo\ny\n/undo 99\n/undo x\n/cost\n/tasks\n" +
		"/agents\n/background kid\n/stop 1\n/resume\n/resume nobody\n/resume main\nthanks\n/stop\n/mode plan\n"
	const orders = `{"type":"stop"}` + "\n" + `{"type":"user","text":"look around"}` + "\n" +
		`{"type":"answer","request":"x","allow":true}` + "\n"
	shown := make(map[string]map[string]string)
	for name, as := range hosts() {
		shown[name] = make(map[string]string)
		for kind, input := range map[string]string{"words": words, "orders": orders} {
			a, b := hometest.Open(t, plot)
			var out bytes.Buffer
			c := hometest.Console(t, b.Cwd, strings.NewReader(input), &out)
			c.Err = io.Discard
			var err error
			if kind == "words" {
				err = Run(t.Context(), c, as(t, a), b, Options{Local: time.UTC})
			} else {
				_, err = Drive(t.Context(), c, as(t, a), b)
			}
			if err != nil {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
			shown[name][kind] = timeless(kind, b.Cwd, out.String())
		}
	}
	for kind, here := range shown["in this process"] {
		if there := shown["over a socket"][kind]; here != there {
			t.Errorf("%s show here\n%s\nand over a socket\n%s", kind, here, there)
		}
	}
	for _, want := range []string{
		"┌─ #1 Trace callers · Explore\n", "✓ Write note.txt", "1 of 1 file was put back.", "There are three.\n",
		"From the next call on: plan\n", "Going on with ID: look around",
	} {
		if here := shown["in this process"]["words"]; !strings.Contains(here, want) {
			t.Errorf("no %q in\n%s", want, here)
		}
	}
}

// timeless is a screen without what differs from one run to the next. What a program is told of
// several agents comes in the order in which it was read, so its lines are sorted, by what they are.
func timeless(kind, dir, s string) string {
	if kind == "orders" {
		lines := regexp.MustCompile(`(?m)^{"type":"[^"]*"|"(status|problem|result|text)":"[^"]*"`).FindAllString(strings.ReplaceAll(s, dir, "DIR"), -1)
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	for _, r := range [][2]string{
		{regexp.QuoteMeta(dir), "DIR"}, {`in /\S*/folders/\S*`, "in FILE"}, {`[0-9.]+ (ms|s)\b`, "N s"},
		{`\b[0-9a-hj-km-np-tv-z]{12}\b`, "ID"},
		{`\d\d \w{3} \d\d:\d\d`, "DATE"}, {`denied \w{3} \d\d:\d\d`, "denied DATE"}, {`you \(process \d+\)`, "you"},
	} {
		s = regexp.MustCompile(r[0]).ReplaceAllString(s, r[1])
	}
	return s
}
