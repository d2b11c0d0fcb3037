// Package git runs the git command on repositories that an enemy may have prepared: with our own settings over
// theirs, our own environment, no hooks, no filters, no network, and nothing left behind when a call returns.
//
// A Runner is a value and safe for concurrent use. A call ends soon after its context does.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// outputDelay is how long the reading of git's output may go on after git has ended. All of it has
// been written by then, but a busy machine may take its time to read it. Only a process that git
// left behind, with its output still open, makes us wait for all of it. It is counted in looks, so that the time
// counts for little in which this process stood still.
const (
	outputDelay = 2 * time.Second
	outputLooks = 20
)

// Runner runs git on a repository that may have been prepared by an enemy.
type Runner struct {
	Path     string    // of git itself
	Dir      string    // where it runs
	Env      []string  // its whole environment
	Settings []string  // options before the command
	In       io.Reader // what it reads; nil: nothing. For one call
	Err      io.Writer // gets what it writes beside its output, too; nil: nothing does
	Start    Start     // starts it; nil: it has its user's rights
	// Memory bounds what it and each program that it starts may keep in memory, where the system can; 0: nothing does.
	// It does not count with Start.
	Memory uint64
}

// Open finds git and the filters that the repository's configuration defines. Filters
// are commands that git would run to compare files; they can only be switched off by name.
func Open(ctx context.Context, dir string, environ []string) (*Runner, error) {
	path, err := FindGit()
	if err != nil {
		return nil, err
	}
	g := &Runner{Path: path, Dir: dir, Env: Environ(environ), Settings: SafeSettings()}
	var names Capped
	err = g.Stream(ctx, &names, "config", "--null", "--name-only", "--get-regexp",
		`^filter\..*\.(clean|smudge|process|required)$`)
	if exit, ok := errors.AsType[*Error](err); ok && exit.Code == 1 {
		err = nil // none defined
	}
	if err == nil && names.Cut {
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
		g.Settings = append(g.Settings, "-c", filter+".process=", "-c", filter+".clean=", "-c",
			filter+".required=false")
	}
	return g, nil
}

// FindGit looks git up in our own PATH.
func FindGit() (string, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return "", errors.New("the git command was not found")
	}
	return path, nil
}

// SafeSettings go before every command, over any setting that the repository brings.
func SafeSettings() []string {
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

// RemoteSettings are SafeSettings for a repository of ours that speaks to a remote: keys come from where the settings
// of git's user say, and nothing leads anywhere else. Which protocols there are the environment says.
func RemoteSettings() []string {
	var args []string
	for pair := range slices.Chunk(SafeSettings(), 2) {
		if pair[1] != "credential.helper=" && pair[1] != "protocol.allow=never" {
			args = append(args, pair...)
		}
	}
	return append(args, "-c", "http.followRedirects=false", "-c", "http.lowSpeedLimit=1000", "-c",
		"http.lowSpeedTime=60")
}

// Environ is the whole environment of our git: what it needs to find itself and the
// user's own configuration, which says, for one, whose repositories are safe.
func Environ(environ []string) []string {
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

// Error is a git that ended badly.
type Error struct {
	Code int
	Text string // the first line it wrote about it, for people
	// Said is that line where Text is not: what git says of a stranger's files may hold what stands in them.
	Said string
}

func (e *Error) Error() string { return e.Text }

// Unsaid is the error without git's words: a file of a repository may lead to any other, and git quotes what it does
// not understand. What it says of whose the repository is quotes no file, and stays.
func Unsaid(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || strings.HasPrefix(e.Text, "fatal: detected dubious ownership in repository at ") {
		return err
	}
	return &Error{Code: e.Code, Said: e.Text, Text: "it " + ended(e.Code)}
}

// ended says how git ended.
func ended(code int) string {
	if code < 0 {
		return "was killed by a signal, or for a limit of this process"
	}
	return fmt.Sprintf("ended with exit code %d", code)
}

// Stream runs git and copies its output.
func (g *Runner) Stream(ctx context.Context, out io.Writer, args ...string) error {
	var complaint Capped
	errs := io.Writer(&complaint)
	if g.Err != nil {
		errs = io.MultiWriter(&complaint, g.Err)
	}
	code, err := g.run(ctx, out, errs, args)
	switch {
	case ctx.Err() != nil && (err != nil || code != 0):
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return errors.New("git took too long")
		}
		return ctx.Err()
	case err != nil || code == 0:
		return err
	}
	line := complaintOf(complaint.String())
	if line == "" {
		line = "git " + args[0] + " " + ended(code)
	}
	return &Error{Code: code, Text: line}
}

// unstarted is why git could not be run. The system says the same where git is not there and where the folder is not.
func (g *Runner) unstarted(command string, err error) error {
	if _, lost := os.Stat(g.Dir); g.Dir != "" && errors.Is(lost, fs.ErrNotExist) {
		return goneError(g.Dir)
	}
	return fmt.Errorf("git %s: %w", command, err)
}

// goneError is that of a folder that is not there.
type goneError string

func (e goneError) Error() string { return "the folder " + string(e) + " is not there any more" }

func (e goneError) Is(target error) bool { return target == fs.ErrNotExist }

// complaintOf is the first line that says what is wrong: behind how far git is, which it writes over and over, if it
// was asked to.
func complaintOf(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range lines {
		if strings.HasPrefix(line, "fatal: ") || strings.HasPrefix(line, "error: ") {
			return strings.TrimSpace(line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimSpace(lines[0])
}

// Capped keeps the beginning of what is written to it and takes the rest for nothing, so
// that whoever writes can go on.
type Capped struct {
	Limit int // 0: 64 KB
	Buf   bytes.Buffer
	Cut   bool
}

func (c *Capped) Write(b []byte) (int, error) {
	limit := c.Limit
	if limit == 0 {
		limit = 64 << 10
	}
	room := max(limit-c.Buf.Len(), 0)
	if room < len(b) {
		c.Cut = true
	}
	c.Buf.Write(b[:min(room, len(b))])
	return len(b), nil
}

func (c *Capped) String() string {
	if !c.Cut {
		return c.Buf.String()
	}
	return c.Buf.String() + "\n[cut here]\n"
}
