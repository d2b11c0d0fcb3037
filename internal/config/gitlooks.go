package config

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// isGitName: one of the names that the pieces of a repository's own folder have, folded.
func isGitName(folded string) bool {
	switch folded {
	case ".git", "head", "objects", "refs", "commondir", "hooks", "config", "config.worktree", "info", "gitdir",
		"remotes", "branches":
		return true
	}
	return false
}

// mayBeGit reports whether a name in a folded path could be such a piece.
func mayBeGit(folded string) bool {
	for from, end := 0, 0; from < len(folded); from = end {
		end = nextName(folded, from)
		if isGitName(folded[from+1 : end]) {
			return true
		}
	}
	return false
}

// PartOfGit is what of a repository's own folder a path would be or lie in if it was written, wherever that
// folder is and whatever it is called, "" if it is nothing of the kind: what makes a folder a repository,
// which git tells by its looks (a .git; a HEAD; and beside a HEAD the objects, refs or commondir that it
// lacks), and in one that is complete, or lacks its HEAD alone, what says what git runs, and the folders without
// which it would be none. What git itself writes there day by day
// (objects, refs, a HEAD that moves) is nothing of the kind.
func (p *Protection) PartOfGit(path string) string {
	for from, end := 0, 0; from < len(path); from = end {
		end = nextName(path, from)
		name, last := fold(path[from+1:end]), end == len(path)
		if !isGitName(name) {
			continue
		}
		dir, piece := path[:from+1], path[:end]
		protected := false
		switch name {
		case ".git":
			protected = last || !present(piece)
		case "head":
			protected = last && newHead(dir, piece)
		case "objects", "refs":
			protected = present(dir+"HEAD") && !present(piece) && !(name == "refs" && logsOfGit(dir)) ||
				last && (complete(dir) || headless(dir))
		case "commondir":
			protected = present(dir + "HEAD")
		case "info":
			if !last {
				piece = path[:nextName(path, end)]
				protected = fold(filepath.Base(piece)) == "attributes" && complete(dir)
			}
		default:
			protected = complete(dir) || headless(dir)
		}
		if protected {
			return piece
		}
	}
	return ""
}

// newHead reports whether a HEAD would begin a repository. Where case makes a difference git wants those
// letters; where it makes none, what lies beside it shows that it could be meant.
func newHead(dir, piece string) bool {
	if complete(dir) {
		return false // it has one, which moves with each checkout
	}
	if filepath.Base(piece) != "HEAD" {
		return present(dir+"objects") || present(dir+"refs") || present(dir+"commondir")
	}
	// What HEAD was is written down in a file of that name, and so is the HEAD of another repository: beside branches,
	// and not beside what would be a repository with it.
	at := refsOfGit(dir)
	return at == "" || at != "logs/" && !strings.HasPrefix(strings.TrimPrefix(at, "logs/"), "refs/remotes/") ||
		present(dir+"commondir") || present(dir+"objects") && present(dir+"refs")
}

// refsOfGit is what a folder, with a slash behind it, is in a repository's refs or what it writes down of them, from
// there on; "" if it is none of these.
func refsOfGit(dir string) string {
	for from, end := 0, 0; from < len(dir)-1; from = end {
		end = nextName(dir, from)
		if name := fold(dir[from+1 : end]); (name == "logs" || name == "refs") && complete(dir[:from+1]) {
			return fold(dir[from+1:])
		}
	}
	return ""
}

// logsOfGit: the folder in a repository where git writes down what its refs were, HEAD among them. Without objects,
// which are kept from it, it is no repository.
func logsOfGit(dir string) bool {
	above, ok := strings.CutSuffix(dir, "logs/")
	return ok && strings.HasSuffix(above, "/") && complete(above)
}

// complete reports whether a folder, with a slash behind it, looks like a repository to git.
func complete(dir string) bool {
	return present(dir+"HEAD") && (present(dir+"commondir") || present(dir+"objects") && present(dir+"refs"))
}

// headless: a repository whose HEAD was taken away, which would be one again with it. What git has written in its
// config tells it from other folders.
func headless(dir string) bool {
	if present(dir+"HEAD") || !present(dir+"objects") || !present(dir+"refs") {
		return false
	}
	text, _, err := readFile(dir + "config")
	return err == nil && bytes.Contains(bytes.ToLower(text), []byte("repositoryformatversion"))
}

// present: it is there, or cannot be looked for.
func present(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// GitFolder is the folder of git, whatever it is called, in which a path lies or would lie; "" if it lies in none. Of
// those that lie in each other it is the outermost. What has a .git is a work tree, wherever that lies.
func GitFolder(path string) (dir string) {
	for at := filepath.Dir(path); at != filepath.Dir(at); at = filepath.Dir(at) {
		switch {
		case fold(filepath.Base(at)) == ".git", complete(at + "/"), headless(at + "/"):
			dir = at
		case present(at + "/.git"):
			return dir
		}
	}
	return dir
}

// infoOfGit: the folder in a repository in which the file lies that says what filters are run on.
func infoOfGit(path, folded string) bool {
	return strings.HasSuffix(folded, "/info") && complete(path[:len(path)-len("info")])
}
