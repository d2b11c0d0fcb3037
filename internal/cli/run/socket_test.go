package run_test

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/hometest"
	"github.com/troupe-dev/troupe/internal/cli/run"
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
			a, b := hometest.Open(t, script)
			asked := a.As(troupe.You(troupe.SurfaceHeadless))
			if i == 1 {
				asked = hometest.OverSocket(t, a)
			}
			var out bytes.Buffer
			b.Prompt = "go"
			if err := run.Headless(t.Context(), hometest.Console(t, b.Cwd, nil, &out), asked, b, o); err != nil {
				t.Errorf("%+v: %v", o, err)
			}
			shown[i] = timeless(out.String())
		}
		if shown[0] != shown[1] || shown[0] == "" {
			t.Errorf("%+v shows here\n%s\nand over a socket\n%s", o, shown[0], shown[1])
		}
	}
}

// timeless is an output without what differs from one run to the next. Who asked for a run stands
// in its log.
func timeless(s string) string {
	for _, r := range [][2]string{
		{`,"by":\{[^}]*\}|,"caller":\{[^}]*\}`, ""}, {`/tmp/[^" ,:]*`, "DIR"},
		{`"(at|until|since|\w+_at)":"[^"]*"`, `"$1":"T"`},
		{`"duration_ms":\d+`, `"duration_ms":0`}, {`,"active_ms":\d+`, ""}, {`[0-9.]+ s\b`, "N s"},
		{`\b[0-9a-hj-km-np-tv-z]{12}\b`, "ID"},
		{`\b[0-9a-f]{16,}\b`, "HASH"},
	} {
		s = regexp.MustCompile(r[0]).ReplaceAllString(s, r[1])
	}
	return s
}
