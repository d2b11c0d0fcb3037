package tool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Abs makes a path a model wrote absolute and clean: relative ones are taken from the
// session's folder, and a leading ~/ from the home its commands would see.
func (e Env) Abs(path string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if home := e.lookup("HOME"); home != "" {
			path = home + path[1:]
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.Cwd, path)
	}
	return filepath.Clean(path)
}

func (e Env) lookup(name string) string {
	for _, kv := range slices.Backward(e.Environ) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// Rel shortens an absolute path for display: relative if it lies in the session's folder.
func (e Env) Rel(path string) string {
	rel, err := filepath.Rel(e.Cwd, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return rel
}

// maxLinks is how many symbolic links one path may lead through, as in the kernel.
const maxLinks = 40

// Resolve follows every symbolic link of an absolute, cleaned path, the last part's too,
// and so says where a read or a write really goes. Parts that do not exist yet are kept as
// they are; so is everything after a part that cannot be looked at.
func Resolve(path string) string {
	const sep = string(filepath.Separator)
	done := filepath.VolumeName(path) + sep
	rest := strings.Split(strings.Trim(path[len(done)-1:], sep), sep)
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, part)
		info, err := os.Lstat(next)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			done = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil || links == maxLinks {
			return filepath.Join(append([]string{next}, rest...)...)
		}
		links++
		if filepath.IsAbs(target) {
			done = filepath.VolumeName(target) + sep
		}
		rest = append(strings.Split(target, sep), rest...)
	}
	return done
}

// Touched lists what a call that names path would touch: the path, and where it leads if
// that is somewhere else. A rule about either must hold.
func Touched(path string) []string {
	if real := Resolve(path); real != path {
		return []string{path, real}
	}
	return []string{path}
}
