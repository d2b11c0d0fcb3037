package trust

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// mainFolder is the folder of the main work tree that stands for dir in a worktree of its
// repository. A .git file can claim to belong to any repository; only if that repository has a
// worktree which points back to this very file is the claim true.
func mainFolder(dir string) (string, bool) {
	top := dir
	for {
		info, err := os.Lstat(filepath.Join(top, ".git"))
		if err == nil {
			if !info.Mode().IsRegular() {
				return "", false
			}
			break
		}
		up := filepath.Dir(top)
		if up == top {
			return "", false
		}
		top = up
	}
	git := filepath.Join(top, ".git")
	text, ok := strings.CutPrefix(line(git), "gitdir:")
	if !ok {
		return "", false
	}
	own, err := filepath.EvalSymlinks(rebase(top, strings.TrimSpace(text)))
	if err != nil || filepath.Base(filepath.Dir(own)) != "worktrees" {
		return "", false
	}
	common := filepath.Dir(filepath.Dir(own))
	// Where the repository is follows from where its worktrees are. What a file commondir says
	// does not matter: whoever could write one could name any repository.
	// By name and not by file: a second hard link to a worktree's .git is no worktree.
	if text := line(filepath.Join(own, "gitdir")); text == "" || resolve(rebase(own, text)) != resolve(git) {
		return "", false
	}
	main := filepath.Dir(common)
	if filepath.Base(common) != ".git" || troupe.Within(main, top) || !same(filepath.Join(main, ".git"), common) {
		return "", false
	}
	below, err := filepath.Rel(top, dir)
	if err != nil {
		return "", false
	}
	return filepath.Join(main, below), true
}

func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func rebase(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// line reads a file that holds one line, "" if it does not.
func line(path string) string {
	data, err := disk.Read(path, 8<<10)
	if err != nil || strings.ContainsRune(string(data), 0) {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// maxLook bounds how much of a folder is looked at to find out whether it holds many projects.
const maxLook = 500

// wide says why trusting a folder would trust more than a project; "" if it would not.
func wide(dir, home string) string {
	if dir == "/" {
		return "is the whole disk"
	}
	for _, h := range [...]string{home, resolve(home)} {
		switch {
		case h == "":
		case dir == h:
			return "is your home folder"
		case troupe.Within(h, dir):
			return "holds your home folder"
		}
	}
	if dir == filepath.Clean(os.TempDir()) || dir == "/tmp" || dir == "/var/tmp" {
		return "is where every program puts its temporary files"
	}
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		return ""
	}
	f, err := os.Open(dir)
	if err != nil {
		return ""
	}
	entries, err := f.ReadDir(maxLook)
	if cerr := f.Close(); cerr != nil || err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	repositories := 0
	for _, e := range entries {
		if e.Type()&fs.ModeDir == 0 {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, e.Name(), ".git")); err == nil {
			repositories++
		}
	}
	if repositories > 1 {
		return "holds several repositories"
	}
	return ""
}

func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil && path != "" {
		return real
	}
	return path
}
