package config

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe"
)

// Glob is a pattern of files, absolute, that says where to look for what it covers.
type Glob struct {
	Text string
	// Below is the folder in which all lies that it covers: what stands before its first wildcard.
	Below string
	// Whole: it covers all in Below. Deep: it covers what lies any number of folders below that.
	Whole, Deep bool
	// Last tells quickly that no file of a name, nor what lies in a folder of that name, is covered.
	Last func(name string) bool

	segs []segment // folded
	rest int       // the first of segs behind Below
}

// GlobOf reads a pattern. Ok is false if it has no wildcards.
func GlobOf(text string) (g Glob, ok bool) {
	if _, literal := Literal(text); literal {
		return g, false
	}
	g = Glob{Text: text, Below: "/", segs: segments(fold(text))}
	for _, s := range segments(text) {
		if s.any || s.glob {
			break
		}
		g.Below = filepath.Join(g.Below, s.text)
		g.rest++
	}
	rest := g.segs[g.rest:]
	g.Whole = !slices.ContainsFunc(rest, func(s segment) bool { return !s.any && s.text != "*" }) &&
		len(slices.DeleteFunc(slices.Clone(rest), func(s segment) bool { return s.any })) <= 1
	g.Deep = slices.ContainsFunc(rest, func(s segment) bool { return s.any })
	if last := len(g.segs) - 1; last >= g.rest && !g.segs[last].any {
		g.Last = func(name string) bool { return g.segs[last].matches(fold(name)) }
	}
	return g, true
}

// Covers reports whether a path, absolute and clean, is covered. Case makes no difference.
func (g *Glob) Covers(path string) bool { return matchSegments(g.segs, fold(path)[1:], false) }

// Find lists what is there and covered, name by name from Below on, unless it looks Deep. A folder that cannot be
// listed stands for all in it. Ok is false if there are more names to look at than most.
func (g *Glob) Find(most int) (found []string, ok bool) {
	at := []string{g.Below}
	for i := g.rest; i < len(g.segs); i++ {
		var next []string
		for _, dir := range at {
			entries, err := os.ReadDir(dir)
			if err != nil && len(entries) == 0 {
				if info, err := os.Stat(dir); err == nil && info.IsDir() {
					found = append(found, dir)
				}
				continue
			}
			if most -= len(entries); most < 0 {
				return nil, false
			}
			for _, e := range entries {
				if g.segs[i].matches(fold(e.Name())) {
					next = append(next, filepath.Join(dir, e.Name()))
				}
			}
		}
		at = next
	}
	return append(found, at...), true
}

// Globs are the patterns with wildcards by which settings hide files.
func (h Hidden) Globs() []string {
	var out []string
	for i := range h.globs {
		if e := &h.globs[i]; e.source != "" && !slices.Contains(out, e.glob) {
			out = append(out, e.glob)
		}
	}
	return out
}

// Around are the parts of a hidden folder that do not stay readable for the sake of the session's own folder in it.
func (h Hidden) Around(path string) []string {
	if h.folder == "" || !troupe.Within(h.folder, path) {
		return []string{path}
	}
	return h.around(path, false, 0)
}
