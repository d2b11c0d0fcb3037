package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// Changes lists the files, absolute, that a command of git would change in the work tree, as far as the
// repository tells before it runs: args are git's command and what follows it. Where what it leads to cannot be
// known (a pull, a patch), any tracked file may be changed, and they are all listed; so they are if there are no
// args, and known is false. Input is a file that the command reads, "" if that is not known. It runs git with
// everything switched off that the repository could have it run. Nothing is listed outside of a repository.
func Changes(ctx context.Context, dir, input string, environ, args []string) (names []string, known bool, err error) {
	top, ok := repositoryTop(dir)
	if !ok {
		return nil, true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, gitDeadline)
	defer cancel()
	g, err := git.Open(ctx, top, environ)
	if err != nil {
		return nil, false, err
	}
	ask := func(out *git.Capped, args ...string) error { return g.Stream(ctx, out, args...) }
	c := changed{ask: ask, top: top, dir: dir, input: input, seen: map[string]bool{}}
	if known = len(args) > 0 && c.command(args[0], args[1:]) && c.err == nil; !known {
		c.err = nil
		c.list("ls-files", "-z")
	}
	return c.names, known, c.err
}

// Alias is what an alias of git's stands for; nil if there is none, or if it has a shell run.
func Alias(ctx context.Context, dir string, environ []string, name string) []string {
	ctx, cancel := context.WithTimeout(ctx, gitDeadline)
	defer cancel()
	var out git.Capped
	g, err := git.Open(ctx, dir, environ)
	if err != nil || g.Stream(ctx, &out, "config", "--get", "alias."+name) != nil ||
		strings.HasPrefix(out.String(), "!") {
		return nil
	}
	return strings.Fields(out.String())
}

// changed gathers names, each once.
type changed struct {
	ask   func(out *git.Capped, args ...string) error // git
	top   string
	dir   string // where it runs
	input string // what it reads
	seen  map[string]bool
	names []string
	err   error
}

// command lists what one command of git changes. It reports whether that can be known.
func (c *changed) command(name string, args []string) bool {
	commits := c.commits(name, args)
	switch name {
	case "am", "apply":
		return c.patches(args)
	case "checkout", "switch", "reset", "restore":
		for _, commit := range commits {
			c.diff("HEAD", commit)
		}
		// What was changed and not committed may go back to what it was, by many options and what stands for them.
		c.diff("HEAD")
		return true
	case "merge":
		for _, commit := range commits {
			c.diff("HEAD..." + commit)
		}
		return len(commits) > 0
	case "rebase":
		for _, commit := range commits {
			c.diff("HEAD", commit)
			c.diff(commit + "...HEAD")
		}
		if slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "-x") || strings.HasPrefix(a, "--exec")
		}) {
			c.ownFile("rebase-merge/git-rebase-todo") // it would be there with lines that run something
		}
		return len(commits) > 0
	case "remote":
		c.ownFile("config")
		return true
	case "cherry-pick", "revert":
		for _, commit := range commits {
			c.diff(commit+"^", commit)
		}
		return len(commits) > 0
	case "stash":
		c.diff("HEAD")
		if len(args) > 0 && (args[0] == "pop" || args[0] == "apply") {
			commit := "stash@{0}"
			if len(commits) > 0 {
				commit = commits[0]
			}
			// There may be none, and it may hold no untracked files.
			c.perhaps(func() { c.diff(commit+"^1", commit) })
			c.perhaps(func() { c.list("ls-tree", "-r", "-z", "--name-only", commit+"^3") })
		}
		return true
	}
	return false
}

