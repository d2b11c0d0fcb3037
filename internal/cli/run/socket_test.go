package run_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/httpd"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestOverASocket: a run in another process is shown as one in this process is.
func TestOverASocket(t *testing.T) {
	t.Parallel()
	const script = `replies:
- {turn: 1, text: looking, calls: [{tool: Glob, input: {pattern: "*"}}, {tool: Write, input: {file_path: a.txt, content: a}}]}
- {text: so it is}
`
	for _, o := range []run.Output{{Format: "text", Live: true}, {Format: "text"}, {Format: "json"},
		{Format: "stream-json"}} {
		var shown [2]string
		for i := range shown {
			data, dir := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(data, "s.yaml"), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			a, err := app.Open(t.Context(), app.Env{
				Lookup: func(name string) (string, bool) { return data, name == "TROUPE_HOME" },
				Now:    time.Now, Log: slog.New(slog.DiscardHandler), Version: "test",
			})
			if err != nil {
				t.Fatal(err)
			}
			asked := a.As(troupe.You(troupe.SurfaceHeadless))
			leave := func() error { return nil }
			if i == 1 {
				asked, leave = overSocket(t, a)
			}
			var out bytes.Buffer
			c := &console.Console{
				Out: &out, Err: &out, Cwd: dir, Now: time.Now, Lookup: func(string) (string, bool) { return "", false },
				Interrupts: &console.Interrupts{Leave: func(code int) { t.Errorf("left with %d", code) }},
			}
			if err := run.Headless(t.Context(), c, asked, wire.Begin{Prompt: "go", Cwd: dir,
				Model: "script:" + filepath.Join(data, "s.yaml")}, o); err != nil {
				t.Errorf("%+v: %v", o, err)
			}
			if err := leave(); err != nil {
				t.Error(err)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
			shown[i] = timeless(out.String())
		}
		if shown[0] != shown[1] || shown[0] == "" {
			t.Errorf("%+v shows here\n%s\nand over a socket\n%s", o, shown[0], shown[1])
		}
	}
}

func overSocket(t *testing.T, a *app.App) (api.API, func() error) {
	t.Helper()
	s, err := httpd.Serve(t.Context(), filepath.Join(t.TempDir(), "a.sock"), a.As, httpd.Options{Temp: os.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := client.Dial(s.Path())
	return c, func() error {
		c.Close()
		return s.Close(context.WithoutCancel(t.Context()))
	}
}

// timeless is an output without what differs from one run to the next. Who asked for a run stands
// in its log.
func timeless(s string) string {
	for _, r := range [][2]string{
		{`,"by":\{[^}]*\}|,"caller":\{[^}]*\}`, ""}, {`/tmp/[^" ,:]*`, "DIR"},
		{`"(at|until|since|\w+_at)":"[^"]*"`, `"$1":"T"`},
		{`"duration_ms":\d+`, `"duration_ms":0`}, {`[0-9.]+ s\b`, "N s"}, {`\b[0-9a-hj-km-np-tv-z]{12}\b`, "ID"},
		{`\b[0-9a-f]{16,}\b`, "HASH"},
	} {
		s = regexp.MustCompile(r[0]).ReplaceAllString(s, r[1])
	}
	return s
}
