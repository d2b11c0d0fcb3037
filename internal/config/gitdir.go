package config

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folders are those whose settings hold for a session in dir, which is absolute and resolved:
// from the root of its repository down to dir. What a folder on the way forbids was meant for
// what lies below it. Above the root nothing counts, for that is another project's or nobody's:
// a repository within another is its own, and without a repository there is dir alone.
func Folders(dir string) []string {
	below := []string{dir}
	for d := dir; ; {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			slices.Reverse(below)
			return below
		}
		up := filepath.Dir(d)
		if up == d {
			return below[:1]
		}
		d = up
		below = append(below, d)
	}
}

// gitDirs are the folders in which git keeps what belongs to the work tree in dir: its own, and
// the one that it shares with others, if that is another. Both pointers, a .git that is a file
// and commondir, are read and not believed: what they lead to is named only if it looks like
// what it should be. Git is not run.
func gitDirs(dir string) []string {
	git := filepath.Join(dir, ".git")
	info, err := os.Stat(git)
	if err != nil {
		return nil
	}
	if !info.IsDir() {
		text, _ := pointer(git)
		text, ok := strings.CutPrefix(text, "gitdir:")
		if !ok {
			return nil
		}
		git = rebase(dir, strings.TrimSpace(text))
	}
	var out []string
	if _, err := os.Lstat(filepath.Join(git, "HEAD")); err == nil {
		out = append(out, git)
	}
	if text, ok := pointer(filepath.Join(git, "commondir")); ok && len(out) > 0 {
		common := rebase(git, text)
		if _, err := os.Lstat(filepath.Join(common, "HEAD")); err == nil && common != git {
			out = append(out, common)
		}
	}
	return out
}

func rebase(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// maxPointer is longer than any path.
const maxPointer = 8 << 10

// pointer reads a file that holds one line.
func pointer(path string) (string, bool) {
	data, info, err := readFile(path)
	if err != nil || info.Size() > maxPointer || bytes.IndexByte(data, 0) >= 0 {
		return "", false
	}
	return strings.TrimSpace(string(data)), len(data) > 0
}

// maxIndex bounds what is searched; an index beyond it is of a repository with a million files.
const maxIndex = 128 << 20

// tracked reports whether git keeps a file of the work tree in top, by looking for its name in
// the index. In doubt it does: a file that came with the repository is anybody's.
func tracked(top, name string) bool {
	dirs := gitDirs(top)
	if len(dirs) == 0 {
		return false
	}
	f, err := os.Open(filepath.Join(dirs[0], "index"))
	if err != nil {
		_, gone := os.Lstat(filepath.Join(dirs[0], "index"))
		return gone == nil || !os.IsNotExist(gone)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIndex+1))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	switch {
	case err != nil, len(data) > maxIndex, len(data) < 12, string(data[:4]) != "DIRC":
		return true
	case data[7] != 2 && data[7] != 3:
		return true // later versions leave out the beginnings of names
	}
	if shared, err := fs.Glob(os.DirFS(dirs[0]), "sharedindex.*"); err != nil || len(shared) > 0 {
		return true // most names are in another file
	}
	// A name is whole and ends with a zero byte; a folder that is left out of the work tree
	// stands for all in it.
	for n := name; n != "."; n = filepath.ToSlash(filepath.Dir(n)) {
		want := n
		if n != name {
			want += "/"
		}
		if bytes.Contains(data, append([]byte(want), 0)) {
			return true
		}
	}
	return false
}