// patches lists what patches change. It reports whether they can be read by now.
func (c *changed) patches(args []string) bool {
	options, files := []string{"apply", "--numstat", "-z"}, []string{}
	for _, a := range args {
		switch {
		case strings.HasPrefix(a, "-p"), strings.HasPrefix(a, "--directory="):
			options = append(options, a)
		case strings.HasPrefix(a, "-"):
		case filepath.IsAbs(a):
			files = append(files, a)
		default:
			files = append(files, filepath.Join(c.dir, a))
		}
	}
	if len(files) == 0 && c.input != "" {
		files = append(files, c.input)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	if len(files) > 0 {
		c.lines(numbered, append(append(options, "--"), files...)...)
	}
	return len(files) > 0
}

// numbered is the name in a line that begins with how many lines are added and removed.
func numbered(line string) string {
	parts := strings.SplitN(line, "\t", 3)
	return parts[len(parts)-1]
}

// perhaps looks at what git may not know: then there is nothing to see. Any other error stays.
func (c *changed) perhaps(look func()) {
	before := c.err
	look()
	if _, unknown := errors.AsType[*git.Error](c.err); unknown {
		c.err = before
	}
}

// ownFile adds a file of the repository's own.
func (c *changed) ownFile(name string) {
	out := git.Capped{Limit: 64 << 10}
	if err := c.ask(&out, "rev-parse", "--git-path", name); err != nil {
		c.err = err
		return
	}
	if name = strings.TrimSpace(out.Buf.String()); !filepath.IsAbs(name) {
		name = filepath.Join(c.top, name)
	}
	c.names = append(c.names, name)
}

// commits are those of the arguments that name one.
func (c *changed) commits(name string, args []string) []string {
	var out []string
	for _, a := range args {
		if a == "--" {
			break
		}
		switch value, source := strings.CutPrefix(a, "--source="); {
		case source:
			a = value
		case a == "-":
			a = "@{-1}"
		}
		if strings.HasPrefix(a, "-") || name == "restore" && !strings.Contains(strings.Join(args, " "), "-s") {
			continue
		}
		var id git.Capped
		switch {
		case c.ask(&id, "rev-parse", "--verify", "--quiet", "--end-of-options", a+"^{commit}") == nil:
		case name != "checkout" && name != "switch":
			continue
		// it would be made of that
		case c.ask(&id, "for-each-ref", "--format=%(objectname)", "refs/remotes/*/"+a) != nil:
			continue
		}
		out = append(out, strings.Fields(id.String())...)
	}
	if upstream := (git.Capped{}); len(out) == 0 && (name == "merge" || name == "rebase") && !slices.ContainsFunc(args,
		func(a string) bool { return a == "--continue" || a == "--skip" }) &&
		c.ask(&upstream, "rev-parse", "--verify", "--quiet", "@{upstream}^{commit}") == nil {
		out = strings.Fields(upstream.String())
	}
	return out
}

func (c *changed) diff(what ...string) {
	// It is to look only: by itself git diff writes the index anew, whatever GIT_OPTIONAL_LOCKS says.
	// Without that it takes each file whose times are new for changed, and only counting lines looks at content.
	show, name := "--name-only", func(line string) string { return line }
	if len(what) == 1 && !strings.Contains(what[0], "...") {
		show, name = "--numstat", numbered
	}
	c.lines(name, append([]string{"-c", "diff.autoRefreshIndex=false", "diff", show, "--no-renames", "--no-ext-diff",
		"--no-textconv", "-z"},
		append(what, "--")...)...)
}

// list adds the names that git prints, each ended by a NUL.
func (c *changed) list(args ...string) { c.lines(func(line string) string { return line }, args...) }

// lines does so where the name is a part of what is printed.
func (c *changed) lines(nameIn func(line string) string, args ...string) {
	out := git.Capped{Limit: 32 << 20}
	if err := c.ask(&out, args...); err != nil {
		c.err = err
		return
	}
	if out.Cut {
		c.err = errors.New("git names more files than can be looked at")
	}
	for line := range strings.SplitSeq(out.Buf.String(), "\x00") {
		if name := nameIn(line); name != "" && !c.seen[name] {
			c.seen[name] = true
			c.names = append(c.names, filepath.Join(c.top, name))
		}
	}
}
