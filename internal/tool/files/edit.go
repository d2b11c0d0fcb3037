package files

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

//go:embed edit.md
var editDoc string

type editInput struct {
	path, old, new string
	all            bool
}

func (in *editInput) fields() []tool.Field {
	return []tool.Field{
		{Name: "file_path", Also: "path", String: &in.path, Required: true, NotEmpty: true, MaxBytes: maxPath},
		{Name: "old_string", String: &in.old, Required: true},
		{Name: "new_string", String: &in.new, Required: true},
		{Name: "replace_all", Bool: &in.all},
	}
}

type editTool struct{ locks *locks }

// Spec implements tool.Runner.
func (t *editTool) Spec() troupe.Tool { return tool.Spec("Edit", editDoc, new(editInput).fields()) }

// Prepare implements tool.Runner.
func (t *editTool) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	var in editInput
	if err := tool.Decode("Edit", input, in.fields()); err != nil {
		return nil, err
	}
	switch in.old {
	case "":
		return nil, &tool.InputError{Tool: "Edit", Problem: "`old_string` is empty; to make a new file use Write"}
	case in.new:
		return nil, &tool.InputError{Tool: "Edit", Problem: "`old_string` and `new_string` are the same; nothing would change"}
	}
	path := env.Abs(in.path)
	return &editCall{locks: t.locks, in: in, path: path, touched: tool.Touched(path)}, nil
}

type editCall struct {
	locks   *locks
	in      editInput
	path    string
	touched []string
}

// Access implements tool.Prepared.
func (c *editCall) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassEdit, Reads: c.touched, Writes: c.touched}
}

// Run implements tool.Prepared.
func (c *editCall) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	return withFile(ctx, env, c.locks, c.path, c.touched, func(f *change) (tool.Output, error) {
		if f.info == nil {
			return explain(env, c.path, fs.ErrNotExist), nil
		}
		if err := f.checkSeen(c.path); err != nil {
			return tool.Output{}, err
		}
		old, new := fitLineEndings(string(f.old), c.in.old, c.in.new)
		spots := find(string(f.old), old)
		switch {
		case len(spots) == 0:
			return tool.Output{}, refuse("%s was not changed: %s", f.name, whyNotFound(string(f.old), c.in.old))
		case len(spots) > 1 && !c.in.all:
			return tool.Output{}, refuse("%s was not changed: old_string occurs %d times, in lines %s. Add lines around it to make it unique, or set replace_all.",
				f.name, len(spots), listLines(string(f.old), spots))
		}
		after := replace(string(f.old), spots, new)
		if after == string(f.old) {
			return tool.Output{}, refuse("%s was not changed: the text would be the same.", f.name)
		}
		touch, err := f.commit([]byte(after))
		if err != nil {
			return tool.Output{}, err
		}
		text := fmt.Sprintf("Edited %s. Now:\n%s", f.name, snippet(after, spots[0].from, spots[0].from+len(new)))
		if len(spots) > 1 {
			text = fmt.Sprintf("Edited %s in %d places, lines %s. The first is now:\n%s", f.name, len(spots),
				listLines(string(f.old), spots), snippet(after, spots[0].from, spots[0].from+len(new)))
		}
		return wrote(touch, text), nil
	})
}

// snippet shows the numbered lines around after[from:to], the middle left out if long.
func snippet(after string, from, to int) string {
	const around, most = 3, 24
	lines := strings.SplitAfter(after, "\n")
	first := strings.Count(after[:from], "\n")
	last := strings.Count(after[:to], "\n")
	lo, hi := max(0, first-around), min(len(lines)-1, last+around)
	var out []byte
	for i := lo; i <= hi; i++ {
		if hi-lo >= most && i == lo+most/2 {
			out = append(out, "     …\n"...)
			i = hi - most/2
		}
		if i == len(lines)-1 && lines[i] == "" {
			break // what stands after the last newline is no line
		}
		out = appendNumber(out, i+1)
		short, cut := tool.Cut(cleanText([]byte(strings.TrimRight(lines[i], "\r\n"))), 400)
		if out = append(out, short...); cut > 0 {
			out = append(out, "…"...)
		}
		out = append(out, '\n')
	}
	return string(out)
}
