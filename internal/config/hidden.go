package config

import (
	_ "embed"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

//go:embed hidden.txt
var hiddenTable string

// Hidden is what may not be read, by tools and by what commands start. It does not change.
type Hidden struct {
	entries []secret
	// open are globs that settings take out of what is built in.
	open []secret
	// folder is the session's own: it stays readable where an entry covers it whole.
	folder string
	// top is the root of its repository, "" without a project.
	top string
	// globs are the entries with wildcards, and names the last names of these; anyName: one of them may cover any.
	globs   []secret
	names   []string
	anyName bool
}

// secret is one entry.
type secret struct {
	glob   string // absolute
	path   string // what glob means if it has no wildcards, else ""
	why    string
	source string // a file of settings; "" is built in
	except []string
	folded string    // path, folded
	segs   []segment // of glob, folded
}

func (h *Hidden) add(s secret) {
	if path, ok := Literal(s.glob); ok {
		s.path, s.folded = path, fold(path)
	}
	s.segs = segments(fold(s.glob))
	h.entries = append(h.entries, s)
}

// covers compares names without regard to case: some folders take two names that differ in nothing else for one.
// A path with a fixed place is another file under another spelling, unless the system says that it is the same.
func (e *secret) matches(file, folded string) bool {
	switch {
	case e.path == "":
		return matchSegments(e.segs, strings.Trim(folded, "/"), false) ||
			strings.Contains(e.glob, "[") && matchesAtOrAbove(e.glob, file) // what folding takes out of a [!A-Z]
	case troupe.Within(file, e.path):
		return true
	default:
		return troupe.Within(folded, e.folded) && (foldsNames() || isSpelled(file, e.path))
	}
}

// isSpelled: the beginning of a path that has as many names as another is the same file.
func isSpelled(file, as string) bool {
	end := 0
	for range strings.Count(as, "/") {
		end = nextName(file, end)
	}
	one, err := os.Lstat(file[:end])
	if err != nil {
		return false
	}
	other, err := os.Lstat(as)
	return err == nil && os.SameFile(one, other)
}

// opens: settings take a path out. They have to spell it as the system does.
func (h Hidden) opens(path string) bool {
	return slices.ContainsFunc(h.open, func(s secret) bool {
		if foldsNames() {
			return matchesAtOrAbove(strings.ToLower(s.glob), strings.ToLower(path))
		}
		return matchesAtOrAbove(s.glob, path)
	})
}

func foldsNames() bool { return runtime.GOOS == "darwin" || runtime.GOOS == "windows" }

// Hidden is what settings and what is built in keep from being read. What an administrator, the
// user or a project adds, allow_read does not take out again.
func (a All) Hidden() Hidden {
	h := Hidden{folder: a.places.Folder}
	homes := resolved(a.places.Dirs.Home)
	for line := range strings.Lines(hiddenTable) {
		line = strings.TrimSpace(line)
		path, why, ok := strings.Cut(line, "  ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		places := []string{path}
		if !strings.HasPrefix(path, "/") {
			places = nil
			for _, home := range homes {
				places = append(places, home+"/"+path)
			}
		}
		for _, path := range places {
			h.add(secret{glob: disk.Pattern(path), why: strings.TrimSpace(why)})
		}
	}
	if d := a.places.Dirs; d.Data != "" {
		// The lock too: a command that held it would keep everybody else out.
		for _, path := range []string{d.Database(), d.Database() + "-wal", d.Database() + "-shm",
			d.Database() + ".lock", filepath.Join(filepath.Dir(d.Database()), "owners"), d.History(), d.Run} {
			h.add(secret{glob: disk.Pattern(path), why: "what other sessions said and did"})
		}
		h.add(secret{glob: disk.Pattern(d.Definitions()), why: "copies of files that rules may keep from agents"})
		h.add(secret{glob: disk.Pattern(d.Logins()), why: "logins at MCP servers"})
		h.add(secret{glob: disk.Pattern(d.Ledgers()), why: "copies of protected files"})
		h.add(secret{glob: disk.Pattern(d.Workspaces()), why: "what is kept of folders of agents"})
	}
	if d := a.places.Dirs; d.Config != "" {
		for _, path := range []string{d.Servers(), d.Folders()} {
			h.add(secret{glob: disk.Pattern(path), why: "keys of MCP servers"})
		}
	}
	if len(a.Folders) > 0 {
		h.top = a.Folders[0]
		top := disk.Pattern(h.top)
		h.add(secret{glob: top + "/**/.env", why: "secrets of a project"})
		h.add(secret{glob: top + "/**/.env.*", why: "secrets of a project",
			except: []string{".example", ".sample", ".template", ".dist", ".defaults", ".schema"}})
	}
	for i := range a.layers {
		l := &a.layers[i]
		if l.Broken {
			continue
		}
		for _, glob := range a.patterns(nil, l, l.settings.Sandbox.DenyRead) {
			h.add(secret{glob: glob, why: "settings", source: l.Path})
		}
	}
	for _, glob := range a.sandbox().AllowRead {
		literal, _ := Literal(glob)
		h.open = append(h.open, secret{glob: glob, path: literal})
	}
	h.indexNames()
	return h
}

// HiddenIn is Hidden for a folder that stands for another one, as a worktree does for the tree that it was made from:
// what is hidden below the one is hidden at the same places below the other.
func (a All) HiddenIn(top, of string) Hidden {
	h := a.Hidden()
	if of == "" {
		return h // nothing is hidden by where it lies
	}
	from, to := disk.Pattern(of), disk.Pattern(top)
	same := func(list []secret, add func(secret)) {
		for _, e := range slices.Clone(list) {
			if rest, ok := strings.CutPrefix(e.glob, from); ok && (rest == "" || rest[0] == '/') {
				e.glob, e.path, e.folded = to+rest, "", ""
				add(e)
			}
		}
	}
	same(h.entries, h.add)
	same(h.open, func(s secret) {
		s.path, _ = Literal(s.glob)
		h.open = append(h.open, s)
	})
	h.folder, h.top = top, top
	h.indexNames()
	return h
}

// Covers reports whether a path, absolute and clean, may not be read, and why. Ask for a link
// and for what it leads to: either may be hidden.
func (h Hidden) Covers(path string) (why string, hidden bool) {
	taken, folded := h.opens(path), fold(path)
	for i := range h.entries {
		e := &h.entries[i]
		if taken && e.source == "" || !e.matches(path, folded) || e.excepts(folded) {
			continue
		}
		if h.folder != "" && troupe.Within(path, h.folder) && e.matches(h.folder, fold(h.folder)) {
			continue
		}
		if e.source != "" {
			return "sandbox.deny_read in " + e.source, true
		}
		return e.why, true
	}
	return "", false
}

// In is Covers for the entries of a folder by their names, where neither the folder nor anything
// above it is covered: a walk over many files asks once a folder what may be hidden in it at all.
// It is nil if nothing is.
func (h Hidden) In(folder string) func(name string) bool {
	near := Hidden{open: h.open, folder: h.folder}
	var starts []string
	folded := fold(folder)
	for i := range h.entries {
		if start, ok := h.entries[i].in(folder, folded); ok {
			near.entries = append(near.entries, h.entries[i])
			starts = append(starts, start)
		}
	}
	if len(near.entries) == 0 {
		return nil
	}
	return func(name string) bool {
		low := fold(name)
		if !slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(low, start) }) {
			return false
		}
		_, hidden := near.Covers(filepath.Join(folder, name))
		return hidden
	}
}

