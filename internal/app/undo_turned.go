package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool/files"
)

// A merge can make a folder of a file or link, or the other way round. By its undo, and by what takes that back, the
// one gets its place once all of the other has gone from it.

// inTheWay reports whether a file cannot be looked at because there is a folder, or no folder above it.
func inTheWay(err error) bool {
	return errors.Is(err, files.ErrPlace) || errors.Is(err, syscall.ENOTDIR)
}

// turn adds the files that wait for the others.
func (u *Undo) turn() {
	if len(u.turned) == 0 {
		return
	}
	goes := map[string]bool{}
	for _, path := range u.Same {
		_, err := os.Lstat(path)
		goes[path] = errors.Is(err, fs.ErrNotExist) // as after an undo that was killed
	}
	for _, f := range u.Files {
		goes[f.Path] = f.To == "" && !f.Stays(true)
	}
	free := func(path string) bool {
		for at := filepath.Dir(path); at != filepath.Dir(at); at = filepath.Dir(at) {
			if goes[at] {
				return true
			}
		}
		_, err := files.Look(path)
		return errors.Is(err, files.ErrFolder) && empties(path, goes)
	}
	waiting := u.turned
	u.turned = nil
	for _, add := range waiting {
		add(free)
	}
	slices.SortStableFunc(u.Files, func(a, b UndoFile) int { return strings.Compare(a.Path, b.Path) })
}

// empties reports whether a folder has held something that goes, and has nothing else in it.
func empties(folder string, goes map[string]bool) bool {
	ours := false
	for path := range goes {
		ours = ours || goes[path] && path != folder && troupe.Within(path, folder)
	}
	return ours && filepath.WalkDir(folder, func(at string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !goes[at] {
			err = files.ErrFolder
		}
		return err
	}) == nil
}

// publish makes the changes that are staged, and those whose place gets free by them. What failed is by the index.
func publish(ctx context.Context, r *undoReport, staged []*files.Staged) []error {
	failed := make([]error, len(staged))
	for i, s := range staged {
		if s != nil {
			failed[i] = s.Publish()
		}
	}
	for i, f := range r.Files {
		if staged[i] == nil {
			s, err := stage(ctx, r.past, f)
			if err == nil {
				err = s.Publish()
			}
			failed[i] = err
		}
	}
	return failed
}
