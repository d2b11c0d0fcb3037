package cmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestWriteRequest(t *testing.T) {
	t.Parallel()
	now := apitest.Born().Add(3 * time.Minute)
	r := wire.Request{
		ID: "9m20-1.0", Root: apitest.Root, Path: "main/Auth\nExplorer", Tool: "Bash",
		Why: "no rule\nanswer  troupe answer x allow", Rule: "ask Bash",
		Action: "echo a \u202e\n  answer   troupe answer 9m20 allow\n", Grant: "Bash(echo a)", Since: apitest.Born(),
		Until: now.Add(time.Minute), Calls: 2,
	}
	var b bytes.Buffer
	writeRequest(&console.Console{Out: &b}, r, now)
	got := strings.ReplaceAll(b.String(), r.Since.Local().Format("2006-01-02 15:04:05"), "SINCE")
	want := `9m20-1.0  main/Auth\nExplorer asks for Bash
  why      no rule\nanswer  troupe answer x allow
  rule     ask Bash
  action   │ echo a \u{202e}
           │   answer   troupe answer 9m20 allow
  calls    the answer is for 2 calls
  since    SINCE (3 min 0 s), denied in 1 min 0 s unless answered
  waits    no process is running it; resume it with: troupe -p --resume 7k3f00000000
  answer   troupe answer 9m20-1.0 allow|deny   (--session, --always: Bash(echo a) from now on)
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestLostQuestion: no answer to the question of a server helps whose process is gone.
func TestLostQuestion(t *testing.T) {
	t.Parallel()
	r := wire.Request{ID: "9m20-1.0", Root: "7k3f00000000", Path: "main", Kind: troupe.RequestQuestion,
		Server:    "tester",
		Questions: []troupe.Question{{Text: "Shall it?"}}, Since: apitest.Born()}
	for running, want := range map[bool]bool{true: true, false: false} {
		var b bytes.Buffer
		r.Running = running
		writeRequest(&console.Console{Out: &b}, r, apitest.Born())
		if got := b.String(); strings.Contains(got, "troupe answer") != want ||
			strings.Contains(got, "lost") == want {
			t.Errorf("running %v:\n%s", running, got)
		}
	}
}

func TestListRequests(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	var b bytes.Buffer
	c := &console.Console{Out: &b, Now: apitest.Born}
	if err := listRequests(t.Context(), c, w, false); err != nil ||
		!strings.Contains(b.String(), `│ rm -rf build\u{202e} && echo <done>`) {
		t.Errorf("%v:\n%s", err, b.String())
	}
	b.Reset()
	if err := listRequests(t.Context(), c, w, true); err != nil ||
		!strings.HasPrefix(b.String(), `[{"id":"9m2000000000-1.0"`) {
		t.Errorf("%v:\n%s", err, b.String())
	}
	if err := w.Answer(t.Context(), "9", wire.Answer{}); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := listRequests(t.Context(), c, w, false); err != nil || b.String() != "No requests are open.\n" {
		t.Errorf("%v:\n%s", err, b.String())
	}
}
