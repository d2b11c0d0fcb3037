package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/tool"
)

// resources lists what servers let be read, or reads one.
type resources struct {
	tree *Tree
	have []Server // those that have some
	read bool
}

func (r resources) name() string {
	if r.read {
		return readResource
	}
	return listResources
}

// Prepare implements tool.Runner.
func (r resources) Prepare(_ tool.Env, input string) (tool.Prepared, error) {
	var in struct {
		Server string `json:"server"`
		URI    string `json:"uri"`
	}
	if err := strict(r.name(), input, &in); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(r.have, func(s Server) bool {
		return strings.EqualFold(s.Name, in.Server) || in.Server == "" && len(r.have) == 1
	})
	if i < 0 {
		names := make([]string, len(r.have))
		for i, s := range r.have {
			names[i] = s.Name
		}
		return nil, &tool.InputError{Tool: r.name(), Problem: fmt.Sprintf("`server` must be one of those that have "+
			"resources: %s", strings.Join(names, ", "))}
	}
	if r.read && in.URI == "" {
		return nil, &tool.InputError{Tool: r.name(), Problem: "`uri` must not be empty"}
	}
	return resourceCall{r, r.have[i], in.URI}, nil
}

type resourceCall struct {
	resources
	server Server
	uri    string
}

// Access implements tool.Prepared. Rules about the server hold.
func (c resourceCall) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassExec, Tool: entry.ToolNames(c.server.Name, []string{resourcesName})[0],
		Unconfined: c.server.unconfined()}
}

// Preview implements tool.Previewer.
func (c resourceCall) Preview(tool.Env) (text string, futile bool) {
	if c.read {
		return fmt.Sprintf("read %s of the MCP server %s (%s)", c.uri, c.server.Name, c.server.Line()), false
	}
	return fmt.Sprintf("list the resources of the MCP server %s (%s)", c.server.Name, c.server.Line()), false
}

// Run implements tool.Prepared.
func (c resourceCall) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	pool, target, failed := c.tree.reach(c.server, env)
	if failed != "" {
		return tool.Errorf("%s", failed), nil
	}
	if c.read {
		r, err := pool.Read(ctx, target, c.uri)
		if err != nil {
			return tool.Errorf("MCP server %s: %v.", c.server.Name, err), nil
		}
		return output(env, r), nil
	}
	list, err := pool.Resources(ctx, target)
	if err != nil {
		return tool.Errorf("MCP server %s: %v.", c.server.Name, err), nil
	}
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "%s (%s) %s\n", r.URI, r.Name, r.Description)
	}
	if b.Len() == 0 {
		b.WriteString("It has none.")
	}
	return tool.Output{Blocks: []troupe.Block{troupe.Text(shorten(env, clean(b.String())))}}, nil
}
