package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
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

// outputDelay is how long the reading of git's output may go on after git has ended. All of it has
// been written by then, but a busy machine may take its time to read it. Only a process that git
// left behind, with its output still open, makes us wait for all of it.
const outputDelay = 2 * time.Second

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
	run, err := newGit(ctx, dir, environ)
	if err == nil {
		out := &statusReader{git: &g, below: below(dir)}
		err = run.stream(ctx, out, "status", "--porcelain=v2", "--branch", "--untracked-files=normal",
			"--ignore-submodules=all", "--no-renames", "--", ".")
		out.end()
	}
	if err != nil {
		return Git{Repo: true, Problem: err.Error()}
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

// git runs git on a repository that may have been prepared by an enemy.
type git struct {
	path     string
	dir      string
	env      []string
	settings []string
}

// newGit finds git and the filters that the repository's configuration defines. Filters
// are commands that git would run to compare files; they can only be switched off by name.
func newGit(ctx context.Context, dir string, environ []string) (*git, error) {
	path, err := gitPath()
	if err != nil {
		return nil, err
	}
	g := &git{path: path, dir: dir, env: gitEnviron(environ), settings: safeSettings()}
	var names capped
	err = g.stream(ctx, &names, "config", "--null", "--name-only", "--get-regexp",
		`^filter\..*\.(clean|smudge|process|required)$`)
	if exit, ok := errors.AsType[*gitError](err); ok && exit.code == 1 {
		err = nil // none defined
	}
	if err == nil && names.cut {
		err = errors.New("its configuration defines too many filters")
	}
	if err != nil {
		return nil, err
	}
	for key := range strings.SplitSeq(names.String(), "\x00") {
		if key == "" {
			continue
		}
		if strings.Contains(key, "=") {
			return nil, errors.New("its configuration defines a filter whose name has an equals sign")
		}
		filter := key[:strings.LastIndexByte(key, '.')]
		// An empty process alone keeps git from looking at clean and smudge.
		g.settings = append(g.settings, "-c", filter+".process=", "-c", filter+".clean=", "-c",
			filter+".required=false")
	}
	return g, nil
}

func gitPath() (string, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return "", errors.New("the git command was not found")
	}
	return path, nil
}

// safeSettings go before every command, over any setting that the repository brings.
func safeSettings() []string {
	var args []string
	for _, kv := range []string{
		"core.fsmonitor=false",
		"core.hooksPath=" + os.DevNull,
		"core.pager=cat",
		"core.askPass=",
		"core.sshCommand=false",
		"core.untrackedCache=false",
		"core.attributesFile=" + os.DevNull,
		"credential.helper=",
		"diff.external=",
		"diff.ignoreSubmodules=all",
		"diff.orderFile=" + os.DevNull,
		"protocol.allow=never",
		"safe.bareRepository=explicit",
		"submodule.recurse=false",
		"status.submoduleSummary=false",
		"gc.auto=0",
		"maintenance.auto=false",
		"log.showSignature=false",
	} {
		args = append(args, "-c", kv)
	}
	return args
}

// gitEnviron is the whole environment of our git: what it needs to find itself and the
// user's own configuration, which says, for one, whose repositories are safe.
func gitEnviron(environ []string) []string {
	var env []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "PATH":
			env = append(env, "PATH="+absolutePath(kv[len("PATH="):]))
		case "HOME", "USERPROFILE", "XDG_CONFIG_HOME", "SYSTEMROOT", "SystemRoot", "TMPDIR", "TEMP", "TMP":
			env = append(env, kv)
		}
	}
	return append(env,
		"LC_ALL=C",
		"GIT_OPTIONAL_LOCKS=0", // looking writes nothing, and never gets in a person's way
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=", "SSH_ASKPASS=",
		"GIT_PAGER=cat", "PAGER=cat", "GIT_EDITOR=:",
		"GIT_NO_LAZY_FETCH=1",     // a partial clone must not fetch what it lacks,
		"GIT_ALLOW_PROTOCOL=none", // and an older git, which does, finds no way to
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_ATTR_NOSYSTEM=1",
	)
}

// absolutePath leaves out of a PATH what is relative: that would be taken from the folder we
// run git in, which is the repository's.
func absolutePath(path string) string {
	folders := filepath.SplitList(path)
	folders = slices.DeleteFunc(folders, func(f string) bool { return !filepath.IsAbs(f) })
	return strings.Join(folders, string(filepath.ListSeparator))
}

// gitError is a git that ended badly.
type gitError struct {
	code int
	text string // the first line it wrote about it
}

func (e *gitError) Error() string { return e.text }

// stream runs git and copies its output.
func (g *git) stream(ctx context.Context, out interface{ Write([]byte) (int, error) }, args ...string) error {
	cmd := exec.CommandContext(ctx, g.path, slices.Concat([]string{"--no-pager"}, g.settings, args)...)
	cmd.Dir, cmd.Env, cmd.Stdout = g.dir, g.env, out
	var complaint capped
	cmd.Stderr = &complaint
	cmd.WaitDelay = outputDelay
	endAsGroup(cmd)
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return errors.New("git took too long")
		}
		return ctx.Err()
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
	if line == "" {
		line = fmt.Sprintf("git %s ended with exit code %d", args[0], exit.ExitCode())
	}
	return &gitError{exit.ExitCode(), line}
}

// capped keeps the beginning of what is written to it and takes the rest for nothing, so
// that whoever writes can go on.
type capped struct {
	limit int // 0: 64 KB
	buf   bytes.Buffer
	cut   bool
}

func (c *capped) Write(b []byte) (int, error) {
	limit := c.limit
	if limit == 0 {
		limit = 64 << 10
	}
	room := max(limit-c.buf.Len(), 0)
	if room < len(b) {
		c.cut = true
	}
	c.buf.Write(b[:min(room, len(b))])
	return len(b), nil
}

func (c *capped) String() string {
	if !c.cut {
		return c.buf.String()
	}
	return c.buf.String() + "\n[cut here]\n"
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
