package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// caller is the repository that a workspace borrows from. It may have been prepared by an enemy, and may be another
// agent's: it is asked under our settings, and nothing of it is believed that leads out of it.
type caller struct {
	repo
	top    string // of its work tree
	dir    string // of git there
	format string // of its objects: sha1 or sha256
	head   string // "" before the first commit
	branch string // "" if HEAD is detached
	// settings are its own and the user's; a name has the last value.
	settings map[string]string
	refs     []gitRef
	// patience is how long the locks of other programs there are waited for.
	patience time.Duration
}

// gitRef is one line of a list of refs. Peeled is what a tag of its own leads to.
type gitRef struct{ name, id, peeled string }

// top finds the work tree around a folder: the nearest folder that has a .git; "" if there is none.
func top(from string) string {
	for at := from; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// ErrNoTree: there can be no worktree of a folder, whatever the disk and the names have room for.
var ErrNoTree = errors.New("no worktree")

// ErrNoRepository: the folder is in none.
var ErrNoRepository = fmt.Errorf("%w: no repository", ErrNoTree)

func refused(of, why, hint string) error {
	return &troupe.UserError{Problem: fmt.Sprintf("there can be no worktree of %s: %s", of, why), Hint: hint,
		Err: refusal{ErrNoTree, why}}
}

// refusal is ErrNoTree with the reason alone.
type refusal struct {
	error

	why string
}

// Unwrap implements errors.
func (r refusal) Unwrap() error { return r.error }

// noCaller says the same of a repository that the work of a workspace comes from, and is to go to.
func noCaller(of string, err error) error {
	if why, ok := errors.AsType[refusal](err); ok {
		return &troupe.UserError{Problem: of + " cannot be read as a repository now: " + why.why,
			Hint: "put that right and run this again; what the agent did is kept meanwhile", Err: err}
	}
	return err
}

// copyHint names what works where a worktree does not.
const copyHint = "isolation “copy” works on any folder"

// callerOf looks at the repository whose work tree begins at a folder.
func (k *Keeper) callerOf(ctx context.Context, of string) (*caller, error) {
	ctx, cancel := context.WithTimeout(ctx, lookMost)
	defer cancel()
	if pipe := pipeIn(of); pipe != "" {
		return nil, refused(of, pipe+" is no file, and git would wait for it", copyHint)
	}
	if troupe.Within(of, k.folders) {
		survey(of) // an agent's
	}
	if at := filepath.Join(of, ".git"); isFolder(at) {
		if err := straightGit(at); err != nil {
			return nil, err
		}
	}
	g, err := git.Open(ctx, of, k.environ)
	if err != nil {
		return nil, refused(of, repo{strange: true}.unsaid(err).Error(), copyHint)
	}
	c := &caller{repo: repo{runner: *g, strange: true}, top: of, patience: k.patience}
	out, err := c.out(ctx, "rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-common-dir",
		"--show-object-format", "--show-toplevel")
	lines := strings.Split(out, "\n")
	if err != nil || len(lines) != 4 {
		return nil, refused(of, "git does not take it for a repository with files ("+problem(err)+")", copyHint)
	}
	c.dir, c.common, c.format = lines[0], lines[1], lines[2]
	for _, dir := range []string{c.dir, c.common} {
		if err := straightGit(dir); err != nil {
			return nil, err
		}
	}
	if err := c.leadsBack(ctx, lines[3]); err != nil {
		return nil, err
	}
	c.repo = c.with("GIT_DIR="+c.dir, "GIT_WORK_TREE="+of)
	if err := c.readSettings(ctx); err != nil {
		return nil, err
	}
	return c, c.readRefs(ctx)
}

// lookMost is how long looking at a repository may take.
const lookMost = time.Minute

// pipeIn finds what is neither file, link nor folder where git reads files of a repository.
func pipeIn(of string) string {
	git := filepath.Join(of, ".git")
	if file, err := disk.Read(git, 1<<16); err == nil {
		dir, _ := strings.CutPrefix(strings.TrimSpace(string(file)), "gitdir: ")
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(of, dir)
		}
		git = dir
	}
	odd := ""
	look := func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.IsDir() || e.Type().IsRegular():
		case e.Type()&fs.ModeSymlink == 0:
			odd = path
		default:
			if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
				odd = path
			}
		}
		if odd != "" {
			return fs.SkipAll
		}
		return nil
	}
	entries, err := os.ReadDir(git)
	for _, e := range entries {
		_ = look(filepath.Join(git, e.Name()), e, err)
	}
	for _, name := range []string{"refs", "info", "objects/info", "logs"} {
		if odd == "" {
			_ = filepath.WalkDir(filepath.Join(git, name), look)
		}
	}
	return odd
}

func problem(err error) string {
	if err == nil {
		return "its answer is not understood"
	}
	return err.Error()
}

