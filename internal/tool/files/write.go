package files

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/change"
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

type writeTool struct{ locks *tool.Locks }

func (t *writeTool) describe() tool.Descriptor {
	return tool.Describe(troupe.ToolFacts{
		Name: "Write", Class: troupe.ClassEdit, Argument: troupe.PathArgument, Like: "Edit", Overwrites: true,
		Doing:   "writing",
		Aliases: []string{"filewrite", "write_file"}, Misspellings: []string{"create", "createfile", "savefile",
			"writetofile"},
	}, writeDoc, new(writeInput).fields()).With(t)
}

// Prepare implements tool.Runner.
func (t *writeTool) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	var in writeInput
	if err := tool.Decode("Write", input, in.fields()); err != nil {
		return nil, err
	}
	return &writeCall{locks: t.locks, target: change.NewTarget(env.Abs(in.path)), content: in.content}, nil
}

type writeCall struct {
	locks   *tool.Locks
	target  change.Target
	content string
}

// Access implements tool.Prepared.
func (c *writeCall) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassEdit, Writes: c.target.Touched}
}

// apply is the file's next content. It writes nothing.
func (c *writeCall) apply(f *change.File) (string, error) {
	if !f.Exists() {
		return c.content, nil
	}
	return c.content, f.CheckSeen()
}

// Preview implements tool.Previewer.
func (c *writeCall) Preview(env tool.Env) (string, bool) {
	return change.Preview(env, c.target, c.apply)
}

// Absent implements tool.Lander.
func (c *writeCall) Absent() bool { return c.target.Absent() }

// Landed implements tool.Lander.
func (c *writeCall) Landed(env tool.Env) (tool.Output, bool) {
	return change.Landed(env, c.target, c.apply)
}

// Run implements tool.Prepared.
func (c *writeCall) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	return change.Do(ctx, env, c.locks, c.target, func(f *change.File) (tool.Output, error) {
		content, err := c.apply(f)
		if err != nil {
			return tool.Output{}, err
		}
		touch, err := f.Commit([]byte(content))
		if err != nil {
			return tool.Output{}, err
		}
		text := fmt.Sprintf("Created %s (%s).", f.Name, linesText(touch.Added))
		if f.Exists() {
			text = fmt.Sprintf("Replaced %s (%s added, %d removed).", f.Name, linesText(touch.Added), touch.Removed)
		}
		return change.Wrote(touch, text), nil
	})
}

func linesText(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}
