package app

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/scratch"
)

// tempFor is a session's folder for temporary files, in one of its tree. No other user can have made it: its
// parent is new, and this user's alone. What of it is no longer a folder of this user's is not used, whoever
// replaced it; all of it is made anew then, under another name.
func (g *guard) tempFor(s troupe.Session) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	const tries = 3
	var err error
	for range tries {
		if n := len(g.temps); n > 0 {
			var dir string
			if dir, err = g.temps[n-1].Below(treeOf(s), string(s.ID)); err == nil {
				return dir, nil
			}
		}
		made, err := scratch.Make("")
		if err != nil {
			return "", err
		}
		g.temps = append(g.temps, made)
	}
	return "", err
}

// treeOf names the folder of a session's tree.
func treeOf(s troupe.Session) string { return string(cmp.Or(s.Root, s.ID)) }

// otherTemps are the folders for temporary files of other processes, as they are when a command begins. Agents of one
// tree show each other what they made. Without mount namespaces they are left out:
// what comes into being beside something hidden could not be read there, and that is where all programs have
// their temporary files.
func (g *guard) otherTemps(s troupe.Session) []string {
	if !g.box.Support(g.ctx()).Namespaces {
		return nil
	}
	g.mu.Lock()
	own := g.temps[len(g.temps)-1].Path // tempFor made it
	g.mu.Unlock()
	return slices.DeleteFunc(scratch.Others(own), func(path string) bool { return troupe.Within(s.Cwd, path) })
}

// otherTrees are those of the other trees of this process.
func otherTrees(g *guard, s troupe.Session, own string) (out []string) {
	entries, err := os.ReadDir(own)
	if err != nil || !g.box.Support(g.ctx()).Namespaces {
		return nil // nor can a command list it; or see above
	}
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && name != treeOf(s) && !strings.HasPrefix(name, ".") {
			out = append(out, filepath.Join(own, name))
		}
	}
	return out
}