// leadsBack refuses a .git that stands for the repository of another folder: what is written there would be the
// other's. That of a linked worktree, and that of a submodule, name the folder they belong to.
func (c *caller) leadsBack(ctx context.Context, shown string) error {
	at := filepath.Join(c.top, ".git")
	info, err := os.Lstat(at)
	if err != nil {
		return err
	}
	elsewhere := refused(c.top, "its .git leads to "+c.dir+", which does not lead back to it", copyHint)
	switch {
	case info.IsDir():
		if shown != c.top {
			return refused(c.top, "its core.worktree says that its files are in "+shown, copyHint)
		}
		if c.dir != at || c.common != at { // a plain repository has no other's objects and refs
			return refused(c.top, "its .git says that its objects and refs are in "+c.common, copyHint)
		}
		return nil
	case !info.Mode().IsRegular():
		return elsewhere
	case c.dir == c.common:
		// core.worktree is what names the folder; git shows it, but for it the folder itself.
		g := c.repo
		g.runner.Settings = nil
		tree, err := g.with("GIT_DIR="+c.dir).out(ctx, "config", "--local", "core.worktree")
		if err != nil {
			return elsewhere
		}
		if !filepath.IsAbs(tree) {
			tree = filepath.Join(c.dir, tree)
		}
		if real, err := filepath.EvalSymlinks(tree); err != nil || real != c.top {
			return elsewhere
		}
		return nil
	}
	back, err := disk.Read(filepath.Join(c.dir, "gitdir"), 1<<16)
	if err != nil {
		return elsewhere
	}
	of := strings.TrimSpace(string(back))
	if !filepath.IsAbs(of) {
		of = filepath.Join(c.dir, of)
	}
	if real, err := filepath.EvalSymlinks(of); err != nil || real != at {
		return elsewhere
	}
	return nil
}

func (c *caller) readSettings(ctx context.Context) error {
	g := c.repo
	g.runner.Settings = nil // ours would be listed as the last
	list, err := g.out(ctx, "config", "--null", "--list")
	if err != nil {
		return err
	}
	c.settings = map[string]string{}
	for _, entry := range fields(list) {
		name, value, ok := strings.Cut(entry, "\n")
		if !ok {
			value = "true"
		}
		c.settings[name] = value
	}
	for _, name := range []string{"core.excludesfile", "core.attributesfile"} {
		if rest, ok := strings.CutPrefix(c.settings[name], "~/"); ok {
			c.settings[name] = filepath.Join(homeOf(c.runner.Env), rest)
		}
	}
	if home := homeOf(c.runner.Env); c.settings["core.attributesfile"] == "" && home != "" { // git's own default
		at := cmp.Or(variable(c.runner.Env, "XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
		c.settings["core.attributesfile"] = filepath.Join(at, "git", "attributes")
	}
	return nil
}

func homeOf(environ []string) string { return variable(environ, "HOME") }

func variable(environ []string, name string) string {
	for _, kv := range environ {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// readRefs lists branches and tags, and what HEAD is.
func (c *caller) readRefs(ctx context.Context) error {
	list, err := c.out(ctx, "show-ref", "--head", "--dereference")
	if err != nil && !exited(err, 1) {
		return err
	}
	for line := range strings.Lines(list) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "HEAD" {
			c.head = id
			continue
		}
		if tag, ok := strings.CutSuffix(name, "^{}"); ok {
			if last := len(c.refs) - 1; last >= 0 && c.refs[last].name == tag {
				c.refs[last].peeled = id
			}
			continue
		}
		if name != "" {
			c.refs = append(c.refs, gitRef{name: name, id: id})
		}
	}
	branch, err := c.out(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil && !exited(err, 1) {
		return err
	}
	c.branch = strings.TrimPrefix(branch, "refs/heads/")
	return nil
}

// has reports whether it has the ref, at that place.
func (c *caller) has(ref gitRef) bool {
	return slices.ContainsFunc(c.refs, func(r gitRef) bool { return r.name == ref.name && r.id == ref.id })
}

// stores are the folders of its objects, and of those that it borrows from in turn.
func (c *caller) stores() ([]string, error) { return stores(filepath.Join(c.common, "objects"), nil) }

// lent refuses a repository that borrows objects from one that no agent of the workspace may read: the keeper has its
// user's rights, and would give them to the agent as files.
func lent(ctx context.Context, p place, c *caller) error {
	if c == nil || p.k.reading == nil {
		return nil
	}
	list, err := c.stores()
	if err != nil || len(list) < 2 { // the first is its own
		return err
	}
	how, err := p.k.reading(ctx, p.ws, p.repo)
	if err != nil {
		return err
	}
	for _, store := range list[1:] {
		for _, at := range []string{store, real(store)} {
			if troupe.WithinAny(at, how.Hidden) ||
				slices.ContainsFunc(how.Hidden, func(h string) bool { return troupe.Within(h, at) }) {
				return refused(c.top, "it borrows objects from "+store+", which agents may not read", copyHint)
			}
		}
	}
	return nil
}

// real is a path without links, or the path itself where that cannot be known.
func real(path string) string {
	if at, err := filepath.EvalSymlinks(path); err == nil {
		return at
	}
	return path
}

// storesMost bounds what a repository borrows from: alternates may lead in circles, or through thousands.
const storesMost = 64

func stores(objects string, known []string) ([]string, error) {
	if slices.Contains(known, objects) {
		return known, nil
	}
	if strings.ContainsAny(objects, "\n\"") || strings.HasPrefix(objects, "#") {
		return nil, fmt.Errorf("git cannot borrow objects from %q", objects)
	}
	if len(known) == storesMost {
		return nil, errors.New("it borrows objects from too many repositories")
	}
	if info, err := os.Stat(objects); err != nil || !info.IsDir() {
		return known, nil // git says so at each call, and goes on
	}
	known = append(known, objects)
	list, err := disk.Read(filepath.Join(objects, "info", "alternates"), 1<<20)
	if errors.Is(err, os.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '"' {
			return nil, fmt.Errorf("it borrows objects from %s, a name that is not understood", line)
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(objects, line)
		}
		if known, err = stores(filepath.Clean(line), known); err != nil {
			return nil, err
		}
	}
	return known, nil
}
