package worktree

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// straightMost is how many names of a repository's refs and notes are looked at.
const straightMost = 200_000

// straightGit refuses a repository in whose own folder a link stands where git reads or writes. An agent can put links
// there, and git, which is not confined when we run it, would follow them: into the file of a key, or to a file that
// programs of the user's run. Between this look and git's own there is a moment that it does not cover: what git writes
// by a link that is put there just then is an id, a line with our own name, or a pack.
func straightGit(git string) error {
	top := []string{"HEAD", "config", "config.worktree", "packed-refs", "shallow", "index", "refs", "logs", "objects",
		"info", "commondir", "gitdir", "worktrees", "modules"}
	entries, err := os.ReadDir(git)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 && (slices.Contains(top, e.Name()) ||
			strings.HasPrefix(e.Name(), "sharedindex.")) {
			return crooked(filepath.Join(git, e.Name()))
		}
	}
	seen := 0
	look := func(path string, e fs.DirEntry, err error) error {
		switch seen++; {
		case err != nil:
			return nil //nolint:nilerr // it is not there
		case e.Type()&fs.ModeSymlink != 0:
			return crooked(path)
		case !e.IsDir() && !e.Type().IsRegular():
			return refused(filepath.Dir(path), path+" is no file, and git would wait for it", copyHint)
		case seen > straightMost:
			return refused(git, "it has too many refs to be looked at", copyHint)
		}
		return nil
	}
	for _, name := range []string{"refs", "logs", "info"} {
		if err := filepath.WalkDir(filepath.Join(git, name), look); err != nil {
			return err
		}
	}
	// The objects themselves are named by what they hold; their folders are not.
	for _, name := range []string{"objects", "objects/info", "objects/pack"} {
		entries, err := os.ReadDir(filepath.Join(git, name))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.Type()&fs.ModeSymlink != 0 {
				return crooked(filepath.Join(git, name, e.Name()))
			}
		}
	}
	return nil
}

// unnoted sees to it that git appends nothing to a file that another folder has as well: it does so where a note of a
// ref is there already. Notes of refs that are ours alone go; a branch's may be a person's, and stay.
func unnoted(git string, commands []string) error {
	root, err := os.OpenRoot(git)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing was written to it
	for _, command := range commands {
		_, name, _ := strings.Cut(command, " ")
		name, _, _ = strings.Cut(name, "\x00")
		at := "logs/" + name
		info, err := root.Lstat(at)
		if err != nil || info.IsDir() {
			continue // there is none
		}
		if strings.HasPrefix(name, "refs/troupe/") {
			if err := root.Remove(at); err != nil {
				return err
			}
		} else if !info.Mode().IsRegular() || linked(info) {
			return refused(git, filepath.Join(git, at)+" is another file as well, which git would write to", copyHint)
		}
	}
	return nil
}

func crooked(path string) error {
	return refused(filepath.Dir(path), path+" is a link, which git would follow out of the repository", copyHint)
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// plainFile reads a file that is one: no link is followed, and no pipe waited for.
func plainFile(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, readFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no plain file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s is too large", path)
	}
	return data, err
}