// in reports whether the entry may cover something in a folder, and how the names of that begin, folded.
func (e *secret) in(folder, folded string) (start string, ok bool) {
	switch {
	case e.matches(folder, folded):
		return "", true
	case e.path != "":
		return filepath.Base(e.folded), filepath.Dir(e.folded) == folded
	}
	if len(e.segs) == 0 {
		return "", true
	}
	head := "/"
	for i := 0; i < len(e.segs) && !e.segs[i].any && !e.segs[i].glob; i++ {
		head = filepath.Join(head, e.segs[i].text)
	}
	if !troupe.Within(folded, head) && !troupe.Within(head, folded) {
		return "", false
	}
	last := e.segs[len(e.segs)-1]
	if wild := strings.IndexAny(last.text, `*?[\`); last.glob && wild >= 0 {
		return last.text[:wild], true
	}
	return last.text, true
}

func (e *secret) excepts(folded string) bool {
	return slices.ContainsFunc(e.except, func(end string) bool { return strings.HasSuffix(folded, end) })
}

// Entry is one entry, for people.
type Entry struct {
	Glob string
	Why  string
}

// Entries are all of them, in order.
func (h Hidden) Entries() []Entry {
	var out []Entry
	for _, e := range h.entries {
		if why := e.why; e.source != "" {
			out = append(out, Entry{e.glob, "sandbox.deny_read in " + e.source})
		} else if !slices.ContainsFunc(h.open, func(s secret) bool { return s.glob == e.glob }) {
			out = append(out, Entry{e.glob, why})
		}
	}
	return out
}

// Paths are the files and folders that are hidden and exist, as a kernel takes them: no globs.
// Where part of a folder is to stay readable, what lies beside that part is named instead. A
// link and what it leads to are both named.
func (h Hidden) Paths() []string { return h.PathsIn("/") }

// PathsIn are those of them that are named in a folder.
func (h Hidden) PathsIn(folder string) []string {
	var out []string
	for _, e := range h.entries {
		path := e.path
		if path == "" || !troupe.Within(path, folder) {
			continue
		}
		if info, err := os.Lstat(path); err != nil || e.source == "" && h.opens(path) {
			continue
		} else if info.Mode()&fs.ModeSymlink != 0 {
			if target, err := filepath.EvalSymlinks(path); err == nil {
				out = append(out, h.around(target, e.source == "", 0)...)
			}
		}
		out = append(out, h.around(path, e.source == "", 0)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// maxCarve bounds how deep below a hidden folder something readable is looked for.
const maxCarve = 32

// around is a hidden path without what stays readable in it.
func (h Hidden) around(path string, builtIn bool, depth int) []string {
	readable := []string{}
	if h.folder != "" {
		readable = append(readable, h.folder)
	}
	if builtIn {
		for _, s := range h.open {
			if s.path != "" {
				readable = append(readable, s.path)
			}
		}
	}
	inside := false
	for _, r := range readable {
		if troupe.Within(path, r) {
			// An entry inside the session's own folder is meant; one that covers it is not.
			if r != h.folder || path == r {
				return nil
			}
		} else if troupe.Within(r, path) {
			inside = true
		}
	}
	if !inside {
		return []string{path}
	}
	entries, err := os.ReadDir(path)
	if err != nil || depth == maxCarve {
		return nil // it cannot be listed, so what is below cannot be found either
	}
	var out []string
	for _, e := range entries {
		out = append(out, h.around(filepath.Join(path, e.Name()), builtIn, depth+1)...)
	}
	return out
}

// Project is the folder in which globs hide files; "" without one.
func (h Hidden) Project() string { return h.top }

// MayCover is quick: where it is false for the name of a path of the project and of each folder between the two,
// no glob covers the path.
func (h Hidden) MayCover(name string) bool {
	folded := fold(name)
	return h.anyName || slices.ContainsFunc(h.names, func(glob string) bool {
		for _, name := range [...]string{folded, name} {
			if ok, err := path.Match(glob, name); ok || err != nil {
				return true
			}
		}
		return false
	})
}

// IsIn reports whether a path of the project is covered by a glob. The session's own folder and those above it are
// not, for it stays readable.
func (h Hidden) IsIn(path string) bool {
	if h.folder != "" && troupe.Within(h.folder, path) {
		return false
	}
	_, hidden := Hidden{entries: h.globs, open: h.open, folder: h.folder}.Covers(path)
	return hidden
}

// indexNames makes ready for MayCover: a glob covers what has its last name, and all below that.
func (h *Hidden) indexNames() {
	for _, e := range h.entries {
		if e.path != "" {
			continue
		}
		h.globs = append(h.globs, e)
		last := path.Base(e.glob)
		if e.matches(h.top, fold(h.top)) {
			h.anyName = true
		}
		h.names = append(h.names, fold(last))
		if strings.Contains(last, "[") { // as covers takes it
			h.names = append(h.names, last)
		}
	}
}
