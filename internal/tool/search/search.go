// Package search is the tools that find things: Glob for files, Grep for their contents.
//
// Grep uses ripgrep when it is installed and an own search of the same meaning when it is
// not; a test compares the two. What is searched follows ripgrep's rules in both: ignore
// files count (outside a Git repository only those below the folder searched), a user's
// global settings do not, and links are not followed. Results are ordered by path, so that
// the same question about the same files has the same answer, to the byte.
//
// Nothing is kept between calls. A process that was started ends with its call's context.
package search

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/troupe-dev/troupe/internal/tool"
)

// Options are what may differ from the default.
type Options struct {
	// LookPath finds helper programs (rg); nil means exec.LookPath.
	LookPath func(name string) (string, error)
}

// New returns Glob and Grep.
func New(o Options) []tool.Runner {
	if o.LookPath == nil {
		o.LookPath = exec.LookPath
	}
	return []tool.Runner{globTool{}, &grepTool{lookPath: o.LookPath}}
}

const maxPath = 4096

// place is where a search begins: a folder, or one regular file in it.
type place struct {
	dir  string // absolute
	file string // name in dir, or "" to search all of it
}

// locate looks at what is to be searched. The error is worded for the model.
func locate(env tool.Env, path string) (place, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return place{}, errors.New(env.Rel(path) + " does not exist. (The working folder is " + env.Cwd + ".)")
	case errors.Is(err, fs.ErrPermission):
		return place{}, errors.New(env.Rel(path) + ": permission denied.")
	case err != nil:
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return place{}, errors.New(env.Rel(path) + ": " + err.Error() + ".")
	case info.IsDir():
		return place{dir: path}, nil
	case info.Mode().IsRegular():
		return place{dir: filepath.Dir(path), file: filepath.Base(path)}, nil
	default:
		return place{}, errors.New(env.Rel(path) + " is neither a folder nor a regular file.")
	}
}

// hidden reports whether rules keep the file rel of dir, which leads to real, from being
// read. The gate has judged the folder only.
func hidden(env tool.Env, dir, real, rel string) bool {
	if env.Hidden == nil {
		return false
	}
	rel = filepath.FromSlash(rel)
	return env.Hidden(filepath.Join(dir, rel)) || real != dir && env.Hidden(filepath.Join(real, rel))
}

// inRepository reports whether dir lies in a Git repository.
func inRepository(dir string) bool {
	for {
		if hasGit(dir) {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

func hasGit(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}
