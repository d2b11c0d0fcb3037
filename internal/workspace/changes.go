package workspace

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// Changes lists the files, absolute, that a command of git would change in the work tree, as far as the
// repository tells before it runs: args are git's command and what follows it. Where what it leads to cannot be
// known (a pull, a patch), any tracked file may be changed, and they are all listed; so they are if there are no
// args. It runs git with everything switched off that the repository could have it run. Nothing is listed outside of
// a repository.
func Changes(ctx context.Context, dir string, environ, args []string) ([]string, error) {
	top, ok := repositoryTop(dir)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, gitDeadline)
	defer cancel()
	g, err := git.Open(ctx, top, environ)
	if err != nil {
		return nil, err
	}
	ask := func(out *git.Capped, args ...string) error { return g.Stream(ctx, out, args...) }
	c := changed{ask: ask, top: top, seen: map[string]bool{}}
	if len(args) == 0 || !c.command(args[0], args[1:]) || c.err != nil {
		c.err = nil
		c.list("ls-files", "-z")
	}
	return c.names, c.err
}

// changed gathers names, each once.
type changed struct {
	ask   func(out *git.Capped, args ...string) error // git
	top   string
	seen  map[string]bool
	names []string
	err   error
}

// command lists what one command of git changes. It reports whether that can be known.
func (c *changed) command(name string, args []string) bool {
	commits := c.commits(name, args)
	switch name {
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
		if c.ask(&id, "rev-parse", "--verify", "--quiet", "--end-of-options", a+"^{commit}") == nil {
			out = append(out, strings.TrimSpace(id.String()))
		}
	}
	return out
}

func (c *changed) diff(what ...string) {
	// It is to look only: by itself git diff writes the index anew, whatever GIT_OPTIONAL_LOCKS says.
	// Without that it takes each file whose times are new for changed, and only counting lines looks at content.
	show, name := "--name-only", func(line string) string { return line }
	if len(what) == 1 && !strings.Contains(what[0], "...") {
		show, name = "--numstat", func(line string) string { // added, removed and the name
			parts := strings.SplitN(line, "\t", 3)
			return parts[len(parts)-1]
		}
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
