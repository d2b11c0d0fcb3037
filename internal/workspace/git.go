package workspace

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// Git is the state of a folder's repository, and as much of it as could be found out.
type Git struct {
	Repo    bool
	Branch  string // "" if detached
	Head    string // short commit, "" before the first
	Changed int    // files below the folder that differ from Head, new ones included
	// Names are the first Named of those, each behind what became of it ("M a.go, ? new/").
	Names string
	Named int
	// Problem says why the rest is not known: git is missing, was too slow, or refused.
	Problem string
}

// String is the state in half a line.
func (g Git) String() string {
	switch {
	case !g.Repo:
		return "not a repository"
	case g.Problem != "":
		return "a repository, but its state is not known (" + visible(g.Problem) + ")"
	}
	where := "branch " + visible(g.Branch)
	if g.Branch == "" {
		where = "no branch"
	}
	if g.Head == "" {
		where += ", no commit yet"
	} else {
		where += " at " + visible(g.Head)
	}
	switch g.Changed {
	case 0:
		return where + ", clean"
	case 1:
		where += ", 1 changed file"
	default:
		where += fmt.Sprintf(", %d changed files", g.Changed)
	}
	if g.Named == 0 {
		return where
	}
	where += ": " + g.Names
	if more := g.Changed - g.Named; more > 0 {
		where += fmt.Sprintf(" and %d more", more)
	}
	return where
}

// What is said of changed files: a session is told of them with its first words, and pays for them
// at every turn.
const (
	maxNames      = 12
	maxNamesBytes = 400
)

// gitDeadline is how long a start may wait for git. A repository that takes longer is
// described without its state.
const gitDeadline = 2 * time.Second

// Look asks git about dir. environ is the user's environment, of which git gets what it
// needs. It may run beside other start-up work; where there is no repository it costs a
// few file look-ups and starts nothing.
func Look(ctx context.Context, dir string, environ []string) Git {
	ctx, cancel := context.WithTimeout(ctx, gitDeadline)
	defer cancel()
	return look(ctx, dir, environ)
}

func look(ctx context.Context, dir string, environ []string) Git {
	if _, ok := repositoryTop(dir); !ok {
		return Git{}
	}
	g := Git{Repo: true}
	run, err := git.Open(ctx, dir, environ)
	if err == nil {
		out := &statusReader{git: &g, below: below(dir)}
		err = run.Stream(ctx, out, "status", "--porcelain=v2", "--branch", "--untracked-files=normal",
			"--ignore-submodules=all", "--no-renames", "--", ".")
		out.end()
	}
	if err != nil {
		problem := git.Unsaid(err).Error() // it is told to a model
		if problem != err.Error() {
			problem = "git: " + problem
		}
		return Git{Repo: true, Problem: problem}
	}
	return g
}

// repositoryTop looks for .git in dir and above, as git itself does, and returns the folder
// that has it, or else dir.
func repositoryTop(dir string) (top string, ok bool) {
	for at := dir; ; {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at, true
		}
		parent := filepath.Dir(at)
		if parent == at {
			return dir, false
		}
		at = parent
	}
}

// below is the path of dir in its repository, with a slash behind it; "" for its top.
func below(dir string) string {
	top, _ := repositoryTop(dir)
	rel, err := filepath.Rel(top, dir)
	if err != nil || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel) + "/"
}

// statusReader reads porcelain v2 as it comes and keeps nothing but the counts and the first few
// names, however many files there are.
type statusReader struct {
	git   *Git
	below string // what names begin with
	line  []byte // the beginning of the current line
}

// maxHeader bounds what is kept of a line; header lines are short, and a longer name is left out.
const maxHeader = 512

func (r *statusReader) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		part := b
		if end >= 0 {
			part = b[:end]
		}
		r.line = append(r.line, part[:min(len(part), maxHeader-len(r.line))]...)
		if end < 0 {
			break
		}
		r.end()
		b = b[end+1:]
	}
	return n, nil
}

func (r *statusReader) end() {
	line := string(r.line)
	r.line = r.line[:0]
	switch {
	case line == "":
	case line[0] != '#':
		r.git.Changed++
		r.name(line)
	default:
		key, value, _ := strings.Cut(strings.TrimPrefix(line, "# "), " ")
		switch {
		case key == "branch.oid" && value != "(initial)":
			r.git.Head = value[:min(len(value), 8)]
		case key == "branch.head" && value != "(detached)":
			r.git.Branch = value
		}
	}
}

// name keeps the name of a changed file, while there is room for it.
func (r *statusReader) name(line string) {
	before := map[byte]int{'1': 8, '2': 9, 'u': 10, '?': 1}[line[0]] // fields in front of the name
	fields := strings.SplitN(line, " ", before+1)
	if before == 0 || len(fields) <= before || len(line) >= maxHeader || r.git.Named != r.git.Changed-1 {
		return
	}
	state := "?"
	if line[0] != '?' {
		state = strings.ReplaceAll(fields[1], ".", "")
	}
	text := visible(state + " " + strings.TrimPrefix(fields[before], r.below))
	if r.git.Named > 0 {
		text = ", " + text
	}
	if r.git.Named == maxNames || len(r.git.Names)+len(text) > maxNamesBytes {
		return
	}
	r.git.Names += text
	r.git.Named++
}
