package config

import (
	"path"
	"strings"
)

// escapeGlob writes a path so that as a glob it means itself.
func escapeGlob(p string) string {
	if !strings.ContainsAny(p, `*?[\`) {
		return p
	}
	var b strings.Builder
	for i := range len(p) {
		if strings.IndexByte(`*?[\`, p[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(p[i])
	}
	return b.String()
}

// Literal is the path that a glob without wildcards means.
func Literal(glob string) (string, bool) {
	if !strings.ContainsAny(glob, `*?[\`) {
		return glob, true
	}
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '*', '?', '[':
			return "", false
		case '\\':
			if i++; i == len(glob) {
				return "", false
			}
		}
		b.WriteByte(glob[i])
	}
	return b.String(), true
}

func cleanGlob(glob string) string { return path.Clean(glob) }

// matchesAtOrAbove reports whether an absolute glob means a path, which is absolute and clean, or a folder
// above it. A glob that cannot be read covers everything below the names before it.
func matchesAtOrAbove(glob, file string) bool {
	segs := strings.Split(strings.Trim(glob, "/"), "/")
	names := strings.Split(strings.Trim(file, "/"), "/")
	if segs[0] == "" {
		return true
	}
	i, n := 0, 0
	retry, retryName := -1, 0 // after the last **: its segment, and where it began
	for i < len(segs) {
		if segs[i] == "**" {
			retry, retryName = i, n
			i++
			continue
		}
		if n < len(names) && names[n] != "" {
			if ok, err := path.Match(segs[i], names[n]); ok || err != nil {
				i, n = i+1, n+1
				continue
			}
		}
		if retry < 0 || retryName >= len(names) {
			return false
		}
		retryName++
		i, n = retry+1, retryName
	}
	return true
}
