package troupe

import (
	"slices"
	"strings"
)

// Within reports whether a path is a folder or lies below it. Both are absolute and clean; nothing is looked up, so
// links count by their names. A folder "" is "/": a caller to which it means that there is none asks before.
func Within(path, folder string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(folder, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// WithinAny reports whether a path lies within one of the folders.
func WithinAny(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return Within(path, f) })
}
