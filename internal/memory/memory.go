// Package memory is what agents keep for others of their type: a folder of Markdown files for each, of which the
// beginning of MEMORY.md is told to the next agent. It finds these folders, reads and writes them, and says what they
// may hold.
//
// A folder is found by a name that an agent's definition has, so that neither a name nor a link leads out of the
// places that are for memories. What lies in a project's is a stranger's text.
package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// Where memories lie below ~ or a project's folder. Other programs have them there too.
const (
	sharedFolder = ".claude/agent-memory"
	ownFolder    = ".claude/agent-memory-local"
)

// Places are where memories of agents lie that work in a folder.
type Places struct {
	// Home is the user's, without links; "" if there is none.
	Home string
	// Project are the folders from the repository's root down to the one in which agents work.
	Project []string
	// Data is where the memories of trees lie, a folder each, and Tree whose it is; "" if there is none yet.
	Data string
	Tree troupe.SessionID
}

// FolderName is the folder of a type of agents. Names of agents of plugins have a colon, which not every system has in
// names of files.
func FolderName(agent string) (string, error) {
	name := strings.ReplaceAll(agent, ":", "-")
	switch {
	case name == "" || strings.HasPrefix(name, ".") || strings.TrimSpace(name) != name || len(name) > 200,
		strings.ContainsAny(name, `/\`), strings.ContainsFunc(name, unicode.IsControl):
		return "", fmt.Errorf("%q cannot be the name of a folder", agent)
	}
	return name, nil
}

// Of is the memory of a type of agents.
func (p Places) Of(scope troupe.MemoryScope, agent string) (*troupe.Memory, error) {
	name, err := FolderName(agent)
	if err != nil {
		return nil, err
	}
	m := &troupe.Memory{Scope: scope}
	switch scope {
	case troupe.MemoryUser:
		if p.Home == "" {
			return nil, errors.New("there is no home folder")
		}
		m.Folder, err = below(p.Home, sharedFolder, name)
	case troupe.MemoryProject:
		m.Folder, err = p.nearest(sharedFolder, name, true)
	case troupe.MemoryLocal:
		tree := string(p.Tree)
		if tree == "" {
			tree = "new"
		}
		m.Folder = filepath.Join(p.Data, tree, name)
		m.Also, err = p.nearest(ownFolder, name, false)
	default:
		err = fmt.Errorf("there is no memory %q", scope)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// nearest is the folder of a project that is there, from the one in which agents work up to the repository's root. If
// none is there it is the root's, or "" if none is to be made.
func (p Places) nearest(in, name string, makes bool) (string, error) {
	for _, dir := range slices.Backward(p.Project) {
		folder, err := below(dir, in, name)
		if err != nil {
			return "", err
		}
		if info, err := os.Lstat(folder); err == nil && info.IsDir() {
			return folder, nil
		}
	}
	if !makes {
		return "", nil
	}
	if len(p.Project) == 0 {
		return "", errors.New("there is no project")
	}
	return below(p.Project[0], in, name)
}

// below is a folder below a base, none of whose parts is a link. They need not be there yet.
func below(base, in, name string) (string, error) {
	at := base
	for _, part := range append(strings.Split(in, "/"), name) {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			return "", fmt.Errorf("%s is a link", at)
		case !info.IsDir():
			return "", fmt.Errorf("%s is not a folder", at)
		}
	}
	return at, nil
}

// Kept is a memory that is there.
type Kept struct {
	Agent  string
	Scope  troupe.MemoryScope
	Folder string
	Tree   troupe.SessionID // whose it is, of a local one
}

// List finds the memories that are there, the user's first.
func (p Places) List() ([]Kept, error) {
	var out []Kept
	add := func(base, in string, k Kept) error {
		dir, err := below(base, filepath.Dir(in), filepath.Base(in))
		if err != nil {
			return nil //nolint:nilerr // no agent has it, so it is no memory
		}
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look for memories: %w", err)
		}
		for _, e := range entries {
			if name, err := FolderName(e.Name()); e.IsDir() && err == nil && name == e.Name() {
				k.Agent, k.Folder = name, filepath.Join(dir, name)
				out = append(out, k)
			}
		}
		return nil
	}
	var errs []error
	if p.Home != "" {
		errs = append(errs, add(p.Home, sharedFolder, Kept{Scope: troupe.MemoryUser}))
	}
	for _, dir := range p.Project {
		if dir == p.Home {
			continue // it is the user's
		}
		errs = append(errs, add(dir, sharedFolder, Kept{Scope: troupe.MemoryProject}),
			add(dir, ownFolder, Kept{Scope: troupe.MemoryLocal}))
	}
	trees, err := os.ReadDir(p.Data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, fmt.Errorf("look for memories: %w", err))
	}
	for _, t := range trees {
		if id, ok := troupe.ParseSessionID(t.Name()); ok && t.IsDir() {
			errs = append(errs, add(p.Data, t.Name(), Kept{Scope: troupe.MemoryLocal, Tree: id}))
		}
	}
	return out, errors.Join(errs...)
}

// RemoveTree removes the memories of a tree that is gone.
func RemoveTree(data string, tree troupe.SessionID) error {
	if err := disk.RemoveTree(filepath.Join(data, string(tree))); err != nil {
		return fmt.Errorf("remove the memories of session %s: %w", tree, err)
	}
	return nil
}
