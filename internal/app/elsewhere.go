package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/hidden"
)

// elsewhereMost is how many names are looked at for one pattern that hides files outside of the project. What has more
// below it is not searched, and that is said.
const elsewhereMost = 20_000

// elsewhere lists what patterns with wildcards hide outside of the folders that are looked through whole, as it is now.
func elsewhere(ctx context.Context, g *guard, gr *folder, globs []string) (found, unsearched []string, err error) {
	looked := gr.looked()
	for _, text := range globs {
		glob, ok := config.GlobOf(text)
		if !ok || troupe.WithinAny(glob.Below, looked) {
			continue
		}
		switch more, ok, err := searched(ctx, g, gr, &glob); {
		case err != nil:
			return nil, nil, err
		case !ok:
			unsearched = append(unsearched, text)
		default:
			found = append(found, more...)
		}
	}
	return found, unsearched, nil
}

// looked are the folders of a place that are looked through whole.
func (gr *folder) looked() []string {
	var out []string
	for _, dir := range append([]string{gr.hidden.Project(), gr.own.Project()}, gr.more()...) {
		if dir != "" && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// more are the folders beside the project that sessions of a place may work in.
func (gr *folder) more() []string {
	if gr.at.Work.Kind.Made() {
		return nil
	}
	return slices.DeleteFunc(gr.folders()[1:], func(dir string) bool {
		return gr.hidden.Project() != "" && troupe.Within(dir, gr.hidden.Project())
	})
}

// searched finds what one pattern covers. Ok is false if there is too much to look at.
func searched(ctx context.Context, g *guard, gr *folder, glob *config.Glob) (found []string, ok bool, err error) {
	real, err := filepath.EvalSymlinks(glob.Below)
	if err != nil {
		return nil, true, nil //nolint:nilerr // there is nothing
	}
	switch {
	case glob.Whole && real == "/":
		return nil, false, nil
	case glob.Whole:
		return gr.hidden.Around(real), true, nil
	case !glob.Deep:
		found, ok = glob.Find(elsewhereMost)
		return found, ok, nil
	case troupe.Within(g.app.dirs.Home, real) || troupe.Within(gr.at.Dir(), real) || !isSmall(g, real):
		return nil, false, nil
	}
	pattern := hidden.Pattern{Key: "elsewhere\n" + glob.Text, Name: glob.Last,
		Path: func(path string) bool { return glob.Covers(filepath.Join(glob.Below, strings.TrimPrefix(path, real))) }}
	found, err = g.find(ctx, real, pattern)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	return found, true, err
}

// isSmall reports whether a folder can be looked through. One that was, is watched from then on.
func isSmall(g *guard, dir string) bool {
	g.mu.Lock()
	watched := g.finders[dir] != nil
	g.mu.Unlock()
	if watched {
		return true
	}
	left := elsewhereMost
	_ = filepath.WalkDir(dir, func(string, fs.DirEntry, error) error {
		if left--; left < 0 {
			return fs.SkipAll
		}
		return nil
	})
	return left >= 0
}

// notSearched says that a pattern does not bind commands.
func notSearched(glob string) string {
	return glob + " reaches beyond the project to more than is looked through: tools keep to it, and commands are " +
		"not " +
		"kept from those files; name the folder instead"
}

// reaches reports whether a pattern may cover something in a folder.
func reaches(text, dir string) bool {
	glob, ok := config.GlobOf(text)
	return ok && (troupe.Within(glob.Below, dir) || troupe.Within(dir, glob.Below))
}

// exists reports whether there is a folder to look through.
func exists(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir()
}
