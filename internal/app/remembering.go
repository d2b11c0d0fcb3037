package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/memory"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Memories lists what agents have kept that work in a folder.
func (a setup) Memories(_ context.Context, q wire.MemoryQuery) ([]wire.Memory, error) {
	found, _, err := a.memoriesOf(q)
	if err != nil {
		return nil, err
	}
	out := []wire.Memory{}
	for _, k := range found {
		row, err := memoryRow(k)
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	if (q.Agent != "" || q.File != "") && len(out) == 0 {
		return nil, noMemory(q)
	}
	if q.File == "" {
		return out, nil
	}
	if len(out) > 1 {
		return nil, severalMemories(q, out)
	}
	if !slices.Contains(out[0].Files, q.File) {
		return nil, &troupe.UserError{Problem: fmt.Sprintf("the memory of %s has no file %q", out[0].Agent, q.File),
			Hint: "It has: " + strings.Join(out[0].Files, ", "), Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
	}
	text, err := memory.Text(out[0].Folder, q.File)
	out[0].Text, out[0].ETag = a.app.Mask(text), memoryTag(out[0], q.File)
	return out, err
}

// memoryTag is the ETag of a file of a memory, or of all of it; "" if it is not there.
func memoryTag(m wire.Memory, file string) string {
	files := m.Files
	if file != "" {
		files = slices.DeleteFunc(slices.Clone(files), func(name string) bool { return name != file })
	}
	if len(files) == 0 {
		return ""
	}
	var parts []string
	for _, name := range files {
		text, err := memory.Text(m.Folder, name)
		parts = append(parts, name, text, fmt.Sprint(err == nil))
	}
	return wire.ETag(parts...)
}

// memoriesOf are the memories that a query is about.
func (a setup) memoriesOf(q wire.MemoryQuery) ([]memory.Kept, memory.Places, error) {
	cwd, err := folderOf(a.app, q.Cwd)
	if err != nil {
		return nil, memory.Places{}, err
	}
	places := memoryPlaces(a.app.dirs, cwd, "")
	all, err := places.List()
	if err != nil {
		return nil, places, err
	}
	folder := ""
	if q.Agent != "" {
		if folder, err = memory.FolderName(q.Agent); err != nil {
			return nil, places, &troupe.UserError{Problem: err.Error(), Code: troupe.ExitUsage, Err: err}
		}
	}
	return slices.DeleteFunc(all, func(k memory.Kept) bool {
		return folder != "" && !strings.EqualFold(k.Agent, folder) || q.Scope != "" && k.Scope != q.Scope ||
			q.Session != "" && !strings.HasPrefix(string(k.Tree), q.Session) ||
			k.Tree != "" && q.Has != nil && !q.Has(k.Tree) || q.InProject && k.Scope == troupe.MemoryUser
	}), places, nil
}

func memoryRow(k memory.Kept) (wire.Memory, error) {
	files, err := memory.Files(k.Folder)
	if err != nil {
		return wire.Memory{}, fmt.Errorf("look into the memory of %s: %w", k.Agent, err)
	}
	out := wire.Memory{Agent: k.Agent, Scope: k.Scope, Folder: k.Folder, Session: k.Tree,
		Files: append([]string{}, files...)}
	out.ETag = memoryTag(out, "")
	return out, nil
}

func noMemory(q wire.MemoryQuery) error {
	of := ""
	if q.Agent != "" {
		of = " of type " + q.Agent
	}
	return &troupe.UserError{Problem: fmt.Sprintf("agents%s have kept nothing here", of),
		Hint: "`troupe memory` lists what there is.", Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
}

func severalMemories(q wire.MemoryQuery, found []wire.Memory) error {
	var where []string
	for _, m := range found {
		where = append(where, string(m.Scope)+" ("+m.Folder+")")
	}
	return &troupe.UserError{Problem: fmt.Sprintf("agents of type %s have %d memories: %s", q.Agent, len(found),
		strings.Join(where, ", ")), Hint: "Say which: --scope user, project or local; --session ID is a local one of " +
		"that session.", Code: troupe.ExitUsage,
		Err: troupe.ErrAmbiguous}
}

// SetMemory makes a text what a file of a memory holds, or forgets the file or all of it. A memory that is not there
// is made where its scope is said.
func (a setup) SetMemory(_ context.Context, c wire.MemoryChange) (out wire.Memory, err error) {
	found, places, err := a.memoriesOf(c.MemoryQuery)
	switch {
	case err != nil:
		return out, err
	case c.Agent == "":
		return out, &troupe.UserError{Problem: "it is not said whose memory it is", Code: troupe.ExitUsage}
	case c.File != "" && !filepath.IsLocal(c.File):
		return out, &troupe.UserError{Problem: fmt.Sprintf("%q is no file of a memory", c.File), Code: troupe.ExitUsage}
	case len(found) > 1:
		rows := make([]wire.Memory, len(found))
		for i, k := range found {
			rows[i] = wire.Memory{Scope: k.Scope, Folder: k.Folder}
		}
		return out, severalMemories(c.MemoryQuery, rows)
	case len(found) == 0 && (c.Text == nil || c.Scope == "" || c.Scope == troupe.MemoryLocal ||
		c.InProject && c.Scope == troupe.MemoryUser):
		return out, noMemory(c.MemoryQuery)
	case len(found) == 0:
		m, err := places.Of(c.Scope, c.Agent)
		if err != nil {
			return out, &troupe.UserError{Problem: err.Error(), Code: troupe.ExitUsage, Err: err}
		}
		found = append(found, memory.Kept{Agent: c.Agent, Scope: c.Scope, Folder: m.Folder})
	}
	a.app.changing.Lock()
	defer a.app.changing.Unlock()
	if err := checkMemory(found[0], c); err != nil {
		return out, err
	}
	if c.Text == nil {
		err = memory.Forget(found[0].Folder, c.File)
	} else {
		err = memory.Write(found[0].Folder, c.File, *c.Text, secretIn(a.app))
	}
	if err != nil {
		problem := &troupe.UserError{Problem: "the memory of " + c.Agent + " was not changed: " + err.Error(),
			Code: troupe.ExitUsage, Err: err}
		if errors.Is(err, fs.ErrNotExist) {
			problem.Err = troupe.ErrNotFound
		}
		return out, problem
	}
	if out, err = memoryRow(found[0]); c.File != "" {
		out.ETag = memoryTag(out, c.File)
	}
	return out, err
}

// checkMemory refuses a change of what is another text by now than its precondition says. It is called with
// App.changing held.
func checkMemory(k memory.Kept, c wire.MemoryChange) error {
	now, err := memoryRow(k)
	if err != nil {
		return err
	}
	what, look := "the memory of "+c.Agent, "troupe memory show "+c.Agent
	if c.File != "" {
		what, look = fmt.Sprintf("%s in %s", c.File, what), look+" "+c.File
	}
	return c.Check(what, memoryTag(now, c.File), look)
}
