package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/mcp/login"
	"github.com/troupe-dev/troupe/internal/tool"
)

// fifty is a user with fifty servers, half of them programs, of which each offers twenty tools that are kept, with so
// many parameters. None of them can be started.
func fifty(tb testing.TB, parameters int) (*Registry, Places) {
	tb.Helper()
	dir := tb.TempDir()
	kept := Kept(filepath.Join(dir, "kept"))
	var list mcp.List
	properties := make(map[string]any)
	for i := range parameters {
		properties[fmt.Sprintf("parameter_%d", i)] = map[string]any{"type": "string",
			"description": "What it is, as servers tell it, in a sentence or two that models read."}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range 20 {
		list.Tools = append(list.Tools, mcp.Tool{Name: fmt.Sprintf("tool_%02d", i), Description: "Does what it is for.",
			Schema: schema})
	}
	all := map[string]any{}
	for i := range 50 {
		e := map[string]any{"command": "npx", "args": []string{"-y", fmt.Sprintf("server-%d", i)}}
		if i%2 == 1 {
			e = map[string]any{"url": fmt.Sprintf("https://server-%d.example.com/mcp", i)}
		}
		all[fmt.Sprintf("server%02d", i)] = e
	}
	data, err := json.Marshal(map[string]any{"mcpServers": all})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "mcp.json"), data, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
	found, problems := entry.Parse(data)
	if len(found) != 50 || len(problems) > 0 {
		tb.Fatal(len(found), problems)
	}
	for _, e := range found {
		if err := kept.Put(e, dir, list, nil, time.Now()); err != nil {
			tb.Fatal(err)
		}
	}
	r := New(tb.Context(), Options{Kept: kept, Now: time.Now, Logins: login.New(login.Options{Dir: dir}),
		Start: func(Program) (mcp.Process, error) {
			tb.Error("a server was started")
			return nil, os.ErrInvalid
		}})
	tb.Cleanup(r.Close)
	return r, Places{Dirs: config.Dirs{Config: dir, Data: dir}, Cwd: dir}
}

// begins does what the beginning of a session does about servers.
func begins(tb testing.TB, r *Registry, p Places) {
	tb.Helper()
	service := func(context.Context, troupe.Level, bool) (*troupe.Confinement, []string, error) {
		tb.Error("a sandbox was made for a server")
		return nil, nil, nil
	}
	k, problems := r.Look(tb.Context(), p, nil, service)
	have, _ := k.Of(nil, "")
	facts := k.Facts(have)
	t := r.Open(p.Cwd, tool.Set{}, func(string) Refs { return Refs{} }, nil)
	defer t.Close()
	if set := t.Tools(&troupe.Profile{Type: "main"}); len(problems) > 0 || len(have) != 50 || len(facts) != 1000 ||
		len(t.States()) > 0 {
		tb.Fatal(problems, len(have), len(facts), set)
	}
}

// TestFiftyServers: servers of which it is known what they offer are not started, nor reached, nor is anything
// prepared for them, until one is called.
func TestFiftyServers(t *testing.T) {
	t.Parallel()
	r, p := fifty(t, 1)
	begins(t, r, p)
}

// BenchmarkFiftyServers: what fifty servers cost a session that begins and uses none.
func BenchmarkFiftyServers(b *testing.B) {
	for _, parameters := range []int{1, 10} {
		b.Run(fmt.Sprint("parameters=", parameters), func(b *testing.B) {
			r, p := fifty(b, parameters)
			for b.Loop() {
				begins(b, r, p)
			}
		})
	}
}
