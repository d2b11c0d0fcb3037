package sandbox

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe"
)

// resolved is a path with its symbolic links followed as far as it exists.
func resolved(path string) string {
	path = filepath.Clean(path)
	rest := ""
	for p := path; ; {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest)
		}
		if info, err := os.Lstat(p); err == nil && info.Mode()&os.ModeSymlink != 0 {
			// A link to what is not there. What it names is what a command would make.
			if target, err := os.Readlink(p); err == nil && len(rest) < 4096 {
				if !filepath.IsAbs(target) {
					target = filepath.Join(filepath.Dir(p), target)
				}
				if target != p && !troupe.Within(target, p) {
					return filepath.Join(lexical(target), rest)
				}
			}
			return filepath.Join(p, rest)
		}
		up := filepath.Dir(p)
		if up == p {
			return path
		}
		rest = filepath.Join(filepath.Base(p), rest)
		p = up
	}
}

// lexical resolves the folder that something which is not there would lie in.
func lexical(path string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// allResolved are paths both as they were written and resolved, each once.
func allResolved(paths []string, both bool) []string {
	var out []string
	for _, p := range paths {
		p = filepath.Clean(p)
		if r := resolved(p); !slices.Contains(out, r) {
			out = append(out, r)
		}
		// A link that is itself protected lies where its folder lies.
		if l := filepath.Join(resolved(filepath.Dir(p)), filepath.Base(p)); both && p != "/" &&
			!slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}
