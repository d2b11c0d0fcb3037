package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/troupe-dev/troupe"
)

// scan is what of a folder differs from an index.
type scan struct {
	gone []string // files of the index
	here []string // files and links that are new or changed
	// nested are the folders of repositories, each with a slash at its end, and odd what git cannot store: a pipe, or
	// a file that cannot be read.
	nested, odd []string
}

// scan finds what has changed in a folder. Ignored files are not looked at.
func (r repo) scan(ctx context.Context, folder string) (scan, error) {
	args := []string{"ls-files", "-z", "-t", "--modified", "--deleted", "--others"}
	if !r.all {
		args = append(args, "--exclude-standard")
	}
	list, err := r.on(folder).out(ctx, args...)
	if err != nil {
		return scan{}, err
	}
	var names []string
	for _, entry := range fields(list) {
		if _, name, ok := strings.Cut(entry, " "); ok {
			names = append(names, name)
		}
	}
	return r.sortOut(ctx, folder, names)
}

// sortOut looks at each name that is not as the index has it.
func (r repo) sortOut(ctx context.Context, folder string, names []string) (scan, error) {
	var s scan
	var folders []string
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue // changed, and gone
		}
		seen[name] = true
		if !inFolder(name) {
			s.odd = append(s.odd, name) // of a tree that was written by hand
			continue
		}
		info, err := lookAt(folder, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.gone = append(s.gone, name)
		case err != nil:
			return scan{}, err
		case strings.HasSuffix(name, "/"):
			s.nested = append(s.nested, name)
		case info.IsDir():
			folders = append(folders, name)
		case info.Mode().IsRegular() && readable(filepath.Join(folder, name)), info.Mode()&fs.ModeSymlink != 0:
			s.here = append(s.here, name)
		default:
			s.odd = append(s.odd, name)
		}
	}
	links, err := r.gitlinks(ctx, folders)
	for _, name := range folders {
		if slices.Contains(links, name) {
			s.here = append(s.here, name) // a submodule at another commit
		} else {
			s.gone = append(s.gone, name) // a file made way for a folder, whose files are listed
		}
	}
	return s, err
}

// inFolder reports whether a name of git's is one that a file of a folder can have.
func inFolder(name string) bool {
	name = strings.TrimSuffix(name, "/")
	return filepath.IsLocal(name) && !slices.ContainsFunc(strings.Split(name, "/"),
		func(part string) bool { return strings.EqualFold(part, ".git") })
}

// gitlinks are those of the names that the index has as submodules.
func (r repo) gitlinks(ctx context.Context, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	list, err := r.out(ctx, append([]string{"--literal-pathspecs", "ls-files", "-s", "-z", "--"}, names...)...)
	if err != nil {
		return nil, err
	}
	return gitlinksOf(list), nil
}

// gitlinksOf picks the submodules out of what ls-files printed.
func gitlinksOf(list string) []string {
	var links []string
	for _, entry := range fields(list) {
		if about, name, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(about, modeRepo+" ") {
			links = append(links, name)
		}
	}
	return links
}

// lookAt is Lstat of a file that no link leads to: one below a link is not there.
func lookAt(folder, name string) (fs.FileInfo, error) {
	for i := range len(name) {
		if name[i] != '/' || i == len(name)-1 {
			continue
		}
		info, err := os.Lstat(filepath.Join(folder, name[:i]))
		if err != nil {
			if errors.Is(err, syscall.ENOTDIR) {
				return nil, fs.ErrNotExist
			}
			return nil, err
		}
		if !info.IsDir() {
			return nil, fs.ErrNotExist
		}
	}
	info, err := os.Lstat(filepath.Join(folder, name))
	if errors.Is(err, syscall.ENOTDIR) {
		err = fs.ErrNotExist
	}
	return info, err
}

