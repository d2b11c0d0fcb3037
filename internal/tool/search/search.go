// Package search is the tools that find things: Glob for files, Grep for their contents.
//
// Grep uses ripgrep when it is installed and an own search of the same meaning when it is
// not; a test compares the two. What is searched follows ripgrep's rules in both: ignore
// files count (outside a Git repository only those below the folder searched), a user's
// global settings do not, and links are not followed. Results are ordered by path, so that
// the same question about the same files has the same answer, to the byte.
//
// The own search and Glob walk on as many goroutines as there are processors, eight at most. They
// belong to the call, which waits for them. The walk is a list of steps in order of their paths (a
// folder to list, or some files of one): the first that is not begun is begun next, and what was
// found is taken in that order. When 128 steps are done that cannot be taken yet, nothing is begun
// but what is taken next. A cancelled call begins no step, and leaves a file between two parts of
// it; only one try of the pattern is never left.
//
// Nothing is kept between calls. A process that was started ends with its call's context.
package search

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe/internal/tool"
)

// Options are what may differ from the default.
type Options struct {
	// LookPath finds helper programs (rg); nil means exec.LookPath.
	LookPath func(name string) (string, error)
}

// New returns Glob and Grep.
func New(o Options) []tool.Descriptor {
	if o.LookPath == nil {
		o.LookPath = exec.LookPath
	}
	return []tool.Descriptor{globTool{}.describe(), (&grepTool{lookPath: o.LookPath}).describe()}
}

const maxPath = 4096

// place is where a search begins: a folder, or one regular file in it.
type place struct {
	dir  string // absolute, as it was asked for
	real string // where that leads, without a link in it
	file string // its name, or "" to search all of the folder
	at   string // where the file really is
}

// locate looks at what is to be searched: path, which led to real when the call was judged.
// The error is worded for the model.
func locate(env tool.Env, path, real string) (place, error) {
	if isHidden(env, path) || isHidden(env, real) {
		return place{}, errors.New(env.Rel(path) + " is kept from being searched by a rule. (Read shows a file, if " +
			"that is allowed.)")
	}
	info, err := os.Lstat(real)
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
		return place{dir: path, real: real}, nil
	case info.Mode().IsRegular():
		return place{dir: filepath.Dir(path), real: filepath.Dir(real), file: filepath.Base(path), at: real}, nil
	default:
		return place{}, errors.New(env.Rel(path) + " is neither a folder nor a regular file.")
	}
}

func isHidden(env tool.Env, path string) bool { return env.Hidden != nil && env.Hidden(path) }

// hidden reports whether rules keep rel of dir, which leads to real, from being read, itself
// or a folder on the way to it. The gate has judged dir only.
func hidden(env tool.Env, dir, real, rel string) bool {
	if env.Hidden == nil {
		return false
	}
	for end := 0; end < len(rel); {
		next := strings.IndexByte(rel[end:], '/')
		if next < 0 {
			next = len(rel) - end
		}
		part := filepath.FromSlash(rel[:end+next])
		if env.Hidden(filepath.Join(dir, part)) || real != dir && env.Hidden(filepath.Join(real, part)) {
			return true
		}
		end += next + 1
	}
	return false
}

// hides makes the test for what rules keep from being read below dir, which leads to real,
// folder by folder: nothing below a hidden folder is asked about. Nil hides nothing.
func hides(env tool.Env, dir, real string) func(rel string) func(name string) bool {
	if env.Hidden == nil {
		return nil
	}
	in := env.HiddenIn
	if in == nil {
		in = func(folder string) func(string) bool {
			return func(name string) bool { return env.Hidden(filepath.Join(folder, name)) }
		}
	}
	return func(rel string) func(string) bool {
		rel = filepath.FromSlash(rel)
		asked := in(filepath.Join(dir, rel))
		if real == dir {
			return asked
		}
		led := in(filepath.Join(real, rel))
		switch {
		case asked == nil:
			return led
		case led == nil:
			return asked
		}
		return func(name string) bool { return asked(name) || led(name) }
	}
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
