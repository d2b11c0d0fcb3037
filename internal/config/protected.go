package config

import (
	_ "embed"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

//go:embed protected.txt
var protectedTable string

// Guard is something that stays as it is.
type Guard struct {
	Glob string // absolute; covers what is below it, whether it exists or not
	// Path is where it is if it has a fixed place, "" if it has none or Glob says it already.
	Path string
	Why  string
	// Judged: it changes day by day, and each change is judged by what it is to hold.
	Judged bool
}

// Protection is what no command and no tool may change, and no mode leaves open: what will run later without
// being asked for, or decides what agents may do. What runs when the project is built or tested is not
// among it, for that is what agents are there to write. Gate and kernel ask the same value: the gate by
// its Globs and PartOfGit, the kernel by Covers. It does not change, and is safe for concurrent use.
type Protection struct {
	guards  []Guard
	globs   []string // of guards, each once: the gate asks for them at every call
	folders []string
	matcher
	denied matcher // what settings add
	// judged are those that each change of is judged, lasting all others.
	judged, lasting matcher
}

// Protect says what stays as it is for sessions that work in these folders, which are absolute and resolved.
// deny are the globs that settings add (Sandbox.DenyWrite), run are files that run by themselves, as hooks do.
func Protect(folders []string, d Dirs, deny []string, run ...string) *Protection {
	p := &Protection{folders: folders}
	seen := map[Guard]bool{}
	add := func(g Guard) {
		if !seen[g] {
			seen[g] = true
			p.guards = append(p.guards, g)
		}
	}
	for _, folder := range folders {
		guards(folder, d, add)
	}
	for _, named := range run {
		for _, path := range resolved(named) {
			add(Guard{Glob: disk.Pattern(path), Path: path,
				Why: "a hook names it, and hooks run outside of the sandbox"})
		}
	}
	builtin := len(p.guards)
	for _, glob := range deny {
		// Written so that whoever reads it reads the same.
		add(Guard{Glob: globOf(segments(glob)), Why: "sandbox.deny_write in settings"})
	}
	p.globs = make([]string, 0, len(p.guards))
	once := map[string]bool{}
	for _, g := range p.guards {
		if !once[g.Glob] {
			once[g.Glob] = true
			p.globs = append(p.globs, g.Glob)
		}
	}
	p.matcher, p.denied = newMatcher(p.guards), newMatcher(p.guards[builtin:])
	isJudged := func(g Guard) bool { return g.Judged }
	p.lasting = newMatcher(slices.DeleteFunc(slices.Clone(p.guards), isJudged))
	p.judged = newMatcher(slices.DeleteFunc(slices.Clone(p.guards), func(g Guard) bool { return !isJudged(g) }))
	return p
}

// Config reports whether a path is a repository's config, which git itself changes day by day, and which nothing but
// the table protects.
func (p *Protection) Config(path string) bool {
	if filepath.Base(path) != "config" || filepath.Base(filepath.Dir(path)) != ".git" {
		return false
	}
	return p.Denied(path) == ""
}

// Unfinished reports whether a path is the list of what a rebase has still to do, and nothing else protects it.
func (p *Protection) Unfinished(path string) bool {
	path = fold(path)
	_, judged := p.judged.matches(path)
	_, lasting := p.lasting.matches(path)
	return judged && !lasting
}

// Denied says why a path is one that sandbox.deny_write names, "" if it is not. No leave for a command opens it.
func (p *Protection) Denied(path string) (why string) {
	why, _ = p.denied.matches(fold(path))
	return why
}

// guards lists what stays as it is for one folder.
func guards(project string, d Dirs, add func(Guard)) {
	fixed := func(path, why string) { add(Guard{Glob: disk.Pattern(path), Path: path, Why: why}) }
	for _, dir := range []string{d.Config, d.Data, d.Run} {
		if dir != "" {
			fixed(dir, "Troupe's own settings and sessions")
		}
	}
	// In a folder of a repository what the repository's root has counts too.
	top := project
	if project != "" {
		top = Folders(project)[0]
	}
	gits, homes := gitDirs(top), resolved(d.Home)
	// A folder of that name counts whatever is left in it: who takes its HEAD away for a moment
	// must not find its hooks open.
	if own := filepath.Join(top, ".git"); project != "" && !slices.Contains(gits, own) {
		if info, err := os.Lstat(own); err == nil && info.IsDir() {
			gits = append(gits, own)
		}
	}
	var own []string
	for _, e := range protectedEntries() {
		name, why := e.name, e.why
		switch {
		case e.section == "home":
			for _, home := range homes {
				path := filepath.Join(home, name)
				// Who begins a session in such a folder means to work on what is in it.
				if !troupe.Within(project, path) || name == ".claude" || name == ".troupe" || name == ".ssh" {
					fixed(path, why)
				}
			}
		case project == "":
		case e.section == "project":
			if strings.Contains(name, "*") {
				add(Guard{Glob: disk.Pattern(top) + "/**/" + name, Why: why})
				continue
			}
			add(Guard{Glob: disk.Pattern(top) + "/**/" + name, Path: filepath.Join(project, name), Why: why})
			own = append(own, filepath.Join(top, name))
		default: // of git
			judged := e.section == "unfinished"
			for _, git := range append([]string{"/**/.git"}, escaped(gits)...) {
				add(Guard{Glob: git + "/" + name, Why: why, Judged: judged})
				add(Guard{Glob: git + "/modules/**/" + name, Why: why, Judged: judged})
			}
		}
	}
	if project != "" {
		indirect(top, homes, gits, own, fixed)
	}
}

func escaped(paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, path := range paths {
		out = append(out, disk.Pattern(path))
	}
	return out
}

// entry is one line of the table.
type entry struct{ section, name, why string }

func protectedEntries() []entry {
	var out []entry
	section := ""
	for line := range strings.Lines(protectedTable) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
			continue
		}
		name, why, ok := strings.Cut(line, "  ")
		if ok && !strings.HasPrefix(line, "#") {
			out = append(out, entry{section, name, strings.TrimSpace(why)})
		}
	}
	return out
}

