//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// names are paths that a command cannot remove, rename or replace. What is granted are the names in a folder;
// if the folder itself, or one that leads to it, could become a link, a command would choose what the next one
// may change.
type names map[string]bool

// lead adds a path and all folders and links by which it is found, whether they exist or not.
func (n names) lead(path string) {
	walk(path, func(at, _ string, _ bool) bool {
		n[at] = true
		return true
	})
}

// pieces are the names of a path.
func pieces(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" || s == "." })
}

// plain reports whether a path leads where it says: no part of it is a link.
func plain(path string) bool { return resolved(path) == path }

// allPlain are those of the paths that are no links, nor lead through one. Where they led was settled when
// they were granted; what a link says now, a command may have written.
func allPlain(paths []string) []string {
	var out []string
	for _, p := range paths {
		if p = filepath.Clean(p); plain(p) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// fix settles what stays where it is: what is granted whole, and what leads there.
func (p *plan) fix(written, folders []string) {
	p.fixed = make(names)
	for _, path := range written {
		p.fixed.lead(filepath.Clean(path))
	}
	for _, path := range folders {
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			p.fixed.lead(path)
		}
	}
	if p.temp != "" {
		p.fixed.lead(p.temp)
	}
}

// stays reports whether a folder or link must keep its name. A file that may be written can be replaced by
// another file.
func (n names) stays(p place) bool {
	kind := p.kind()
	return p.exists && n[p.path] && (kind == unix.S_IFDIR || kind == unix.S_IFLNK)
}

// displaces answers a rename or link that would take a name from what keeps it, or give such a name to
// what is no plain file. "Busy" is what the kernel says of a folder that something is mounted on.
func (f *files) displaces(q *asked, from, to place, flags uint32) (a answer, ok bool) {
	fixed := f.plan.fixed[to.path]
	switch {
	case q.op == opRename && f.plan.fixed.stays(from), f.plan.fixed.stays(to),
		flags&unix.RENAME_EXCHANGE != 0 && (fixed || f.plan.fixed[from.path]):
		return fail(unix.EBUSY), true
	case !fixed || from.kind() == unix.S_IFREG:
		return a, false
	case from.kind() == unix.S_IFDIR:
		return fail(unix.EXDEV), true // what moves it makes a folder, and copies
	default:
		return fail(unix.EBUSY), true
	}
}
