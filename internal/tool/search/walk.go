package search

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

// selection says which files of a folder are searched.
type selection struct {
	hidden bool  // hidden files too, but never .git
	filter rules // a glob of the caller: its own verdicts come before all others
	types  rules // names that belong to the wanted type of file
	depth  int   // folders below the first to go into; -1 is no bound
	// hides makes, for a folder ("" is the first), the test for names in it that must not be
	// looked at, nor gone into. Nil, for it or from it, hides nothing.
	hides func(rel string) func(name string) bool
	// wants is asked last, about files only. prefix is the path of the folder, with a slash at
	// its end, or "". Nil wants all.
	wants func(prefix, name string, d fs.DirEntry) bool
}

// batchFiles is how many files of a folder are looked at in one step.
const batchFiles = 64

// batch is some files of one folder, in order of their names.
type batch struct {
	path  string // of the folder, absolute
	rel   string // prefix of the files' names: the folder below the first, with a slash, or ""
	files []fs.DirEntry
}

// branch is a folder that is still to be listed.
type branch struct {
	up        *folder
	path, rel string
	depth     int
}

// walk has look called with all selected files below root, on several goroutines at once,
// and take with what it found, on the caller's goroutine and in order of the files' paths,
// part by part. Each goroutine makes its look with newLook. Folders that cannot be read are
// passed over. Root has no link in it, and none is followed: a folder that is exchanged for
// one while we look is passed over too. What take returns ends the walk; errStop is no error.
func walk[R any](ctx context.Context, root string, s selection, newLook func() func(context.Context, batch) R,
	take func(R) error,
) error {
	top := branch{up: above(root), path: root, depth: s.depth}
	entries, err := list(root)
	if err != nil {
		return err
	}
	q := newQueue[R](newLook, func(b branch) []fork {
		entries, err := list(b.path)
		if err != nil {
			return nil
		}
		return s.expand(b, entries)
	})
	return q.run(ctx, s.expand(top, entries), take)
}

// list reads the folder at exactly this path.
func list(path string) ([]fs.DirEntry, error) {
	d, err := safefile.OpenFolder(path)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // only a handle
	return d.List(-1)
}

// fork is a part of a folder: some of its files, or a folder in it.
type fork struct {
	batch  batch
	branch branch
	isDir  bool
}

// expand selects from the entries of a folder, in their order.
func (s *selection) expand(b branch, entries []fs.DirEntry) []fork {
	prefix := b.rel
	if prefix != "" {
		prefix += "/"
	}
	f := enter(b.up, b.path, special(entries))
	var hides func(string) bool
	if s.hides != nil {
		hides = s.hides(b.rel)
	}
	var out []fork
	var files []fs.DirEntry
	flush := func() {
		if len(files) > 0 {
			out = append(out, fork{batch: batch{path: b.path, rel: prefix, files: files}})
			files = nil
		}
	}
	for _, d := range entries {
		name, isDir := d.Name(), d.IsDir()
		if isDir && b.depth == 0 || !s.selects(f, prefix, name, isDir) || hides != nil && hides(name) {
			continue
		}
		if isDir {
			flush()
			out = append(out, fork{isDir: true, branch: branch{
				up: f, path: filepath.Join(b.path, name), rel: prefix + name, depth: b.depth - 1,
			}})
			continue
		}
		if s.wants != nil && !s.wants(prefix, name, d) {
			continue
		}
		if files = append(files, d); len(files) == batchFiles {
			flush()
		}
	}
	flush()
	return out
}

// special tells which names are there that have a meaning for the rules.
func special(entries []fs.DirEntry) specials {
	var out specials
	for _, d := range entries {
		switch d.Name() {
		case ".git":
			out.git = true
		case ".gitignore":
			out.rules[gitIgnore] = true
		case ".ignore":
			out.rules[dotIgnore] = true
		case ".rgignore":
			out.rules[ownIgnore] = true
		}
	}
	return out
}

// selects follows ripgrep's order: the caller's glob, the ignore files, the type, and only
// what none of them named may be left out for being hidden.
func (s *selection) selects(f *folder, prefix, name string, isDir bool) bool {
	if len(s.filter) > 0 {
		switch v := s.filter.decide(prefix, name, isDir); {
		case v == ignored:
			return false
		case v == wanted:
			return true
		case !isDir && s.filter.include():
			return false
		}
	}
	v := f.decide(name, isDir)
	if v == ignored {
		return false
	}
	if len(s.types) > 0 && !isDir {
		if s.types.decide("", name, false) == undecided {
			return false
		}
		v = wanted
	}
	if name == ".git" && s.hidden {
		return false
	}
	return v == wanted || s.hidden || !strings.HasPrefix(name, ".")
}

// include reports whether there is a rule that asks for files, not only some against.
func (rs rules) include() bool {
	for _, r := range rs {
		if r.verdict == wanted {
			return true
		}
	}
	return false
}
