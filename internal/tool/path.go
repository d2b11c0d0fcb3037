package tool

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
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
// and so says where a read or a write really goes. Where a file system takes several names
// for one, by letter case or the way a character is written, the name is the one the folder
// lists, so that a rule about a file holds however a call spells it. Parts that do not exist
// yet are kept as they are; so is everything after a part that cannot be looked at.
func Resolve(path string) string { return disk{os.Lstat, os.ReadDir, listsAll()}.resolve(path) }

// disk is how a file system is asked for names.
type disk struct {
	lstat func(path string) (os.FileInfo, error)
	list  func(path string) ([]os.DirEntry, error)
	// folds: several names for one file are the rule here, so that it is not asked for first.
	folds bool
}

func listsAll() bool {
	return runtime.GOOS == "darwin" || runtime.GOOS == "ios" || runtime.GOOS == "windows"
}

func (d disk) resolve(path string) string {
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
		info, err := d.lstat(next)
		if err == nil && info.Mode()&os.ModeSymlink == 0 {
			next = filepath.Join(done, d.listed(done, part, info))
		}
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

// listed is the name by which folder has the entry that name leads to. Most file systems have
// one name for a file, which is found out with one look for the name in other letters.
func (d disk) listed(folder, name string, info os.FileInfo) string {
	if !d.folds {
		other := swapCase(name)
		if other == name {
			return name
		}
		if twin, err := d.lstat(filepath.Join(folder, other)); err != nil || !os.SameFile(info, twin) {
			return name
		}
	}
	entries, err := d.list(folder)
	if err != nil {
		return name
	}
	same := func(e os.DirEntry) bool {
		i, err := e.Info()
		return err == nil && os.SameFile(info, i)
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name }) {
		return name
	}
	at := slices.IndexFunc(entries, func(e os.DirEntry) bool { return strings.EqualFold(e.Name(), name) && same(e) })
	if at < 0 {
		at = slices.IndexFunc(entries, same) // written with other characters, or a short name
	}
	if at < 0 {
		return name
	}
	return entries[at].Name()
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if l := unicode.ToLower(r); l != r {
			return l
		}
		return unicode.ToUpper(r)
	}, s)
}

// Touched lists what a call that names path would touch: the path, and where it leads if
// that is somewhere else. A rule about either must hold.
func Touched(path string) []string {
	if real := Resolve(path); real != path {
		return []string{path, real}
	}
	return []string{path}
}
