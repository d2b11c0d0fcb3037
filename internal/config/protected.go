package config

import (
	_ "embed"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed protected.txt
var protectedTable string

// Guard is something that stays as it is.
type Guard struct {
	Glob string // absolute; covers what is below it, whether it exists or not
	// Path is where it is if it has a fixed place, "" if it has none or Glob says it already.
	Path string
	Why  string
}

// Guards are what no command may change, and no mode leaves open: what will run later without
// anybody asking for it, or decides what agents may do. What runs when the project is built or
// tested is not among it, for that is what agents are there to write.
func Guards(project string, d Dirs) []Guard {
	var out []Guard
	fixed := func(path, why string) { out = append(out, Guard{Glob: escapeGlob(path), Path: path, Why: why}) }
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
	for _, p := range protections() {
		name, why := p.name, p.why
		switch {
		case p.section == "home":
			for _, home := range homes {
				path := filepath.Join(home, name)
				// Who begins a session in such a folder means to work on what is in it.
				if !within(project, path) || name == ".claude" || name == ".troupe" || name == ".ssh" {
					fixed(path, why)
				}
			}
		case project == "":
		case p.section == "project":
			out = append(out, Guard{escapeGlob(top) + "/**/" + name, filepath.Join(project, name), why})
		case p.section == "git":
			out = append(out, Guard{Glob: escapeGlob(top) + "/**/.git/" + name, Why: why},
				Guard{Glob: escapeGlob(top) + "/**/.git/modules/**/" + name, Why: why})
			for _, git := range gits {
				out = append(out, Guard{Glob: escapeGlob(git) + "/" + name, Why: why},
					Guard{Glob: escapeGlob(git) + "/modules/**/" + name, Why: why})
			}
		}
	}
	return out
}

// protection is one line of the table.
type protection struct{ section, name, why string }

func protections() []protection {
	var out []protection
	section := ""
	for line := range strings.Lines(protectedTable) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
			continue
		}
		name, why, ok := strings.Cut(line, "  ")
		if ok && !strings.HasPrefix(line, "#") {
			out = append(out, protection{section, name, strings.TrimSpace(why)})
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

// Protected are the globs of Guards, for the gate.
func Protected(project string, d Dirs) []string {
	var out []string
	seen := map[string]bool{}
	for _, g := range Guards(project, d) {
		if !seen[g.Glob] {
			seen[g.Glob] = true
			out = append(out, g.Glob)
		}
	}
	return out
}

// maxModules bounds how many of a repository's submodules are looked at.
const maxModules = 1000

// ProtectedPaths are the paths of Guards as a kernel takes them, whether they exist or not: no
// globs, and besides those that are links what they lead to. Of what has no fixed place, as in
// the folders of submodules, it has what is there now.
func ProtectedPaths(project string, d Dirs) []string {
	var out []string
	for _, g := range Guards(project, d) {
		if g.Path != "" {
			out = append(out, g.Path)
		} else if path, ok := Literal(g.Glob); ok {
			out = append(out, path)
		}
	}
	var gits []string
	if project != "" {
		top := Folders(project)[0]
		gits = gitDirs(top)
		if info, err := os.Lstat(filepath.Join(top, ".git")); err == nil && !info.IsDir() {
			out = append(out, filepath.Join(top, ".git")) // a pointer to where the hooks are
		}
	}
	for _, git := range gits {
		pointers, err := filepath.Glob(escapeGlob(git) + "/worktrees/*")
		if err == nil {
			for _, p := range pointers {
				out = append(out, filepath.Join(p, "config.worktree"), filepath.Join(p, "commondir"),
					filepath.Join(p, "gitdir"))
			}
		}
		for _, module := range modules(filepath.Join(git, "modules")) {
			for _, name := range []string{"hooks", "config", "config.worktree", "info/attributes", "commondir"} {
				out = append(out, filepath.Join(module, name))
			}
		}
	}
	for _, path := range out {
		if _, err := os.Lstat(path); err != nil {
			continue // most are not there
		}
		if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
			out = append(out, target)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
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
