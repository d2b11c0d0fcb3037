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
)

// names are what is looked for in each folder, in the order in which it is told.
func names(s Scope) []string {
	if s != ScopeProject {
		return []string{"AGENTS.md", "CLAUDE.md"}
	}
	return []string{"AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md"}
}

// Load reads all files. Problems are for people: what was left out, and why.
func Load(s Sources) (files []File, problems []string) {
	l := loader{Sources: s, seen: map[string]bool{}}
	for _, f := range s.Folders {
		l.folder(f)
	}
	return l.files, l.problems
}

type loader struct {
	Sources

	seen     map[string]bool // real paths
	files    []File
	problems []string
	size     int
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
}

// read takes one file up, and then what it imports. A file that is not there is nothing to speak of, unless another
// one imports it.
func (l *loader) read(r reading, file, by string, depth int) {
	name, err := filepath.Rel(r.base, file)
	if err != nil {
		return
	}
	real, err := filepath.EvalSymlinks(file)
	switch {
	case err != nil:
		if by != "" {
			l.problem("%s imports %s, which is not there", by, file)
		}
		return
	case l.seen[real]:
		return
	case l.Hidden != nil && (l.Hidden(file) || l.Hidden(real)):
		l.problem("%s is hidden from agents, so it is no instruction for them", file)
		return
	}
	data, err := front.ReadFile(r.in, filepath.ToSlash(name))
	if err != nil {
		l.problem("%s is not read: %v", file, reason(err))
		return
	}
	l.seen[real] = true
	text, ok := l.fit(file, data)
	if !ok {
		return
	}
	l.files = append(l.files, File{Path: file, Real: real, Scope: r.scope, Text: text, By: by})
	for _, at := range imports(text) {
		l.follow(r, file, at, depth+1)
	}
}

// fit makes text of a file's bytes, as much as there is room for.
func (l *loader) fit(file string, data []byte) (string, bool) {
	text := strings.TrimPrefix(strings.ToValidUTF8(string(data), "�"), "\ufeff")
	text = strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(text))
	if text == "" {
		return "", false
	}
	most := min(maxFile, maxAll-l.size)
	if most <= 0 {
		l.problem("%s is left out: the instructions before it have %d KB, and more is not told", file, maxAll>>10)
		return "", false
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "\n[the rest of this file is left out; Read shows it]"
		l.problem("%s is told only in part: its first %d KB", file, most>>10)
	}
	l.size += len(text)
	return text, true
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
	if r.base == "/" || troupe.Within(file, r.base) {
		l.read(r, file, by, depth)
		return
	}
	real, err := filepath.EvalSymlinks(file)
	for _, shared := range l.Shared {
		if err == nil && strings.EqualFold(path.Ext(real), ".md") && troupe.Within(real, shared) {
			l.read(reading{front.Plain("/"), "/", r.scope}, real, by, depth)
			return
		}
	}
	l.problem("%s imports %s, which lies outside of %s: it is left out", by, at, r.base)
}

func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
