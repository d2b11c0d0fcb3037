package config

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config/gitconfig"
	"github.com/troupe-dev/troupe/internal/disk"
)

// maxSteps bounds how many links, or files that include others, are followed.
const maxSteps = 20

const whyLinked = "a protected link leads here"

// indirect calls add with the places in a project that what is protected leads to: links, one step after another, and
// what the repository's own configs name, or the user's. Who may write those decides what runs, as with a hook itself.
func indirect(top string, homes, gits, protected []string, add func(path, why string)) {
	inside := func(path, why string) {
		if path != top && troupe.Within(path, top) {
			add(path, why)
		}
	}
	for _, path := range slices.Clone(protected) { // what lies in folders of hooks, such as .husky
		protected = append(protected, entriesOf(path)[1:]...)
	}
	for _, n := range configsOf(top, homes, gits) {
		n.read()
		for _, place := range n.places {
			inside(place.path, place.why)
			protected = append(protected, entriesOf(place.path)...)
		}
		if n.unknown {
			add(top, n.whose+" cannot be read for certain, and it may name any file as a hook; look at it with "+
				"git config --list")
		}
	}
	for _, git := range gits {
		protected = append(protected, entriesOf(filepath.Join(git, "hooks"))...)
	}
	for _, file := range strategies(top, gits) {
		inside(file, "it may have git run a program of a folder git-merge-*")
	}
	for _, folder := range []string{".husky/_", ".claude", ".claude/agents", ".claude/commands", ".claude/skills",
		".claude/output-styles", ".troupe", ".troupe/agents", ".troupe/output-styles", ".agents", ".agents/subagents"} {
		protected = append(protected, entriesOf(filepath.Join(top, folder))...)
	}
	for _, path := range protected {
		for range maxSteps {
			target, err := os.Readlink(path)
			if err != nil {
				break
			}
			path = rebase(filepath.Dir(path), target)
			inside(path, whyLinked)
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			inside(real, whyLinked)
		}
	}
}

// strategies are the files in which a rebase or a cherry-pick that is under way names its way to merge, if there is a
// folder git-merge-* in the work tree: git runs git-merge-x/y for x/y, also if y leads out of it again. None is made
// there unasked; this is for one that the repository brings.
func strategies(top string, gits []string) (files []string) {
	folders, err := filepath.Glob(disk.Pattern(top) + "/git-merge-*")
	if err != nil || !slices.ContainsFunc(folders, func(f string) bool {
		info, err := os.Stat(f)
		return err == nil && info.IsDir()
	}) {
		return nil
	}
	for _, git := range gits {
		trees, err := filepath.Glob(disk.Pattern(git) + "/worktrees/*")
		if err != nil {
			trees = nil
		}
		for _, dir := range append(trees, git) {
			files = append(files, filepath.Join(dir, "rebase-merge", "strategy"),
				filepath.Join(dir, "sequencer", "opts"))
		}
	}
	return files
}

func entriesOf(folder string) []string {
	out := []string{folder}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return out
	}
	for _, e := range entries {
		out = append(out, filepath.Join(folder, e.Name()))
	}
	return out
}

// named is what some configs of git name, that belong together.
type named struct {
	files   []string
	whose   string
	git     string   // the repository's folder
	home    string   // what ~ stands for
	bases   []string // work trees: git looks for hooks from there
	hooks   []string // as they are written
	places  []place
	unknown bool // there may be more
	entries []gitconfig.Entry
}

type place struct{ path, why string }

