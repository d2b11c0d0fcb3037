package search

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/troupe-dev/troupe/internal/disk"
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
	anchored bool   // matched against the path from the file's folder, else against the name
	plain    bool   // no wildcard in it
	suffix   string // of a pattern that is a * and then this; "" for others
	head     string // what the path must begin with, if anchored
}

// literalBraces has braces mean themselves, as git has them.
func literalBraces() *strings.Replacer {
	return strings.NewReplacer(`\\`, `\\`, `\{`, `\{`, `\}`, `\}`, "{", `\{`, "}", `\}`)
}

// wildcards are the bytes with a meaning in a pattern.
const wildcards = `*?[{\`

// valid reports whether a pattern can be read, and matched in the time that there is.
func valid(pattern string) bool { return doublestar.ValidatePattern(pattern) && disk.Bounded(pattern) }

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
	if rest, ok := strings.CutPrefix(line, "**/"); ok && !strings.Contains(rest, "/") {
		line = rest // it means the same
	}
	r.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if strings.HasSuffix(line, "/**") {
		line += "/*" // what is below, not the folder itself
	}
	if line == "" || !valid(line) {
		return rule{}, false
	}
	r.pattern, r.head = line, line
	if wild := strings.IndexAny(line, wildcards); wild >= 0 {
		r.head = line[:wild]
	} else {
		r.plain = true
	}
	if !r.anchored && line[0] == '*' && !strings.ContainsAny(line[1:], wildcards) {
		r.suffix = line[1:]
	}
	return r, true
}

// matches takes the path from the folder of the rule, with slashes, in two parts: prefix is
// "" or ends in a slash.
func (r *rule) matches(prefix, name string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	if !r.anchored {
		switch {
		case r.plain:
			return name == r.pattern
		case r.suffix != "":
			return strings.HasSuffix(name, r.suffix)
		default:
			return doublestar.MatchUnvalidated(r.pattern, name)
		}
	}
	if r.plain {
		return len(prefix)+len(name) == len(r.pattern) && r.pattern[:len(prefix)] == prefix &&
			r.pattern[len(prefix):] == name
	}
	return doublestar.MatchUnvalidated(r.pattern, prefix+name)
}

// reaches reports whether the rule may match anything in the folder of this prefix, or below.
func (r *rule) reaches(prefix string) bool {
	if !r.anchored || strings.HasPrefix(r.head, prefix) {
		return true
	}
	return !r.plain && strings.HasPrefix(prefix, r.head)
}

type rules []rule

// decide is the verdict of the last rule that matches.
func (rs rules) decide(prefix, name string, isDir bool) verdict {
	for i := len(rs) - 1; i >= 0; i-- {
		if rs[i].matches(prefix, name, isDir) {
			return rs[i].verdict
		}
	}
	return undecided
}

// reaching are the rules that may match anything in the folder of this prefix, or below it.
func (rs rules) reaching(prefix string) rules {
	lost := func(r rule) bool { return !r.reaches(prefix) }
	if !slices.ContainsFunc(rs, lost) {
		return rs
	}
	return slices.DeleteFunc(slices.Clone(rs), lost)
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
	braces := literalBraces()
	for line := range strings.SplitSeq(strings.TrimPrefix(string(data), "\uFEFF"), "\n") {
		if r, ok := parseRule(braces.Replace(line)); ok {
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

// specials are the entries of a folder that have a meaning for the rules.
type specials struct {
	git   bool
	rules [ignoreKinds]bool
}

// level is what one ignore file says about the entries of a folder.
type level struct {
	rules  rules  // those that reach the folder
	prefix string // the way to it from the folder of the file, with a slash at its end, or ""
}

// folder is a folder on the way from the root of the walk, or above it, to an entry. What the
// ignore files above it say of it is settled once, when it is entered.
type folder struct {
	path   string               // absolute
	levels [ignoreKinds][]level // the nearest file first
	repo   bool                 // the root of a repository
}

// enter makes the folder below up.
func enter(up *folder, path string, has specials) *folder {
	f := &folder{path: path, repo: has.git}
	for kind, name := range [ignoreKinds]string{".rgignore", ".ignore", ".gitignore"} {
		if has.rules[kind] {
			if rs := readRules(filepath.Join(path, name)); len(rs) > 0 {
				f.levels[kind] = append(f.levels[kind], level{rules: rs})
			}
		}
		if up == nil || kind == gitIgnore && f.repo {
			continue
		}
		for _, l := range up.levels[kind] {
			l.prefix += filepath.Base(path) + "/"
			if l.rules = l.rules.reaching(l.prefix); len(l.rules) > 0 {
				f.levels[kind] = append(f.levels[kind], l)
			}
		}
	}
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
		f = enter(f, chain[i], look(chain[i]))
	}
	return f
}

// look finds out about the entries of a folder that is not listed.
func look(dir string) specials {
	return specials{git: hasGit(dir), rules: [ignoreKinds]bool{true, true, true}}
}

// decide asks all ignore files about an entry of f: the nearest that has an opinion counts,
// and a stronger kind of file before a weaker.
func (f *folder) decide(entry string, isDir bool) verdict {
	for kind := range ignoreKinds {
		for i := range f.levels[kind] {
			l := &f.levels[kind][i]
			if v := l.rules.decide(l.prefix, entry, isDir); v != undecided {
				return v
			}
		}
	}
	return undecided
}
