package search

import (
	"context"
	"errors"
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
	// hides names what must not be looked at, and a folder not gone into; nil for nothing.
	hides func(rel string) bool
}

// errStop ends a walk early, without being an error.
var errStop = errors.New("stop")

// walk calls fn with every selected file below root, in order of their paths, part by part.
// Folders that cannot be read are passed over. Root has no link in it, and none is followed:
// a folder that is exchanged for one while we look is passed over too.
func walk(ctx context.Context, root string, s selection, fn func(rel string, d fs.DirEntry) error) error {
	w := walker{selection: s, fn: fn}
	entries, err := list(root)
	if err != nil {
		return err
	}
	err = w.folder(ctx, above(root), root, "", entries, s.depth)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
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

type walker struct {
	selection
	fn func(rel string, d fs.DirEntry) error
}

func (w *walker) folder(ctx context.Context, up *folder, path, rel string, entries []fs.DirEntry, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f := enter(up, path, special(entries))
	for _, d := range entries {
		name := d.Name()
		sub := name
		if rel != "" {
			sub = rel + "/" + name
		}
		if !w.selects(f, sub, name, d.IsDir()) || w.hides != nil && w.hides(sub) {
			continue
		}
		if !d.IsDir() {
			if err := w.fn(sub, d); err != nil {
				return err
			}
			continue
		}
		if depth == 0 {
			continue
		}
		below := filepath.Join(path, name)
		entries, err := list(below)
		if err != nil {
			continue
		}
		if err := w.folder(ctx, f, below, sub, entries, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// special picks the names that have a meaning for the rules.
func special(entries []fs.DirEntry) map[string]bool {
	out := map[string]bool{}
	for _, d := range entries {
		switch name := d.Name(); name {
		case ".git", ".gitignore", ".ignore", ".rgignore":
			out[name] = true
		}
	}
	return out
}

// selects follows ripgrep's order: the caller's glob, the ignore files, the type, and only
// what none of them named may be left out for being hidden.
func (w *walker) selects(f *folder, rel, name string, isDir bool) bool {
	if len(w.filter) > 0 {
		switch v := w.filter.decide(rel, isDir); {
		case v == ignored:
			return false
		case v == wanted:
			return true
		case !isDir && w.filter.include():
			return false
		}
	}
	v := f.decide(name, isDir)
	if v == ignored {
		return false
	}
	if len(w.types) > 0 && !isDir {
		if w.types.decide(name, false) == undecided {
			return false
		}
		v = wanted
	}
	if name == ".git" && w.hidden {
		return false
	}
	return v == wanted || w.hidden || !strings.HasPrefix(name, ".")
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
