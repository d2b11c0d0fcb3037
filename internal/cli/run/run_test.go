package run_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestShowing runs the same prompt in every format. goleak sees to it that whoever showed
// it has gone with it.
func TestShowing(t *testing.T) {
	t.Parallel()
	for _, o := range []run.Output{{Format: "text", Live: true}, {Format: "json"}, {Format: "stream-json"}} {
		var out, errOut bytes.Buffer
		data, dir := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("replies: [{text: so it is}]"), 0o600); err != nil {
			t.Fatal(err)
		}
		c := &console.Console{
			Out: &out, Err: &errOut, Cwd: dir, Now: time.Now,
			Lookup:     func(name string) (string, bool) { return data, name == "TROUPE_HOME" },
			Interrupts: &console.Interrupts{Leave: func(code int) { t.Errorf("left with %d", code) }},
		}
		err := c.With(t.Context(), troupe.SurfaceHeadless, func(h *home.Home) error {
			return run.Headless(t.Context(), c, h.API, wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml"}, o)
		})
		if err != nil {
			t.Fatalf("%s: %v\n%s", o.Format, err, &errOut)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if !strings.Contains(lines[len(lines)-1], "so it is") {
			t.Errorf("%s: the last line is %q", o.Format, lines[len(lines)-1])
		}
		if o.Live != strings.Contains(errOut.String(), "done") {
			t.Errorf("%s: live is %v, and beside the result stands %q", o.Format, o.Live, &errOut)
		}
		for _, line := range lines {
			if o.Format != "text" && !json.Valid([]byte(line)) {
				t.Errorf("%s: not JSON: %s", o.Format, line)
			}
		}
	}
}