// resolved is a folder and, if a link leads to it, where it really is.
func resolved(dir string) []string {
	if dir == "" {
		return nil
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		return []string{dir, real}
	}
	return []string{dir}
}

// Guards are all that is protected by its name, for people.
func (p *Protection) Guards() []Guard { return slices.Clone(p.guards) }

// Globs are the globs of Guards, for the gate. They are shared: a caller changes none of them.
func (p *Protection) Globs() []string { return slices.Clip(p.globs) }

// maxModules bounds how many of a repository's submodules are looked at.
const maxModules = 1000

// Paths are those of the protected places that have a fixed place, whether they exist or not: no globs,
// and besides those that are links what they lead to. Of what has no fixed place, as in the folders
// of submodules, it has what is there now; InProject has the rest.
func (p *Protection) Paths() []string {
	var out []string
	for _, g := range p.guards {
		if g.Path != "" {
			out = append(out, g.Path)
		} else if path, ok := Literal(g.Glob); ok && !g.Judged {
			out = append(out, path)
		}
	}
	for _, folder := range p.folders {
		if folder != "" {
			out = append(out, gitPaths(Folders(folder)[0])...)
		}
	}
	return withTargets(out)
}

// withTargets adds where links lead, and sorts.
func withTargets(paths []string) []string {
	for _, path := range paths {
		if _, err := os.Lstat(path); err != nil {
			continue // most are not there
		}
		if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
			paths = append(paths, target)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// gitPaths are what is protected of the repository whose work tree top is, and has no fixed place.
func gitPaths(top string) []string {
	var out []string
	if info, err := os.Lstat(filepath.Join(top, ".git")); err == nil && !info.IsDir() {
		out = append(out, filepath.Join(top, ".git")) // a pointer to where the hooks are
	}
	for _, git := range gitDirs(top) {
		out = append(out, insideGit(git)...)
	}
	return out
}

// insideGit are the folders of work trees and submodules in a git folder.
func insideGit(git string) []string {
	var out []string
	pointers, err := filepath.Glob(disk.Pattern(git) + "/worktrees/*")
	if err == nil {
		for _, p := range pointers {
			out = append(out, filepath.Join(p, "config.worktree"), filepath.Join(p, "commondir"),
				filepath.Join(p, "gitdir"))
		}
	}
	for _, module := range modules(filepath.Join(git, "modules")) {
		out = append(out, repositoryPaths(module)...)
	}
	return out
}

// repositoryPaths are what is protected of a repository's own folder.
func repositoryPaths(git string) []string {
	var out []string
	for _, name := range []string{"hooks", "config", "config.worktree", "info/attributes", "commondir", "remotes",
		"branches"} {
		out = append(out, filepath.Join(git, name))
	}
	return out
}

// modules finds the repositories of submodules, which may lie within each other.
func modules(dir string) []string {
	var out []string
	left := maxModules
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if left--; err != nil || left < 0 {
			return fs.SkipAll
		}
		if !e.IsDir() {
			return nil
		}
		if name := e.Name(); name == "objects" || name == "refs" || name == "logs" || name == "hooks" ||
			name == "info" {
			return fs.SkipDir
		}
		if _, err := os.Lstat(filepath.Join(path, "HEAD")); err == nil {
			out = append(out, path)
		}
		return nil
	})
	return out
}

// InProject walks the folders for what is protected at places that only looking finds, up to a number of names,
// for kernels on which nothing asks Covers: settings and repositories in folders further down. whole is
// false if there are more.
func (p *Protection) InProject(most int) (paths []string, whole bool) {
	whole = true
	for _, folder := range p.folders {
		if folder == "" {
			continue
		}
		err := filepath.WalkDir(Folders(folder)[0], func(path string, e fs.DirEntry, err error) error {
			if most--; err != nil || most < 0 {
				whole = whole && err == nil && most >= 0
				if most < 0 {
					return fs.SkipAll
				}
				return nil
			}
			switch name := e.Name(); {
			case strings.EqualFold(name, ".git") && e.IsDir():
				paths = append(append(paths, repositoryPaths(path)...), insideGit(path)...)
				return fs.SkipDir
			case !p.coversExisting(path):
				return nil
			}
			paths = append(paths, path)
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
		whole = whole && err == nil
	}
	return withTargets(paths), whole
}

func (p *Protection) coversExisting(path string) bool {
	_, covered := p.Covers(path)
	return covered
}