// readable reports whether a regular file can be opened.
func readable(path string) bool {
	f, err := os.OpenFile(path, readFlags, 0)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// survey looks at every folder before git does. It names those that cannot be looked into, of which git would say
// nothing, and removes a pipe where git would open a file of rules and wait for ever. Such a pipe holds nothing.
func survey(folder string) (odd []string) {
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		name := strings.TrimPrefix(strings.TrimPrefix(path, folder), "/")
		switch {
		case err != nil:
			odd = append(odd, name)
			if e != nil && e.IsDir() {
				return fs.SkipDir
			}
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case !ruled(e.Name()) || e.IsDir() || e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0:
		default:
			if !removePipe(folder, name) {
				odd = append(odd, name)
			}
		}
		return nil
	})
	return odd
}

// removePipe removes what is neither file, link nor folder. A command may have exchanged a folder on the way for a link
// by now: nothing is removed through one. false: it may still be there.
func removePipe(folder, name string) bool {
	in, err := rootIn(folder, path.Dir(name))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer in.Close() //nolint:errcheck // it was only looked into
	info, err := in.Lstat(path.Base(name))
	if err != nil || info.Mode().IsRegular() || info.IsDir() || info.Mode()&fs.ModeSymlink != 0 {
		return true // it has gone
	}
	return in.Remove(path.Base(name)) == nil
}

// ruled reports whether git reads a file of that name for rules, wherever it is.
func ruled(name string) bool { return name == ".gitignore" || name == ".gitattributes" }

// surveyOf is survey of the folders that some names lie in.
func surveyOf(folder string, names []string) {
	for _, name := range names {
		for at := path.Dir(name); ; at = path.Dir(at) {
			for _, rules := range []string{".gitignore", ".gitattributes"} {
				info, err := lookAt(folder, path.Join(at, rules))
				if err == nil && !info.Mode().IsRegular() && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
					removePipe(folder, path.Join(at, rules)) // else git waits until its time is over
				}
			}
			if at == "." {
				break
			}
		}
	}
}

// take puts what a scan found into the index, but for what its reader may not read: that is left.
func (r repo) take(ctx context.Context, folder string, s scan) (left []string, err error) {
	r = r.on(folder)
	if len(s.gone) > 0 {
		if _, err := r.feed(ctx, strings.Join(s.gone, "\x00")+"\x00", "update-index", "--force-remove", "-z",
			"--stdin"); err != nil {
			return nil, err
		}
	}
	if len(s.here) == 0 {
		return nil, nil
	}
	here := s.here
	if r.reads != nil {
		how, err := r.reads(ctx)
		if err != nil {
			return nil, err
		}
		if how.Start != nil {
			// What is started may be told to know files by size and second alone: that would miss what was replaced.
			r = r.set("core.checkStat=default", "core.trustctime=true")
			r.runner.Start = how.Start
		}
		here = slices.DeleteFunc(slices.Clone(here), func(name string) bool {
			no := how.Start != nil && troupe.WithinAny(filepath.Join(folder, name), how.Hidden)
			if no {
				left = append(left, name)
			}
			return no
		})
	}
	return left, add(ctx, r, folder, here)
}

// takeGiven is take for a folder that another one is made from. What of it no agent may read is named.
func takeGiven(ctx context.Context, r repo, folder string, s scan, b *troupe.WorkspaceBase) error {
	left, err := r.take(ctx, folder, s)
	for _, name := range left {
		b.Left = append(b.Left, name+leftHidden)
	}
	return err
}

// rootIn opens a folder below another one, if no link leads to it.
func rootIn(folder, name string) (*os.Root, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	at, err := folderOf(root, strings.TrimSuffix(name, "/"), nil)
	return at, errors.Join(err, root.Close())
}

// openIn opens a file of a folder to be read, if no link leads to it.
func openIn(folder, name string) (*os.File, error) {
	root, err := rootIn(folder, path.Dir(name))
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(path.Base(name), readFlags, 0)
	return f, errors.Join(err, root.Close())
}
