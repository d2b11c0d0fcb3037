package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/scratch"
)

// tempFor is a session's folder for temporary files, in one of its tree. No other user can have made it: its
// parent is new, and this user's alone.
func (g *guard) tempFor(s troupe.Session) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.temp == nil {
		made, err := scratch.Make("")
		if err != nil {
			return "", err
		}
		g.temp = made
	}
	tree := filepath.Join(g.temp.Path, treeOf(s))
	dir := filepath.Join(tree, string(s.ID))
	for _, path := range []string{tree, dir} {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("make a folder for temporary files: %w", err)
		}
	}
	return dir, nil
}

// treeOf names the folder of a session's tree.
func treeOf(s troupe.Session) string { return string(cmp.Or(s.Root, s.ID)) }

// otherTemps are the folders for temporary files of other trees, of this process and of others, as they are when a
// command begins. Agents of one tree show each other what they made. Without mount namespaces they are left out:
// what comes into being beside something hidden could not be read there, and that is where all programs have
// their temporary files.
func (g *guard) otherTemps(s troupe.Session) []string {
	if !g.box.Support(g.ctx()).Namespaces {
		return nil
	}
	g.mu.Lock()
	own := g.temp.Path // tempFor made it
	g.mu.Unlock()
	out := slices.DeleteFunc(scratch.Others(own), func(path string) bool { return troupe.Within(s.Cwd, path) })
	entries, err := os.ReadDir(own)
	if err != nil {
		return out // nor can a command list it
	}
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && name != treeOf(s) && !strings.HasPrefix(name, ".") {
			out = append(out, filepath.Join(own, name))
		}
	}
	return out
}
