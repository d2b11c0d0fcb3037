package app

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/all"
	"github.com/troupe-dev/troupe/internal/wire"
)

// census is a tool that nothing knows but the list of tools. Its calls wait for one another.
type census struct {
	path string
	both chan struct{}
}

func (c census) describe() tool.Descriptor {
	return tool.Describe(troupe.ToolFacts{
		Name: "Census", Class: troupe.ClassRead, Schedule: troupe.Parallel, Argument: troupe.PathArgument, Like: "Read",
		Doing: "counting", OldName: "Tally", Aliases: []string{"head_count"}, Misspellings: []string{"enumerate"},
	}, "Counts what is in a file.", c.fields()).With(c)
}

func (c *census) fields() []tool.Field {
	return []tool.Field{{Name: "file_path", String: &c.path, Required: true, NotEmpty: true}}
}

func (c census) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	err := tool.Decode("Census", input, c.fields())
	c.path = env.Abs(c.path)
	return c, err
}

func (c census) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassRead, Reads: tool.Touched(c.path)}
}

func (c census) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	select {
	case c.both <- struct{}{}:
	case <-c.both:
	case <-ctx.Done():
		return tool.Errorf("it was alone"), nil
	}
	return tool.Output{Blocks: []troupe.Block{troupe.Text("counted " + env.Rel(c.path))}}, nil
}

const counting = `
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: Census, input: {file_path: a.txt}}
      - {tool: Census, input: {file_path: b.txt}}
      - {tool: Census, input: {file_path: secret.txt}}
      - {tool: Census, input: {file: a.txt}}
      - {tool: Agent, input: {description: count, prompt: count, subagent_type: counter}}
  - agent: counter
    text: nothing to count
  - agent: main
    text: counted
`

// TestNewToolIsOneLine: a tool that stands in the list and nowhere else is offered, judged,
// scheduled, run and shown.
func TestNewToolIsOneLine(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "count.yaml"), []byte(counting), 0o600); err != nil {
		t.Fatal(err)
	}
	a := openHome(t, home)
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	a.tools = func(o all.Options) ([]tool.Descriptor, error) {
		tools, err := all.Tools(o)
		return append(tools, census{both: make(chan struct{})}.describe()), err
	}
	request := wire.Begin{
		Prompt: "go", Cwd: dir, Model: "script:count.yaml",
		Role: wire.Role{
			Agents: `{"counter": {"description": "counts", "prompt": "Count.", "tools": ["head_count", "Tally", "Read"]}}`,
		},
		Permissions: wire.Permissions{Deny: []string{"census(secret.txt)"}, Allow: []string{"Tally"}},
	}
	r, err := you(a).Begin(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	f := a.followers.Follow(wire.Follow{Root: r.Root})
	defer f.Close()
	if err := you(a).Wait(t.Context(), r.Root); err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) > 0 {
		t.Errorf("warned of %q", r.Warnings)
	}
	events, err := f.Rest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, e := range events {
		switch b := e.Body.(type) {
		case troupe.Created:
			if !slices.Contains(b.Profile.Tools, "Census") {
				t.Errorf("%s is offered %q", b.Profile.Type, b.Profile.Tools)
			}
			checkOffered(t, a, e.Root, b.Profile)
		case troupe.ToolFinished:
			if b.Name == "Census" {
				results = append(results, troupe.JoinText(b.Result.Blocks))
			}
		default:
		}
	}
	slices.Sort(results)
	for i, want := range []string{"Census: there is no parameter", "counted a.txt", "counted b.txt",
		"permission denied: the rule \"census(secret.txt)\""} {
		if len(results) != 4 || !strings.HasPrefix(results[i], want) {
			t.Fatalf("result %d of %q, want %q", i, results, want)
		}
	}
	checkExplained(t, a, request)
}

// checkOffered: what a session's model is told of its tools is kept with the tree.
func checkOffered(t *testing.T, a *App, root troupe.SessionID, p troupe.Profile) {
	t.Helper()
	var told []troupe.Tool
	err := a.trees.store.View(t.Context(), func(r store.Reader) error {
		body, err := r.Document(root, p.Offer)
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &told)
	})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(told, func(x troupe.Tool) bool { return x.Name == "Census" })
	if at < 0 || len(told) != len(p.Tools) || told[at].Description != "Counts what is in a file." ||
		!strings.Contains(string(told[at].Schema), "file_path") {
		t.Errorf("%s is told %+v", p.Type, told)
	}
}

// checkExplained: the same, as people are told who ask.
func checkExplained(t *testing.T, a *App, r wire.Begin) {
	t.Helper()
	x, warnings, err := (machine{bound{app: a}}).explainerAt(t.Context(), r)
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	defer func() { _ = x.close() }()
	for agent, want := range map[string]troupe.Effect{"main": troupe.Deny, "counter": troupe.Deny,
		"Explore": troupe.Deny} {
		if v := x.judge(wire.Call{Agent: agent, Tool: "Census",
			Input: []byte(`{"file_path":"secret.txt"}`)}); v.Decision != want {
			t.Errorf("%s: %+v", agent, v)
		}
	}
	if v := x.judge(wire.Call{Tool: "Tally",
		Input: []byte(`{"file_path":"/etc/hosts"}`)}); v.Decision != troupe.Allow || v.Rule != "Tally" {
		t.Errorf("%+v", v)
	}
	place := wire.Place{Cwd: r.Cwd, Permissions: r.Permissions, Agents: r.Agents}
	rules, err := you(a).Machine().Rules(t.Context(), place)
	if warnings = rules.Warnings; err != nil || len(warnings) > 0 || len(rules.Rules) != 2 ||
		!strings.HasPrefix(rules.Rules[0].Meaning, "denies counting ") {
		t.Errorf("%+v %q %v", rules.Rules, warnings, err)
	}
	place.Deny = []string{"Censsus(x)", "enumerate(x)"}
	rules, err = you(a).Machine().Rules(t.Context(), place)
	if warnings = rules.Warnings; err != nil || len(warnings) != 2 ||
		!strings.Contains(warnings[0], "Census was probably meant") ||
		!strings.Contains(warnings[1], "Census was probably meant") {
		t.Errorf("%q %v", warnings, err)
	}
}
