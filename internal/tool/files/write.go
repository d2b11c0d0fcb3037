package files

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

//go:embed write.md
var writeDoc string

type writeInput struct{ path, content string }

func (in *writeInput) fields() []tool.Field {
	return []tool.Field{
		{Name: "file_path", Also: "path", String: &in.path, Required: true, NotEmpty: true, MaxBytes: maxPath},
		{Name: "content", String: &in.content, Required: true},
	}
}

type writeTool struct{ locks *locks }

// Spec implements tool.Runner.
func (t *writeTool) Spec() troupe.Tool {
	return tool.Spec("Write", writeDoc, new(writeInput).fields())
}

// Prepare implements tool.Runner.
func (t *writeTool) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	var in writeInput
	if err := tool.Decode("Write", input, in.fields()); err != nil {
		return nil, err
	}
	path := env.Abs(in.path)
	return &writeCall{locks: t.locks, path: path, content: in.content, touched: tool.Touched(path)}, nil
}

type writeCall struct {
	locks         *locks
	path, content string
	touched       []string
}

// Access implements tool.Prepared.
func (c *writeCall) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassEdit, Writes: c.touched}
}

// apply is the file's next content. It writes nothing.
func (c *writeCall) apply(f *change) (string, error) {
	if f.info == nil {
		return c.content, nil
	}
	return c.content, f.checkSeen(c.path)
}

// Preview implements tool.Previewer.
func (c *writeCall) Preview(env tool.Env) string { return preview(env, c.path, c.touched, c.apply) }

// Run implements tool.Prepared.
func (c *writeCall) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	return withFile(ctx, env, c.locks, c.path, c.touched, func(f *change) (tool.Output, error) {
		content, err := c.apply(f)
		if err != nil {
			return tool.Output{}, err
		}
		touch, err := f.commit([]byte(content))
		if err != nil {
			return tool.Output{}, err
		}
		text := fmt.Sprintf("Created %s (%d lines).", f.name, touch.Added)
		if f.info != nil {
			text = fmt.Sprintf("Replaced %s (%d lines added, %d removed).", f.name, touch.Added, touch.Removed)
		}
		return wrote(touch, text), nil
	})
}

func wrote(touch troupe.FileTouch, text string) tool.Output {
	return tool.Output{
		Blocks:   []troupe.Block{troupe.Text(text)},
		Evidence: troupe.Evidence{Files: []troupe.FileTouch{touch}},
	}
}
