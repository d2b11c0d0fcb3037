// Package instruction finds what people wrote for agents: CLAUDE.md and AGENTS.md, of the user, of an administrator
// and of a project from its root down to a folder, with what these files import. It is text for a model to follow,
// and gives no permission.
package instruction

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// Scope is whose a file is.
type Scope string

// Scopes.
const (
	ScopeManaged Scope = "managed" // an administrator's
	ScopeUser    Scope = "user"
	ScopeProject Scope = "project"
	ScopeLocal   Scope = "local" // a project's, for one person alone
)

// Folder is where files may be.
type Folder struct {
	Dir string
	// Root is what neither links nor imports lead out of, apart from Sources.Shared; "": they may lead anywhere.
	Root  string
	Scope Scope
}

// Sources say where to look.
type Sources struct {
	// Folders are in the order in which they are told: what comes later counts more.
	Folders []Folder
	// Shared are folders whose Markdown files any file may import: the user's own.
	Shared []string
	// Home is what ~/ means in an import; "" if there is none.
	Home string
	// Hidden reports whether agents may not read a file.
	Hidden func(path string) bool
}

// File is one file that agents are told.
type File struct {
	Path  string
	Real  string // with no link in it
	Scope Scope
	Text  string
	// By is the file that imports this one; "" if it was found by its name.
	By string
}

const (
	maxDepth = 5         // imports of imports
	maxFile  = 64 << 10  // bytes of a file; the rest is left out, and that is said
	maxAll   = 128 << 10 // bytes of all files together
	maxFiles = 500
)

// names are what is looked for in each folder, in the order in which it is told.
func names(s Scope) []string {
	if s != ScopeProject {
		return []string{"AGENTS.md", "CLAUDE.md"}
	}
	return []string{"AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md"}
}

// Load reads all files that are told from the beginning, and keeps the rules that are for some files only.
func Load(s Sources) Loaded {
	l := loader{Sources: s, seen: map[string]bool{}}
	for _, f := range s.Folders {
		l.folder(f)
	}
	files := l.fit()
	return Loaded{Files: files, Problems: l.problems, sources: s, rules: l.rules, seen: l.seen}
}

// Loaded is what was found for agents that work in one folder. It does not change.
type Loaded struct {
	Files []File
	// Problems are for people: what was left out, and why.
	Problems []string

	sources Sources
	rules   []rule
	seen    map[string]bool
}

type loader struct {
	Sources

	seen     map[string]bool // real paths
	rules    []rule
	files    []File
	problems []string
	nested   bool // only what lies below the folder in which an agent works is looked for
}

func (l *loader) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// folder reads what lies in one folder.
func (l *loader) folder(f Folder) {
	in, base, done := l.open(f)
	if in == nil {
		return
	}
	defer done()
	for _, name := range names(f.Scope) {
		scope := f.Scope
		if strings.Contains(name, ".local.") {
			scope = ScopeLocal
		}
		l.read(reading{in: in, base: base, scope: scope}, filepath.Join(f.Dir, filepath.FromSlash(name)), "", 0)
	}
	if !l.nested {
		l.ruleFolders(f, reading{in: in, base: base, scope: f.Scope})
	}
}

// open opens a folder, or the root that holds it.
func (l *loader) open(f Folder) (in front.Folder, base string, done func()) {
	if f.Root == "" {
		return front.Plain("/"), "/", func() {}
	}
	root, err := os.OpenRoot(f.Root)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.problem("%s: its instructions cannot be read: %v", f.Root, err)
		}
		return nil, "", nil
	}
	return root, f.Root, func() { _ = root.Close() } // it was only read
}

// reading is through what, and for whom, a file is read.
type reading struct {
	in    front.Folder
	base  string // what names in it begin at
	scope Scope
	// shared: it is one of the Shared files. What it imports lies among them too.
	shared bool
}

// read takes one file up, and then what it imports. A file that is not there is nothing to speak of, unless another
// one imports it.
func (l *loader) read(r reading, file, by string, depth int) {
	data, real, err := l.open1(r, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if by != "" {
			l.problem("%s imports %s, which is not there", by, file)
		}
	case err != nil:
		l.refused(file, err)
	default:
		l.take(r, File{Path: file, Real: real, Scope: r.scope, By: by}, string(data), depth)
	}
}

