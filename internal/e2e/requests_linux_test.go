package e2e_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

var update = flag.Bool("update", false, "write the golden files again")

// firstAgents are the agents whose first requests are kept, by the prompt that main gives each.
func firstAgents() map[string]string {
	return map[string]string{
		"Explore": "find the exporter", "Plan": "plan the exporter", "general-purpose": "write the exporter",
		"Verification": "check the exporter", "reviewer": "review the exporter",
		"Review": "read the diff of the exporter", "worker": "write a part of the exporter",
		"Bash": "build the exporter", "Guide": "say how exporters are set up", "Statusline": "show the exporter",
		"simple": "change a line of the exporter",
	}
}

// firstRequests runs main and one agent of each type, and returns the first request of each by its
// type. What is this machine's or this minute's own is replaced in them.
func firstRequests(t *testing.T, lacks string, args ...string) map[string][]byte {
	t.Helper()
	var mu sync.Mutex
	got := make(map[string][]byte)
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		mu.Lock()
		defer mu.Unlock()
		if isMain(r) && r.Turn == 1 {
			got["main"] = r.Body
			var calls []modeltest.Call
			for name, prompt := range firstAgents() {
				calls = append(calls, agentCall("subagent_type", name, "prompt", prompt))
			}
			return modeltest.Calls(calls...)
		}
		for name, prompt := range firstAgents() {
			if strings.Contains(r.FirstText(), prompt) {
				got[name] = r.Body
			}
		}
		return modeltest.Text("Done.")
	})
	p.lacks = lacks
	p.write("a.txt", "one\n")
	for _, git := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"},
			git...)...)
		cmd.Dir = p.dir
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-03-01T10:00:00Z",
			"GIT_AUTHOR_DATE=2026-03-01T10:00:00Z", "GIT_CONFIG_GLOBAL="+os.DevNull,
			// A developer's own count for more than the config given here.
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", git, err, out)
		}
	}
	p.write("a.txt", "two\n")
	p.write("new.txt", "new\n")
	p.run(0, append([]string{"-p", "have the exporter done", "--agents",
		`{"reviewer":{"description":"Reads a change and says what is wrong with it.","prompt":"You review changes."}}`},
		args...)...)
	for name, body := range got {
		sizeOfFirst(t, name, len(body))
		got[name] = withoutMachine(p, body)
	}
	return got
}

// withoutMachine replaces what another machine or another day would say.
func withoutMachine(p *place, body []byte) []byte {
	body = bytes.ReplaceAll(body, []byte(p.dir), []byte("/FOLDER"))
	body = bytes.ReplaceAll(body, []byte(p.root), []byte("/ROOT"))
	for fact, placeholder := range map[string]string{
		`- (platform|shell|date): [^\\]*\\n`: `- $1: ($1)\n`,
		`"model":"[^"]*"`:                    `"model":"(model)"`,
		`- model: [^\\]*\\n`:                 `- model: (model)\n`,
		`home-scratchpads/[0-9a-z]{12}`:      `home-scratchpads/(id)`,
		`home/docs/[0-9a-f]+`:                `home/docs/(hash)`,
		`/plans/[^/ ]*-[0-9a-z]{12}\.md`:     `/plans/(plan).md`,
	} {
		body = regexp.MustCompile(fact).ReplaceAll(body, []byte(placeholder))
	}
	return body
}

// readable is a request with a line of its own for each line of a text in it.
func readable(t *testing.T, body []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), `\n`, "\\n\n") + "\n"
}

// TestFirstRequests keeps what each kind of agent is told at first, as it goes over the wire.
func TestFirstRequests(t *testing.T) {
	t.Parallel()
	if !confines(newPlace(t)) {
		t.Skip("the golden files tell of a sandbox, and there is none here")
	}
	for name, c := range map[string]struct {
		lacks string
		args  []string
	}{
		"default":    {},
		"plan":       {args: []string{"--permission-mode", "plan"}},
		"no sandbox": {lacks: "landlock"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := firstRequests(t, c.lacks, c.args...)
			if len(got) != 1+len(firstAgents()) {
				t.Fatalf("%d agents made requests, want %d", len(got), 1+len(firstAgents()))
			}
			for agent, body := range got {
				file := filepath.Join("testdata", "requests", strings.ReplaceAll(name, " ", "-"), agent+".json")
				text := readable(t, body)
				if *update {
					if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil || string(want) != text {
					t.Errorf("%s is told something else than %s says (%v); look at it, then run this with -update:\n%s",
						agent, file, err, text)
				}
			}
			shareBeginning(t, got["general-purpose"], got["reviewer"])
		})
	}
}

// shareBeginning: what siblings have in common stands before what is their own, so that a provider reads it
// from its cache. Types with the same tools share these and what all sub-agents are told.
func shareBeginning(t *testing.T, a, b []byte) {
	t.Helper()
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	last := "they run at the same time."
	if at := bytes.Index(a, []byte(last)); at < 0 || same < at+len(last) {
		t.Errorf("two siblings share %d bytes, want what all are told (%d):\n%s", same, at, a[:same])
	}
}

// sizeOfFirst holds a first request to its budget: everyone pays for it at every turn.
func sizeOfFirst(t *testing.T, agent string, size int) {
	t.Helper()
	most := map[string]int{"main": 23 << 10, "Explore": 6 << 10}[agent]
	t.Logf("%s: %d bytes", agent, size)
	if most > 0 && size > most {
		t.Errorf("the first request of %s takes %d bytes, want at most %d", agent, size, most)
	}
}
