package app

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestChangedMeanwhile: a change of a memory or of an MCP server is made of what was read, or not at all.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a, _ := serverIn(t, dir)
	one, two := "one", "two"
	memory := wire.MemoryQuery{Cwd: dir, Agent: "keeper", Scope: troupe.MemoryProject, File: "MEMORY.md"}
	file := filepath.Join(dir, ".claude/agent-memory/keeper/MEMORY.md")
	setMemory := func(p wire.Precondition, text *string) (string, error) {
		m, err := a.Setup().SetMemory(t.Context(), wire.MemoryChange{MemoryQuery: memory, Precondition: p, Text: text})
		return m.ETag, err
	}
	server := filepath.Join(dir, ".mcp.json")
	setServer := func(p wire.Precondition, text *string) (string, error) {
		c := wire.ServerChange{Precondition: p, Cwd: dir, Scope: "project", Name: "far"}
		if text != nil {
			c.Entry = []byte(`{"type": "http", "url": "http://127.0.0.1:9/` + *text + `"}`)
		}
		s, err := a.Serving().SetServer(t.Context(), c)
		return s.ETag, err
	}
	for what, x := range map[string]struct {
		set   func(wire.Precondition, *string) (string, error)
		read  func() string
		write func() error
	}{
		"memory": {setMemory, func() string {
			m, err := a.Setup().Memories(t.Context(), memory)
			if err != nil {
				return ""
			}
			return m[0].ETag
		}, func() error { return os.WriteFile(file, []byte("an agent's"), 0o600) }},
		"server": {setServer, func() string {
			if raw, err := os.ReadFile(server); err != nil || len(raw) == 0 {
				return ""
			}
			return serverTag(server, "far")
		}, func() error {
			return os.WriteFile(server, []byte(`{"mcpServers": {"far": {"url": "http://127.0.0.1:9/x"}}}`), 0o600)
		}},
	} {
		t.Run(what, func(t *testing.T) {
			refused := func(what string, err, kind error) {
				t.Helper()
				var user *troupe.UserError
				if !errors.Is(err, kind) || !errors.As(err, &user) || user.Hint == "" {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, err := x.set(wire.Precondition{IfMatch: `"a"`}, &one)
			refused("what is not there is changed", err, troupe.ErrChanged)
			first, err := x.set(wire.Precondition{IfNew: true}, &one)
			if err != nil || first == "" || x.read() != first {
				t.Fatalf("made, with %s, read as %s: %v", first, x.read(), err)
			}
			_, err = x.set(wire.Precondition{IfNew: true}, &two)
			refused("what is there is made", err, troupe.ErrExists)
			second, err := x.set(wire.Precondition{IfMatch: `"a", ` + first}, &two)
			if err != nil || second == first || x.read() != second {
				t.Fatalf("changed, with %s: %v", second, err)
			}
			_, err = x.set(wire.Precondition{IfMatch: first}, &one)
			refused("what was changed is changed", err, troupe.ErrChanged)
			_, err = x.set(wire.Precondition{IfMatch: "W/" + second}, &one)
			refused("by a weak tag", err, troupe.ErrChanged)
			if err := x.write(); err != nil {
				t.Fatal(err)
			}
			_, err = x.set(wire.Precondition{IfMatch: second}, nil)
			refused("what another program wrote is removed", err, troupe.ErrChanged)
			third, err := x.set(wire.Precondition{IfMatch: "*"}, &one)
			if err != nil || third == second {
				t.Errorf("whatever is there: %s, %v", third, err)
			}
			if what == "server" && third != first {
				t.Errorf("the same entry has the tags %s and %s", first, third)
			}
			if _, err = x.set(wire.Precondition{IfMatch: third}, nil); err != nil || x.read() != "" {
				t.Errorf("removed: %v", err)
			}
			_, err = x.set(wire.Precondition{IfMatch: third}, &two)
			refused("what was removed is changed", err, troupe.ErrChanged)
		})
	}
}
