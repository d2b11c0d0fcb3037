package config

import (
	"path"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe/internal/disk"
)

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

// segment is one name of a glob.
type segment struct {
	any  bool // "**": any number of names, also none
	glob bool // text has wildcards; else it is the name itself
	text string
}

// segments takes an absolute glob apart. One that cannot be read ends before the name where that shows, so
// that it covers everything below.
func segments(glob string) []segment {
	var out []segment
	for name := range strings.SplitSeq(strings.Trim(glob, "/"), "/") {
		if name == "" {
			continue
		}
		if name == "**" {
			if n := len(out); n == 0 || !out[n-1].any {
				out = append(out, segment{any: true})
			}
			continue
		}
		if literal, ok := Literal(name); ok {
			out = append(out, segment{text: literal})
			continue
		}
		name = goClass(name)
		if _, err := path.Match(name, "x"); err != nil || strings.Contains(name, "[:") {
			return out
		}
		out = append(out, segment{glob: true, text: name})
	}
	return out
}

// goClass writes [!a] as Go does, [^a].
func goClass(name string) string {
	b := []byte(name)
	for i := 0; i+1 < len(b); i++ {
		switch {
		case b[i] == '\\':
			i++
		case b[i] == '[' && b[i+1] == '!':
			b[i+1] = '^'
		}
	}
	return string(b)
}

// globOf writes segments as an absolute glob again.
func globOf(segs []segment) string {
	var b strings.Builder
	for _, s := range segs {
		b.WriteByte('/')
		switch {
		case s.any:
			b.WriteString("**")
		case s.glob:
			b.WriteString(s.text)
		default:
			b.WriteString(disk.Pattern(s.text))
		}
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

func (s *segment) matches(name string) bool {
	if !s.glob {
		return s.text == name
	}
	ok, err := path.Match(s.text, name)
	return ok || err != nil
}

// matchSegments reports whether segments mean a path without the slash at its beginning, or a folder above
// it; whole: the path and no folder above it. Only the last ** is tried again.
func matchSegments(segs []segment, rest string, whole bool) bool {
	i := 0
	retry, retryRest := -1, "" // after the last **: where it stands, and where it began
	for {
		switch {
		case i == len(segs):
			if !whole || rest == "" {
				return true
			}
		case segs[i].any:
			retry, retryRest = i, rest
			i++
			continue
		case rest != "":
			name, tail, _ := strings.Cut(rest, "/")
			if segs[i].matches(name) {
				i, rest = i+1, tail
				continue
			}
		}
		if retry < 0 || retryRest == "" {
			return false
		}
		_, retryRest, _ = strings.Cut(retryRest, "/")
		i, rest = retry+1, retryRest
	}
}

// matchesAtOrAbove reports whether an absolute glob means a path, which is absolute and clean, or a folder
// above it. A glob that cannot be read covers everything below the names before it.
func matchesAtOrAbove(glob, file string) bool {
	return matchSegments(segments(glob), strings.Trim(file, "/"), false)
}

// fold writes a text so that two that differ in nothing but case become the same.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return strings.Map(foldRune, s)
		}
	}
	return strings.ToLower(s)
}

func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		return least + 'a' - 'A'
	}
	return least
}