var (
	errSeen   = errors.New("it was told before")
	errHidden = errors.New("it is hidden from agents, so it is no instruction for them")
)

// open1 reads a file that agents may read, once.
func (l *loader) open1(r reading, file string) (data []byte, real string, err error) {
	name, err := filepath.Rel(r.base, file)
	if err != nil {
		return nil, "", err
	}
	data, real, err = front.ReadReal(r.in, filepath.ToSlash(name), file, func(real string) error {
		switch {
		case l.seen[real]:
			return errSeen
		case l.Hidden != nil && (l.Hidden(file) || l.Hidden(real)):
			return errHidden
		case len(l.seen) >= maxFiles:
			return fmt.Errorf("there are %d files of instructions already", maxFiles)
		}
		return nil
	})
	if err == nil {
		l.seen[real] = true
	}
	return data, real, err
}

// refused tells of a file that is not read.
func (l *loader) refused(file string, err error) {
	if !errors.Is(err, errSeen) {
		l.problem("%s is not read: %v", file, front.Reason(err))
	}
}

// take takes up the text of a file, and then what it imports.
func (l *loader) take(r reading, f File, text string, depth int) {
	text = strings.TrimPrefix(strings.ToValidUTF8(text, "�"), "\ufeff")
	text = strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(text))
	if text == "" {
		return
	}
	f.Text = text
	if len(text) > maxFile {
		f.Text = cutTo(text, maxFile)
		l.problem("%s is told only in part: its first %d KB", f.Path, maxFile>>10)
	}
	l.files = append(l.files, f)
	for _, at := range imports(f.Text) {
		l.follow(r, f.Path, at, depth+1)
	}
}

func cutTo(text string, most int) string {
	return strings.ToValidUTF8(text[:most], "") + "\n[the rest of this file is left out; Read shows it]"
}

// fit leaves out what there is no room for. What counts more stays: an administrator's, the user's, and then of the
// project's what lies nearest.
func (l *loader) fit() []File {
	order := make([]int, 0, len(l.files))
	for i, f := range l.files {
		if f.Scope == ScopeManaged || f.Scope == ScopeUser {
			order = append(order, i)
		}
	}
	for i, f := range slices.Backward(l.files) {
		if f.Scope != ScopeManaged && f.Scope != ScopeUser {
			order = append(order, i)
		}
	}
	left, out := maxAll, make(map[int]bool)
	for _, i := range order {
		f := &l.files[i]
		switch {
		case left <= 0:
			out[i] = true
			l.problem("%s is left out: others that count more have %d KB, and more is not told", f.Path, maxAll>>10)
		case len(f.Text) > left:
			f.Text = cutTo(f.Text, left)
			l.problem("%s is told only in part: its first %d KB", f.Path, left>>10)
		}
		left -= len(f.Text)
	}
	var files []File
	for i, f := range l.files {
		if !out[i] {
			files = append(files, f)
		}
	}
	return files
}

// follow reads what a file imports, if it lies where imports may lead.
func (l *loader) follow(r reading, by, at string, depth int) {
	file := at
	switch {
	case strings.HasPrefix(at, "~/") && l.Home != "":
		file = filepath.Join(l.Home, at[2:])
	case !filepath.IsAbs(at):
		file = filepath.Join(filepath.Dir(by), filepath.FromSlash(at))
	}
	if depth > maxDepth {
		l.problem("%s imports %s, which is %d imports deep: it is left out", by, at, depth)
		return
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		if strings.EqualFold(path.Ext(at), ".md") || strings.HasPrefix(at, ".") || strings.HasPrefix(at, "~/") {
			l.problem("%s imports %s, which is not a file", by, at)
		}
		return // a word that begins so
	}
	if !r.shared && (r.base == "/" || troupe.Within(file, r.base)) {
		l.read(r, file, by, depth)
		return
	}
	real, err := filepath.EvalSymlinks(file)
	for _, shared := range l.Shared {
		if err == nil && strings.EqualFold(path.Ext(real), ".md") && troupe.Within(real, shared) {
			l.read(reading{front.Plain("/"), "/", r.scope, true}, real, by, depth)
			return
		}
	}
	where := r.base
	if r.shared {
		where = strings.Join(l.Shared, " and ")
	}
	l.problem("%s imports %s, which lies outside of %s: it is left out", by, at, where)
}
