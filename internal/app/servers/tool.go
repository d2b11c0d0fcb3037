package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/tool"
)

// runner is one tool of one server.
type runner struct {
	tree   *Tree
	server Server
	tool   string // as the server has it
	name   string // as models have it
}

// Prepare implements tool.Runner. What an input has to hold the server knows; here it has to be an object.
func (r runner) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	raw := json.RawMessage(bytes.TrimSpace([]byte(input)))
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, &tool.InputError{Tool: r.name, Problem: "the input must be one JSON object"}
	}
	return call{runner: r, input: raw}, nil
}

type call struct {
	runner
	input json.RawMessage
}

// Access implements tool.Prepared.
func (c call) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassExec, Unconfined: c.server.unconfined()}
}

// Preview implements tool.Previewer.
func (c call) Preview(tool.Env) (text string, futile bool) {
	var b bytes.Buffer
	if json.Indent(&b, c.input, "", "  ") != nil {
		b.Write(c.input)
	}
	return fmt.Sprintf("%s, a tool of the MCP server %s (%s), with\n%s", c.tool, c.server.Name, c.server.Line(),
		b.String()), false
}

// Run implements tool.Prepared.
func (c call) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	pool, target, failed := c.tree.reach(c.server, env)
	if failed != "" {
		return tool.Errorf("%s", failed), nil
	}
	if c.tookBack(ctx, env) {
		return tool.Errorf("The MCP server %s has taken its tool %s back while this session ran; nothing was called.",
			c.server.Name, c.name), nil
	}
	r, err := pool.Call(ctx, target, c.tool, c.input, env.Question)
	if err != nil {
		return tool.Errorf("MCP server %s: %v.", c.server.Name, err), nil
	}
	return output(env, r), nil
}

// reach is how a call of a session reaches a server; failed says why it cannot.
func (t *Tree) reach(s Server, env tool.Env) (pool *mcp.Servers, target mcp.Target, failed string) {
	target, err := t.r.target(s, t.cwd, ownerOf(s, env.Session), env.Service)
	if err != nil {
		return nil, target, fmt.Sprintf("MCP server %s cannot be used: %v.", s.Name, err)
	}
	if pool = t.servers(); pool == nil {
		return nil, target, "the session is being left; nothing was called."
	}
	return pool, target, ""
}
