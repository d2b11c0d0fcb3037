package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// supported refuses repositories of which a worktree would not be what the caller has. Left names the submodules, of
// which a worktree has the folders alone.
func (c *caller) supported(ctx context.Context, environ []string) (left []string, err error) {
	for name := range c.settings {
		if name == "extensions.partialclone" || strings.HasPrefix(name, "remote.") &&
			(strings.HasSuffix(name, ".promisor") || strings.HasSuffix(name, ".partialclonefilter")) {
			return nil, refused(c.top, "it is a partial clone, which lacks objects that a worktree needs",
				"fetch all of it with “git fetch --refetch --no-filter”, or use isolation “copy”")
		}
	}
	list, err := c.out(ctx, "ls-files", "-s", "-z")
	if err != nil {
		return nil, err
	}
	attributes := []string{".gitattributes"} // also one that is not committed
	for _, entry := range fields(list) {
		about, name, _ := strings.Cut(entry, "\t")
		switch {
		case path.Base(name) == ".gitattributes":
			attributes = append(attributes, name)
		case strings.HasPrefix(about, modeRepo+" "):
			if why := dirtyModule(ctx, environ, filepath.Join(c.top, name), strings.Fields(about)[1], 0); why != "" {
				return nil, refused(c.top, "its submodule "+name+" "+why,
					"commit there and here, or use isolation “copy”")
			}
			left = append(left, name+": it is a submodule")
		}
	}
	return left, c.unfiltered(attributes)
}

// unfiltered refuses what a filter would have to change on its way: none is run for a workspace, so that what is
// large by a filter (LFS) would be its pointers.
func (c *caller) unfiltered(names []string) error {
	files := []string{filepath.Join(c.common, "info", "attributes"), "/etc/gitattributes"}
	if global := c.settings["core.attributesfile"]; filepath.IsAbs(global) {
		files = append(files, global)
	}
	for _, name := range names {
		if path.Base(name) == ".gitattributes" {
			if info, err := lookAt(c.top, name); err == nil && info.Mode().IsRegular() {
				files = append(files, filepath.Join(c.top, name))
			}
		}
	}
	for _, file := range files {
		data, err := disk.Read(file, 16<<20)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return refused(c.top, "what it says of filters cannot be read: "+err.Error(), copyHint)
		}
		for line := range strings.Lines(string(data)) {
			words := strings.Fields(line)
			if len(words) < 2 || words[0][0] == '#' {
				continue
			}
			filter := slices.IndexFunc(words, func(w string) bool {
				return strings.HasPrefix(w, "filter=") && w != "filter="
			})
			if filter > 0 {
				return refused(c.top, fmt.Sprintf("%s asks for the filter %q (as Git LFS does), and none is run there",
					file, strings.TrimPrefix(words[filter], "filter=")), copyHint)
			}
		}
	}
	return nil
}

// modulesMost is how deep submodules are looked into.
const modulesMost = 8

// dirtyModule says what of a submodule no commit of the repository around it has; "" if nothing, or if it is not
// checked out.
func dirtyModule(ctx context.Context, environ []string, folder, commit string, deep int) string {
	if _, err := os.Lstat(filepath.Join(folder, ".git")); errors.Is(err, fs.ErrNotExist) {
		if inside, err := os.ReadDir(folder); err == nil && len(inside) > 0 {
			return "has files and no repository"
		}
		return ""
	}
	g, err := git.Open(ctx, folder, environ)
	if err != nil || deep == modulesMost {
		return "cannot be looked at"
	}
	m := repo{runner: *g, strange: true}
	head, err := m.out(ctx, "rev-parse", "--verify", "HEAD")
	if err != nil {
		return "cannot be looked at: " + err.Error()
	}
	if head != commit {
		return "is at another commit than is committed"
	}
	changes, err := m.out(ctx, "status", "--porcelain", "-z", "--ignore-submodules=all")
	if err != nil {
		return "cannot be looked at: " + err.Error()
	}
	if changes != "" {
		return "has changes that are not committed"
	}
	list, err := m.out(ctx, "ls-files", "-s", "-z")
	if err != nil {
		return "cannot be looked at: " + err.Error()
	}
	for _, entry := range fields(list) {
		about, name, _ := strings.Cut(entry, "\t")
		if strings.HasPrefix(about, modeRepo+" ") {
			inner := filepath.Join(folder, name)
			if why := dirtyModule(ctx, environ, inner, strings.Fields(about)[1], deep+1); why != "" {
				return "has a submodule " + name + " that " + why
			}
		}
	}
	return ""
}
