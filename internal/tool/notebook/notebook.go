// Package notebook is the tool that changes single cells of Jupyter notebooks: NotebookEdit.
//
// A change follows the rules of package change, as one of Edit does: the file is the one that
// was judged, it holds what the session last saw, and it is written in one step. Of the text
// only the cell in question changes; see package ipynb.
package notebook

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/change"
	"github.com/troupe-dev/troupe/internal/tool/internal/ipynb"
)

//go:embed notebook.md
var editDoc string

// Options are what may differ from the default.
type Options struct {
	// Locks keep changes of one file apart. All agents of a process, and all tools that
	// change files, must share one; nil makes new ones.
	Locks *tool.Locks
}

// New returns NotebookEdit.
func New(o Options) []tool.Descriptor {
	if o.Locks == nil {
		o.Locks = tool.NewLocks()
	}
	return []tool.Descriptor{tool.Describe(troupe.ToolFacts{
		Name: toolName, Class: troupe.ClassEdit, Argument: troupe.PathArgument, Like: "Edit",
		Doing: "changing notebooks in",
	}, editDoc, new(input).fields()).With(&editTool{locks: o.Locks})}
}

const (
	toolName = "NotebookEdit"
	maxPath  = 4096
)

// The ways to change a notebook.
const (
	modeReplace = "replace"
	modeInsert  = "insert"
	modeDelete  = "delete"
)

// leftOut stands for a source that was not given, which "" would not be.
const leftOut = "\x00"

type input struct{ path, cell, source, typ, mode string }

func (in *input) fields() []tool.Field {
	return []tool.Field{
		{Name: "notebook_path", Also: "file_path", String: &in.path, Required: true, NotEmpty: true, MaxBytes: maxPath},
		{Name: "cell_id", String: &in.cell, MaxBytes: 256},
		{Name: "new_source", String: &in.source, Doc: "the cell's whole text"},
		{Name: "cell_type", String: &in.typ, Enum: []string{ipynb.Code, ipynb.Markdown, ipynb.Raw},
			Doc: "needed with insert; else the cell keeps its own"},
		{Name: "edit_mode", String: &in.mode, Enum: []string{modeReplace, modeInsert, modeDelete}},
	}
}

// problem says what the fields do not: which of them go together.
func (in *input) problem() string {
	switch {
	case !strings.EqualFold(filepath.Ext(in.path), ".ipynb"):
		return "`notebook_path` must end in .ipynb; other files are changed with Edit"
	case in.cell == "" && in.mode != modeInsert:
		return "`cell_id` is required with edit_mode " + in.mode
	case in.source == leftOut && in.mode != modeDelete:
		return "`new_source` is required with edit_mode " + in.mode
	case in.typ == "" && in.mode == modeInsert:
		return "`cell_type` is required with edit_mode insert"
	default:
		return ""
	}
}

type editTool struct{ locks *tool.Locks }

// Prepare implements tool.Runner.
func (t *editTool) Prepare(env tool.Env, text string) (tool.Prepared, error) {
	in := input{mode: modeReplace, source: leftOut}
	if err := tool.Decode(toolName, text, in.fields()); err != nil {
		return nil, err
	}
	if p := in.problem(); p != "" {
		return nil, &tool.InputError{Tool: toolName, Problem: p}
	}
	return &call{locks: t.locks, in: in, target: change.NewTarget(env.Abs(in.path))}, nil
}

type call struct {
	locks  *tool.Locks
	in     input
	target change.Target
}

// Access implements tool.Prepared.
func (c *call) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassEdit, Reads: c.target.Touched, Writes: c.target.Touched}
}

// apply works out the notebook's next content and says what that changes. It writes nothing.
func (c *call) apply(f *change.File) (content []byte, done string, err error) {
	if err := f.CheckSeen(); err != nil {
		return nil, "", err
	}
	n, err := ipynb.Parse(f.Old)
	at := -1 // before the first
	if err == nil && c.in.cell != "" {
		at, err = n.Find(c.in.cell)
	}
	if err != nil {
		return nil, "", change.Refuse("%s was not changed: it %v.", f.Name, err)
	}
	switch c.in.mode {
	case modeDelete:
		return n.Delete(at), "Deleted " + n.Label(at) + " of " + f.Name, nil
	case modeInsert:
		content, id := n.Insert(at+1, c.in.typ, c.in.source)
		done := fmt.Sprintf("Inserted cell %d into %s", at+2, f.Name)
		if id != "" {
			done += "; its id is " + id
		}
		return content, done, nil
	}
	typ := n.Type(at)
	if n.Source(at) == c.in.source && (c.in.typ == "" || c.in.typ == typ) {
		return nil, "", change.Refuse("%s was not changed: %s has that source already.", f.Name, n.Label(at))
	}
	done = "Replaced the source of " + n.Label(at) + " of " + f.Name
	if typ == ipynb.Code {
		done += "; what it had put out is cleared"
	}
	return n.Replace(at, c.in.typ, c.in.source), done, nil
}

// Run implements tool.Prepared.
func (c *call) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	return change.Do(ctx, env, c.locks, c.target, func(f *change.File) (tool.Output, error) {
		content, done, err := c.apply(f)
		if err != nil {
			return tool.Output{}, err
		}
		n, err := ipynb.Parse(content)
		if err != nil {
			return tool.Output{}, fmt.Errorf("notebook %s as it would be: it %w", f.Name, err)
		}
		touch, err := f.Commit(content)
		if err != nil {
			return tool.Output{}, err
		}
		return change.Wrote(touch, fmt.Sprintf("%s. (It has %d cells now.)", done, n.Len())), nil
	})
}

// Absent implements tool.Lander.
func (c *call) Absent() bool { return c.target.Absent() }

// Landed implements tool.Lander. A cell that was inserted has an id that cannot be told again.
func (c *call) Landed(env tool.Env) (tool.Output, bool) {
	return change.Landed(env, c.target, func(f *change.File) (string, error) {
		content, _, err := c.apply(f)
		return string(content), err
	})
}

// Preview implements tool.Previewer.
func (c *call) Preview(env tool.Env) (string, bool) {
	return change.Preview(env, c.target, func(f *change.File) (string, error) {
		content, _, err := c.apply(f)
		return string(content), err
	})
}
