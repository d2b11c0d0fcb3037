package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/wire"
)

// scratchpads implements session.Scratchpads: a folder for each tree, in one folder that is the user's alone. It is
// there from the first call that could write it until the tree is removed.
type scratchpads struct{ all string }

func scratchpadsOf(a *App) scratchpads {
	all := a.dirs.Scratchpads()
	if all != "" {
		all = tool.Resolve(all)
	}
	return scratchpads{all}
}

// Folder implements session.Scratchpads.
func (s scratchpads) Folder(root troupe.SessionID) string {
	if s.all == "" {
		return ""
	}
	return filepath.Join(s.all, string(root))
}

// Make implements session.Scratchpads. What is no folder, or a link, is not taken for one.
func (s scratchpads) Make(root troupe.SessionID) error {
	dir := s.Folder(root)
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fmt.Errorf("make a folder for agents to share: %w", err)
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if info, err = os.Lstat(dir); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is there, and is no folder", dir)
		}
	}
	if err != nil {
		return fmt.Errorf("make a folder for agents to share: %w", err)
	}
	return nil
}

// remove forgets what a tree has there.
func (s scratchpads) remove(root troupe.SessionID) error {
	if s.all == "" {
		return nil
	}
	if err := disk.RemoveTree(s.Folder(root)); err != nil {
		return fmt.Errorf("remove the scratchpad of session %s: %w", root, err)
	}
	return nil
}

// kept is what a tree has there; nil if that is nothing.
func (s scratchpads) kept(root troupe.SessionID) *wire.Scratchpad {
	if s.all == "" {
		return nil
	}
	out := wire.Scratchpad{Folder: s.Folder(root)}
	_ = filepath.WalkDir(out.Folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // what cannot be looked at is not counted
		}
		out.Files++
		if info, err := d.Info(); err == nil {
			out.Bytes += info.Size()
		}
		return nil
	})
	if out.Files == 0 {
		return nil
	}
	return &out
}

// others are the folders of all trees but the one with this scratchpad, as they are when a command begins; all of them
// if it has none.
func (s scratchpads) others(own string) []string {
	if s.all == "" {
		return nil
	}
	entries, err := os.ReadDir(s.all)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil, own == "":
		return []string{s.all}
	}
	var out []string
	for _, e := range entries {
		if path := filepath.Join(s.all, e.Name()); path != own {
			out = append(out, path)
		}
	}
	return out
}
