package instruction

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
	"github.com/troupe-dev/troupe/internal/front"
)

// rule is a file of a rules folder that is for some files only.
type rule struct {
	File

	r        reading
	dir      string   // in which the patterns begin
	patterns []string // as the file has them, with slashes
}

// Bounds of rules folders.
const (
	maxRules     = 300
	maxRuleDepth = 8
)

// ruleFolders reads the folders of rules that belong to a folder.
func (l *loader) ruleFolders(f Folder, r reading) {
	dirs := []string{"rules"}
	if f.Scope == ScopeProject {
		dirs = []string{".claude/rules", ".troupe/rules"}
	}
	for _, name := range dirs {
		for _, file := range l.markdown(filepath.Join(f.Dir, filepath.FromSlash(name))) {
			l.rule(f, r, file)
		}
	}
}

// markdown lists the Markdown files of a folder, those of its folders included, in the order of their names. Links to
// folders are not followed.
func (l *loader) markdown(dir string) (files []string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error { // what cannot be listed is not there
		switch {
		case err != nil:
			return filepath.SkipDir
		case len(files) == maxRules:
			l.problem("%s has more than %d rules; the others are left out", dir, maxRules)
			return filepath.SkipAll
		case e.IsDir() && strings.Count(path[len(dir):], string(filepath.Separator)) > maxRuleDepth:
			return filepath.SkipDir
		case !e.IsDir() && strings.EqualFold(filepath.Ext(path), ".md"):
			files = append(files, path)
		}
		return nil
	})
	return files
}

// rule takes up one file of a rules folder: at once, or to be told when a file is touched that it is for.
func (l *loader) rule(f Folder, r reading, file string) {
	data, real, err := l.open1(r, file)
	if err != nil {
		l.refused(file, err)
		return
	}
	doc, err := front.Parse(data, func(key string) bool { return key == "paths" || key == "globs" })
	if err != nil {
		l.problem("%s is not read: %v", file, front.Reason(err))
		return
	}
	found := File{Path: file, Real: real, Scope: r.scope}
	patterns, limited := l.patterns(file, doc)
	if !limited {
		l.take(r, found, doc.Body, 0)
		return
	}
	found.Text = doc.Body
	x := rule{File: found, r: r, dir: f.Dir, patterns: patterns}
	if f.Scope != ScopeProject {
		x.dir = l.project()
	}
	x.r.in = nil // it is opened again when the rule is told
	l.rules = append(l.rules, x)
}

// project is the root of the project, or the folder in which an agent works.
func (l *loader) project() string {
	for _, f := range l.Folders {
		if f.Scope == ScopeProject {
			return f.Dir
		}
	}
	return ""
}

// patterns reads which files a rule is for. It is for all without one.
func (l *loader) patterns(file string, doc front.Document) (patterns []string, limited bool) {
	for _, f := range doc.Fields {
		if f.Key != "paths" && f.Key != "globs" {
			continue
		}
		words := f.Value.List
		switch f.Value.Kind {
		case front.Text:
			words = front.SplitPatterns(f.Value.Text)
		case front.Nothing, front.List:
		case front.Unreadable, front.Tree:
			l.problem("%s:%d: %s is not a list of patterns, so the rule is told for no file", file, f.Line, f.Key)
		}
		limited = limited || f.Value.Kind != front.Nothing
		for _, w := range words {
			w = strings.TrimPrefix(strings.TrimSpace(w), "./")
			if w == "" || strings.HasPrefix(w, "/") || !doublestar.ValidatePattern(w) || !disk.Bounded(w) {
				l.problem("%s:%d: %q is no pattern for files of the project", file, f.Line, w)
				continue
			}
			patterns = append(patterns, w)
		}
	}
	return patterns, limited
}

// About finds what is told when an agent has read or written a file: the rules for it, and what lies in the folders
// between the one in which it works and the file. What is told from the beginning is not among it.
func (l Loaded) About(file string) (files []File, problems []string) {
	n := loader{Sources: l.sources, seen: map[string]bool{}, nested: true}
	for real := range l.seen {
		n.seen[real] = true
	}
	for i := range l.rules {
		n.ruleFor(&l.rules[i], file)
	}
	if len(l.sources.Folders) == 0 {
		return n.fit(), n.problems
	}
	here := l.sources.Folders[len(l.sources.Folders)-1]
	if here.Scope != ScopeProject || !troupe.Within(file, here.Dir) {
		return n.fit(), n.problems
	}
	var between []string
	for dir := filepath.Dir(file); dir != here.Dir && troupe.Within(dir, here.Dir); dir = filepath.Dir(dir) {
		between = append(between, dir)
	}
	for _, dir := range slices.Backward(between) {
		n.folder(Folder{Dir: dir, Root: here.Root, Scope: ScopeProject})
	}
	return n.fit(), n.problems
}

// ruleFor tells a rule if it is for the file.
func (l *loader) ruleFor(x *rule, file string) {
	name, err := filepath.Rel(x.dir, file)
	if err != nil || x.dir == "" || !troupe.Within(file, x.dir) {
		return
	}
	name = filepath.ToSlash(name)
	if !slices.ContainsFunc(x.patterns, func(p string) bool { return doublestar.MatchUnvalidated(p, name) }) {
		return
	}
	r := x.r
	if r.in = front.Plain("/"); r.base != "/" {
		root, err := os.OpenRoot(r.base)
		if err != nil {
			return
		}
		defer root.Close() //nolint:errcheck // it was only read
		r.in = root
	}
	l.take(r, x.File, x.Text, 0)
}
