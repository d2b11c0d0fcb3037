package chat

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

const plot = `
replies:
  - {agent: Explore, text: three callers}
  - agent: main
    contains: three callers
    text: There are three.
  - agent: main
    contains: look around
    text: I will have somebody look.
    calls: [{tool: Agent, input: {description: trace callers, prompt: find them, subagent_type: Explore}}]
  - agent: main
    contains: write it
    calls: [{tool: Write, input: {file_path: note.txt, content: "was written\n"}}]
  - {agent: main, text: Hello.}
`

// inHome opens a Troupe home of its own, with a script for a model.
func inHome(t *testing.T, in io.Reader, out io.Writer, fn func(c *console.Console, h *home.Home,
	b wire.Begin)) (dir string) {
	t.Helper()
	data, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(plot), 0o600); err != nil {
		t.Fatal(err)
	}
	var errOut bytes.Buffer
	c := &console.Console{
		In: in, Out: out, Err: &errOut, Cwd: dir, Now: time.Now,
		Lookup:     func(name string) (string, bool) { return data, name == "TROUPE_HOME" || name == "HOME" },
		Interrupts: &console.Interrupts{Leave: func(code int) { t.Errorf("left with %d", code) }},
	}
	err := c.With(t.Context(), troupe.SurfaceChat, func(h *home.Home) error {
		fn(c, h, wire.Begin{Cwd: dir, Model: "script:s.yaml"})
		return nil
	})
	if err != nil {
		t.Errorf("%v\n%s", err, &errOut)
	}
	return dir
}

// TestLocal holds a conversation with the real engine: a sub-agent, a permission that is
// given, an undo, and another conversation in between.
func TestLocal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	in := strings.NewReader("look around\nwrite it\ny\n/undo\ny\n/cost\n/tasks\n/agents\n/model\n/resume\n/resume " +
		"nobody\nthanks\n")
	dir := inHome(t, in, &out, func(c *console.Console, h *home.Home, b wire.Begin) {
		b.MaxTokens = 100_000
		if err := Run(t.Context(), c, h.API, b, Options{}); err != nil {
			t.Error(err)
		}
	})
	rest := out.String()
	// This model answers faster than events are read: each reply stands where it is in the log
	// all the same, and once.
	for _, want := range []string{"I will have somebody look.\n", "┌─ #1 Trace callers · Explore\n",
		"└─ done · 0 tool uses", "There are three.\n"} {
		if strings.Count(rest, want) != 1 {
			t.Errorf("%q is not there once in\n%s", want, &out)
		}
	}
	for _, want := range []string{
		"I will have somebody look.\n", "┌─ #1 Trace callers · Explore\n", "└─ done · 0 tool uses",
		"There are three.\n",
		"┏━ main asks: Write\n", "was written\n", "✓ Write note.txt  +1 −0\n", "Hello.\n",
		"note.txt", "is removed; it was not there\n", "Undo this?", "1 of 1 file was put back.",
		"limit of tokens: ", "k of 100k used (", "main/Trace callers (Explore)", "script:",
		"/resume ID goes on with one.",
		"troupe: ", "Hello.\n",
	} {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("%q is missing, or not where it should be, in\n%s", want, &out)
		}
		rest = after
	}
	if _, err := os.Stat(filepath.Join(dir, "note.txt")); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

// TestLocalAgain goes back to a conversation that this process has in hand.
func TestLocalAgain(t *testing.T) {
	t.Parallel()
	inHome(t, strings.NewReader(""), io.Discard, func(_ *console.Console, h *home.Home, b wire.Begin) {
		first := begin(t, h.API, b, "hello")
		if err := h.API.Wait(t.Context(), first.root); err != nil {
			t.Fatal(err)
		}
		again, err := first.begin(t.Context(), wire.Begin{Resume: string(first.root)}, true)
		if err != nil {
			t.Fatal(err)
		}
		defer again.close()
		if again.root != first.root || len(again.before) != 1 || again.before[0].Status != troupe.Completed {
			t.Errorf("%+v", again)
		}
		if _, err := h.API.Send(t.Context(), again.root, wire.Message{Text: "more"}); err != nil {
			t.Fatal(err)
		}
		if said := replies(t, again, 1); !slices.Equal(said, []string{"Hello."}) {
			t.Errorf("it was told %q: what was shown came again, or what is new did not", said)
		}
	})
}

func TestLocalDrive(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	in := strings.NewReader(`{"type":"user","text":"look around"}` + "\n" + `{"type":"user"}` + "\n")
	inHome(t, in, &out, func(c *console.Console, h *home.Home, b wire.Begin) {
		run, err := Drive(t.Context(), c, h.API, b)
		if err != nil || run.Result != "There are three." || len(run.Agents) != 2 {
			t.Errorf("%v: %+v", err, run)
		}
	})
	types := make(map[string]int)
	for line := range strings.Lines(out.String()) {
		var v struct{ Type string }
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("not JSON: %s", line)
		}
		types[v.Type]++
	}
	if types["result"] != 1 || types["error"] != 1 || types["session.created"] != 2 || types["session.ended"] != 2 {
		t.Errorf("%v in\n%s", types, &out)
	}
}
