package search

import (
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

// verdict is what rules say about an entry.
type verdict int

const (
	undecided verdict = iota
	ignored
	wanted
)

// rule is one line of an ignore file.
type rule struct {
	pattern  string
	verdict  verdict
	dirOnly  bool
	anchored bool // matched against the path from the file's folder, else against the name
	plain    bool // no wildcard in it
}

// parseRule reads one line; false for blanks, comments and broken patterns.
func parseRule(line string) (rule, bool) {
	line = strings.TrimSuffix(line, "\r")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return rule{}, false
	}
	r := rule{verdict: ignored}
	if line[0] == '!' {
		r.verdict, line = wanted, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly, line = true, strings.TrimRight(line, "/")
	}
	r.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if strings.HasSuffix(line, "/**") {
		line += "/*" // what is below, not the folder itself
	}
	if line == "" || !doublestar.ValidatePattern(line) {
		return rule{}, false
	}
	r.pattern, r.plain = line, !strings.ContainsAny(line, `*?[{\`)
	return r, true
}

// matches takes the path from the folder of the rule, with slashes.
func (r rule) matches(rel string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	subject := rel
	if !r.anchored {
		subject = path.Base(rel)
	}
	switch {
	case r.plain:
		return subject == r.pattern
	case !r.anchored && r.pattern[0] == '*' && !strings.ContainsAny(r.pattern[1:], `*?[{\`):
		return strings.HasSuffix(subject, r.pattern[1:])
	default:
		return doublestar.MatchUnvalidated(r.pattern, subject)
	}
}

type rules []rule

// decide is the verdict of the last rule that matches.
func (rs rules) decide(rel string, isDir bool) verdict {
	for i := len(rs) - 1; i >= 0; i-- {
		if rs[i].matches(rel, isDir) {
			return rs[i].verdict
		}
	}
	return undecided
}

// maxIgnoreFile bounds what is read of an ignore file.
const maxIgnoreFile = 1 << 20

func readRules(file string) rules {
	f, info, err := safefile.Open(tool.Resolve(file))
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // only read from
	if info.Size() > maxIgnoreFile {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil {
		return nil
	}
	var out rules
	for line := range strings.SplitSeq(strings.TrimPrefix(string(data), "\uFEFF"), "\n") {
		if r, ok := parseRule(line); ok {
			out = append(out, r)
		}
	}
	return out
}

// Names of ignore files, the strongest first. Only gitignore ends at a repository's root.
const (
	ownIgnore = iota // .rgignore
	dotIgnore        // .ignore
	gitIgnore        // .gitignore
	ignoreKinds
)

// folder is a folder on the way from the root of the walk, or above it, to an entry.
type folder struct {
	up    *folder
	path  string // absolute
	rules [ignoreKinds]rules
	repo  bool // the root of a repository
	any   bool // it or a folder above has rules
}

// enter makes the folder below up. names tells which files are in it; nil means look.
func enter(up *folder, path string, names map[string]bool) *folder {
	f := &folder{up: up, path: path, any: up != nil && up.any}
	for kind, name := range [ignoreKinds]string{".rgignore", ".ignore", ".gitignore"} {
		if names == nil || names[name] {
			f.rules[kind] = readRules(filepath.Join(path, name))
			f.any = f.any || len(f.rules[kind]) > 0
		}
	}
	f.repo = names == nil && hasGit(path) || names[".git"]
	return f
}

// above is the chain of folders over dir, as far as their ignore files count.
func above(dir string) *folder {
	if !inRepository(dir) {
		return nil
	}
	var chain []string
	for up := filepath.Dir(dir); up != dir; dir, up = up, filepath.Dir(up) {
		chain = append(chain, up)
	}
	var f *folder
	for i := len(chain) - 1; i >= 0; i-- {
		f = enter(f, chain[i], nil)
	}
	return f
}

// decide asks all ignore files about an entry of f: the nearest that has an opinion counts,
// and a stronger kind of file before a weaker.
func (f *folder) decide(entry string, isDir bool) verdict {
	if !f.any {
		return undecided
	}
	for kind := range ignoreKinds {
		rel := entry
		for at := f; at != nil; at = at.up {
			if v := at.rules[kind].decide(rel, isDir); v != undecided {
				return v
			}
			if kind == gitIgnore && at.repo {
				break
			}
			rel = filepath.Base(at.path) + "/" + rel
		}
	}
	return undecided
}