// configsOf are the configs of the repository that has a work tree in top, of its submodules, and of the user.
func configsOf(top string, homes, gits []string) []*named {
	var out []*named
	for _, home := range homes {
		out = append(out, &named{whose: "your config of git", git: top, home: home, bases: []string{top},
			files: []string{
				filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config", "git", "config")}})
	}
	for _, git := range gits {
		for _, dir := range append(modules(filepath.Join(git, "modules")), git) {
			n := &named{whose: "the repository's config", git: dir, files: []string{filepath.Join(dir, "config"),
				filepath.Join(dir, "config.worktree")}}
			if len(homes) > 0 {
				n.home = homes[0]
			}
			if dir == git {
				n.bases = []string{top}
			}
			out = append(out, n)
		}
	}
	return out
}

// BesideGit reads the settings of git that hold beside a repository's own, with all that they include: the machine's
// and the user's, at each place where a git looks for them.
func BesideGit(home string, lookup func(name string) (value string, ok bool)) gitconfig.Beside {
	n := named{home: home, files: []string{"/etc/gitconfig", "/usr/local/etc/gitconfig"}}
	for _, name := range []string{"GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"} {
		if file, _ := lookup(name); filepath.IsAbs(file) {
			n.files = append(n.files, file)
		}
	}
	if folder, _ := lookup("XDG_CONFIG_HOME"); filepath.IsAbs(folder) {
		n.files = append(n.files, filepath.Join(folder, "git/config"))
	}
	if home != "" {
		n.files = append(n.files, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config/git/config"))
	}
	for _, file := range n.files {
		n.file(file, maxSteps)
	}
	return gitconfig.Beside{Entries: n.entries, Unsure: n.unknown}
}

// read reads the configs as git does.
func (n *named) read() {
	for _, file := range n.files {
		n.file(file, maxSteps)
	}
	if len(n.bases) == 0 {
		n.bases = []string{n.git}
	}
	for _, hooks := range n.hooks {
		for _, base := range n.bases {
			n.hooksIn(base, n.resolve(base, hooks))
		}
	}
}

// hooksIn adds a folder of hooks. If that is all of the project, it is not protected whole.
func (n *named) hooksIn(base, folder string) {
	why := "git runs these: " + n.whose + " says so"
	if !troupe.Within(base, folder) {
		n.places = append(n.places, place{folder, why})
		return
	}
	for _, hook := range gitHooks() {
		n.places = append(n.places, place{filepath.Join(folder, hook), why})
	}
}

// gitHooks are the names of all hooks, https://git-scm.com/docs/githooks.
func gitHooks() []string {
	return strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg
		commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive
		post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite
		sendemail-validate fsmonitor-watchman p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit
		post-index-change`)
}

// file reads a config and those that it includes, on whatever condition.
func (n *named) file(path string, steps int) {
	text, info, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), path == os.DevNull:
		return
	case err != nil, steps == 0, info.Size() > maxSettings, len(text) > maxSettings:
		n.unknown = true
		return
	}
	entries, ok := gitconfig.Parse(text)
	n.unknown = n.unknown || !ok
	n.entries = append(n.entries, entries...)
	for _, e := range entries {
		section := e.Section()
		switch {
		case e.Value == "":
		case e.Key == "include.path", section == "includeif" && e.Name() == "path":
			for _, value := range readings(e.Value) {
				included := n.resolve(filepath.Dir(path), value)
				n.places = append(n.places, place{included, n.whose + " includes it"})
				n.file(included, steps-1)
			}
		case e.Key == "core.hookspath":
			n.hooks = append(n.hooks, readings(e.Value)...)
		case e.Key == "core.worktree":
			n.bases = append(n.bases, n.resolve(n.git, e.Value))
		}
	}
}

// readings are how versions of git read a value with blanks in it.
func readings(value string) []string {
	other := strings.NewReplacer("\t", " ", "\r", " ").Replace(value)
	return slices.Compact([]string{value, other})
}

// resolve reads a path as git does in its config.
func (n *named) resolve(base, path string) string {
	path = strings.TrimPrefix(path, ":(optional)")
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		name, rest, _ := strings.Cut(rest, "/")
		home := n.home
		if name != "" {
			other, err := user.Lookup(name)
			if err != nil {
				return rebase(base, path)
			}
			home = other.HomeDir
		}
		return rebase(home, rest)
	}
	return rebase(base, path)
}
