package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// answerFresh is how long it counts that there can be a worktree of a repository. Making one looks again, so what has
// changed meanwhile is told then.
const answerFresh = time.Second

// answer is that there can be a worktree of a repository, as that was just now.
type answer struct {
	of    string
	dirs  []string // of git there
	files []string // whose marks are looked at
	marks string
	at    time.Time
	needs []want
}

// answers keeps the last one. It is safe for concurrent use.
type answers struct {
	mu   sync.Mutex
	last answer
}

// needs finds out whether there can be a worktree of a repository, and what it takes where. All births of one reply ask
// for it, and git takes some 30 ms to say so. A no is not kept: who mends what it names and asks again is not to read
// the old reason.
func (s *answers) needs(ctx context.Context, k *Keeper, of string) ([]want, error) {
	s.mu.Lock()
	a := s.last
	s.mu.Unlock()
	if age := k.now().Sub(a.at); a.of == of && age >= 0 && age < answerFresh && a.holds() {
		return a.needs, nil
	}
	c, err := k.callerOf(ctx, of)
	if err != nil {
		return nil, err
	}
	modules, err := c.supported(ctx, k.environ)
	if err != nil {
		return nil, err
	}
	needs, err := planned(ctx, k, c)
	if err != nil {
		return nil, err
	}
	a = answer{of: of, needs: needs, at: k.now(), dirs: []string{c.dir, c.common}}
	a.files = []string{
		filepath.Join(of, ".git"), filepath.Join(of, ".gitattributes"), filepath.Join(c.dir, "HEAD"),
		filepath.Join(c.dir, "index"), filepath.Join(c.dir, "config.worktree"), filepath.Join(c.common, "config"),
		filepath.Join(c.common, "info", "attributes"), c.settings["core.attributesfile"],
	}
	if home := homeOf(k.environ); home != "" {
		a.files = append(a.files, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config", "git", "config"))
	}
	a.marks = marksOf(a.files)
	if len(modules) == 0 { // whether one is dirty shows in no file of this repository
		s.mu.Lock()
		s.last = a
		s.mu.Unlock()
	}
	return a.needs, nil
}

// holds reports whether the repository is as it was, as far as its files tell: what an agent could put where git reads
// and writes is looked for each time.
func (a answer) holds() bool {
	return marksOf(a.files) == a.marks && pipeIn(a.of) == "" &&
		!slices.ContainsFunc(a.dirs, func(dir string) bool { return straightGit(dir) != nil })
}

// marksOf tells whether files are as they were.
func marksOf(files []string) string {
	var b strings.Builder
	for _, file := range files {
		info, err := os.Lstat(file)
		if err != nil {
			b.WriteString("none\n")
			continue
		}
		fmt.Fprintln(&b, inode(info), info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	return b.String()
}
