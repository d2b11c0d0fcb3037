package files

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/change"
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

type editTool struct{ locks *tool.Locks }

func (t *editTool) describe() tool.Descriptor {
	return tool.Describe(troupe.ToolFacts{
		Name: "Edit", Class: troupe.ClassEdit, Argument: troupe.PathArgument, Doing: "changing",
		Aliases: []string{"fileedit", "edit_file", "multiedit"},
		Misspellings: []string{
			"strreplace", "strreplaceeditor", "strreplacebasededit", "applypatch", "patch", "replace", "update",
			"updatefile",
			"modify", "searchreplace",
		},
	}, editDoc, new(editInput).fields()).With(t)
}

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
		return nil, &tool.InputError{Tool: "Edit", Problem: "`old_string` and `new_string` are the same; nothing " +
			"would change"}
	}
	return &editCall{locks: t.locks, in: in, target: change.NewTarget(env.Abs(in.path))}, nil
}

type editCall struct {
	locks  *tool.Locks
	in     editInput
	target change.Target
}

// Access implements tool.Prepared.
func (c *editCall) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassEdit, Reads: c.target.Touched, Writes: c.target.Touched}
}

// edited is what an edit comes to.
type edited struct {
	spots []span // in the old content
	new   string // what stands at each of them then
	after string // the whole content then
}

// apply works out the file's next content. It writes nothing.
func (c *editCall) apply(f *change.File) (edited, error) {
	if err := f.CheckSeen(); err != nil {
		return edited{}, err
	}
	old, new := fitLineEndings(string(f.Old), c.in.old, c.in.new)
	e := edited{spots: find(string(f.Old), old), new: new}
	switch {
	case len(e.spots) == 0:
		return edited{}, change.Refuse("%s was not changed: %s", f.Name, whyNotFound(string(f.Old), c.in.old))
	case len(e.spots) > 1 && !c.in.all:
		return edited{}, change.Refuse("%s was not changed: old_string occurs %d times, in lines %s. Add lines "+
			"around it to make it unique, or set replace_all.",
			f.Name, len(e.spots), listLines(string(f.Old), e.spots))
	}
	if e.after = replace(string(f.Old), e.spots, new); e.after == string(f.Old) {
		return edited{}, change.Refuse("%s was not changed: the text would be the same.", f.Name)
	}
	return e, nil
}

// Run implements tool.Prepared.
func (c *editCall) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	return change.Do(ctx, env, c.locks, c.target, func(f *change.File) (tool.Output, error) {
		e, err := c.apply(f)
		if err != nil {
			return tool.Output{}, err
		}
		touch, err := f.Commit([]byte(e.after))
		if err != nil {
			return tool.Output{}, err
		}
		from := e.spots[0].from
		shown := snippet(e.after, from, from+len(e.new))
		if len(e.spots) > 1 {
			return change.Wrote(touch, fmt.Sprintf("Edited %s in %d places, lines %s. The first is now:\n%s", f.Name,
				len(e.spots), listLines(string(f.Old), e.spots), shown)), nil
		}
		return change.Wrote(touch, fmt.Sprintf("Edited %s. Now:\n%s", f.Name, shown)), nil
	})
}

// Preview implements tool.Previewer.
func (c *editCall) Preview(env tool.Env) (string, bool) {
	return change.Preview(env, c.target, func(f *change.File) (string, error) {
		e, err := c.apply(f)
		return e.after, err
	})
}

// Absent implements tool.Lander.
func (c *editCall) Absent() bool { return c.target.Absent() }

// Landed implements tool.Lander.
func (c *editCall) Landed(env tool.Env) (tool.Output, bool) {
	return change.Landed(env, c.target, func(f *change.File) (string, error) {
		e, err := c.apply(f)
		return e.after, err
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
