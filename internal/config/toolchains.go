package config

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

//go:embed toolchains.txt
var toolchainTable string

// Toolchains are the files and folders of what is installed on a machine, by their real names, and as they are named.
// What holds one of apart, or the home, is none: it is more than a toolchain.
func Toolchains(home string, lookup func(name string) (string, bool), apart []string) (out, named []string) {
	apart = append(slices.Clip(apart), resolved(home)...)
	add := func(path string) bool {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || real == "/" ||
			slices.ContainsFunc(apart, func(dir string) bool { return dir != "" && troupe.Within(dir, real) }) {
			return false
		}
		if named = append(named, path); !slices.Contains(out, real) {
			out = append(out, real)
		}
		return true
	}
	for line := range strings.Lines(toolchainTable) {
		path := strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(path, "$"); ok {
			path, _ = lookup(name)
		} else if path != "" && path[0] != '#' && path[0] != '/' && home != "" {
			path = filepath.Join(home, path)
		}
		if filepath.IsAbs(path) {
			add(path)
		}
	}
	path, _ := lookup("PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		// A toolchain has its programs in a folder of its own, and its libraries beside that.
		whole := slices.Contains([]string{"bin", "sbin", "shims"}, filepath.Base(dir)) &&
			filepath.Dir(dir) != filepath.Join(home, ".local")
		if !whole || !add(filepath.Dir(dir)) {
			add(dir)
		}
	}
	return out, named
}
