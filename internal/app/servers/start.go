package servers

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/mcp/login"
	"github.com/troupe-dev/troupe/internal/tool"
)

// Program is a server to be started.
type Program struct {
	Entry   entry.Entry
	Env     []string
	Confine *troupe.Confinement
	Stderr  io.Writer
}

// target is a server as a call reaches it.
func (r *Registry) target(s Server, cwd string, owner mcp.Owner, service tool.Service) (mcp.Target, error) {
	e, err := s.Expand(entry.Places{Cwd: cwd, Home: r.o.Home, Lookup: r.o.Lookup})
	if err != nil {
		return mcp.Target{}, err
	}
	var user mcp.Login
	if e.Type != entry.Stdio && r.o.Logins != nil {
		user = r.o.Logins.Of(s.Hash(), s.Source, e)
	}
	return mcp.Target{Owner: owner, Entry: e, Login: user, Start: func(ctx context.Context,
		stderr io.Writer) (mcp.Process, error) {
		if service == nil {
			return nil, fmt.Errorf("nothing here can start it")
		}
		confine, environ, err := service(ctx, s.Level(), owner == "")
		if err != nil {
			return nil, fmt.Errorf("its sandbox could not be prepared: %w", err)
		}
		if confine != nil && confine.Level == troupe.LevelWorkspace {
			more, err := r.cache(s, cwd, confine)
			if err != nil {
				return nil, err
			}
			environ = append(slices.Clip(environ), more...)
		}
		return r.o.Start(Program{Entry: e, Env: r.environment(environ, e.Env), Confine: confine, Stderr: stderr})
	}}, nil
}

// Login is the user's login at a server; the error says why there can be none.
func (r *Registry) Login(s Server, cwd string) (*login.Login, error) {
	e, err := s.Expand(entry.Places{Cwd: cwd, Home: r.o.Home, Lookup: r.o.Lookup})
	if err != nil {
		return nil, err
	}
	return r.o.Logins.Of(s.Hash(), s.Source, e), nil
}

// cache gives a confined server a folder for what npx, uvx and their like fetch and run. The user's own ones are not
// for it: what a server put there the user would run later, outside of any sandbox. No two entries share one, and no
// two folders, for the same reason.
func (r *Registry) cache(s Server, cwd string, confine *troupe.Confinement) (environ []string, err error) {
	if r.o.Cache == "" {
		return nil, nil
	}
	dir := filepath.Join(r.o.Cache, keyOf(s.Entry, cwd))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for what it fetches: %w", err)
	}
	confine.Scratch = append(slices.Clip(confine.Scratch), dir)
	for _, v := range [][2]string{{"npm_config_cache", "npm"}, {"UV_CACHE_DIR", "uv"}, {"UV_TOOL_DIR", "uv-tools"},
		{"PIPX_HOME", "pipx"}, {"BUN_INSTALL_CACHE_DIR", "bun"}, {"DENO_DIR", "deno"}} {
		environ = append(environ, v[0]+"="+filepath.Join(dir, v[1]))
	}
	return environ, nil
}

// environment is all that a server gets: what leads to programs and folders, what its sandbox needs, and what its
// entry names.
func (r *Registry) environment(sandbox []string, named map[string]string) []string {
	values := map[string]string{}
	for _, kv := range r.o.Environ {
		if name, value, ok := strings.Cut(kv, "="); ok && slices.Contains([]string{"PATH", "HOME", "TMPDIR"}, name) {
			values[name] = value
		}
	}
	for _, kv := range sandbox {
		if name, value, ok := strings.Cut(kv, "="); ok {
			values[name] = value
		}
	}
	for name, value := range named {
		values[name] = value
	}
	var out []string
	for name, value := range values {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}
