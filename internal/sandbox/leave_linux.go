//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// made is what a command has made at a place where it had leave to make it.
type made struct {
	id   inode
	born unix.StatxTimestamp
	kind troupe.Made // that of the leave
}

// leaves are what was allowed for one run of a command, one operation at one place each. Once it runs, its listener
// alone uses them.
type leaves struct {
	granted []troupe.Attempt
	there   []troupe.Attempt       // leave to make what is there: it opens nothing, unless the same command made it
	made    map[string]made        // by leave, by where it was made
	closed  func(path string) bool // to any leave; nil: nothing is
	works   *works
}

// madeAt is what lies at a name now.
func madeAt(dir int, name string) (m made, err error) {
	var st unix.Stat_t
	if err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return m, err
	}
	var x unix.Statx_t
	if err = unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &x); err == nil {
		m.id, m.born = inode{uint64(st.Dev), st.Ino}, x.Btime
	}
	return m, err
}

// works are what commands have made by leave. One that is asked about twice runs three times: what it made in the
// second run is its own in the third. Commands are told apart by their temporary folder and the leave they have.
type works struct {
	mu   sync.Mutex
	made map[work]made
}

type work struct{ temp, path string }

const maxWorks = 4096 // what is forgotten is asked about

func (w *works) keep(temp, path string, m made) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.made == nil || len(w.made) >= maxWorks {
		w.made = make(map[work]made)
	}
	w.made[work{temp, path}] = m
}

// take gives a plan the leave for what its own command has made.
func (w *works) take(p *plan) {
	p.leave.works = w
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range p.leave.there {
		m, ok := w.made[work{p.temp, a.Path}]
		if !ok || m.kind != a.Kind || !m.isAt(a.Path) {
			continue
		}
		p.leave.granted = append(p.leave.granted, a)
		if p.leave.made == nil {
			p.leave.made = make(map[string]made)
		}
		p.leave.made[a.Path] = m
	}
}

// grant adds what was allowed for this run, one operation at one place each. Where a path leads elsewhere by now it
// is not what was shown: what the command does there is refused, and told with the place where it would have
// happened. Nor is leave to make something leave to change what lies there by now.
func (p *plan) grant(granted []troupe.Attempt) {
	for _, a := range granted {
		if resolved(a.Path) != a.Path {
			continue
		}
		info, err := os.Lstat(a.Path)
		switch absent := errors.Is(err, fs.ErrNotExist); {
		case err == nil && a.Op == troupe.OpCreate:
			p.leave.there = append(p.leave.there, a)
		case err != nil && !absent, absent != (a.Op == troupe.OpCreate):
		case p.report.Notify:
			p.leave.granted = append(p.leave.granted, a)
		case !absent && !info.IsDir():
			p.writable = append(p.writable, a.Path) // the kernel knows no single operations
		}
	}
}

// allows reports whether an operation was allowed at its place.
func (p *plan) allows(a troupe.Attempt) bool {
	for _, g := range p.leave.granted {
		if g.Covers(a) || g.Op == troupe.OpRemoveFolder && a.Op == troupe.OpRemove && g.Path == a.Path {
			return true
		}
	}
	return a.Op == troupe.OpCreate && a.Kind == "" && p.renews(a.Path)
}

// renews reports whether a file may be removed, and may get any content: then it may be made anew.
func (p *plan) renews(path string) bool {
	has := func(op troupe.AttemptOp) bool {
		for _, g := range p.leave.granted {
			if g.Op == op && g.Path == path {
				return true
			}
		}
		return false
	}
	return has(troupe.OpRemove) && has(troupe.OpWrite)
}

// may reports whether an operation was allowed for this run, or is on what the run has made by leave.
func (p *plan) may(a troupe.Attempt, at place) bool {
	switch {
	case p.isHidden(a.Path), p.leave.closed != nil && p.leave.closed(a.Path):
		return false
	case p.allows(a):
		return true
	}
	_, own := p.own(at)
	return own
}

// own reports whether a place is one that the run has made by leave, or lies below one. Of what is protected below
// it, only leave for the whole tree is leave.
func (p *plan) own(at place) (kind troupe.Made, ok bool) {
	for path, m := range p.leave.made {
		switch {
		case path == at.path:
			ok = at.exists && at.id == m.id && m.isAt(path)
		case !troupe.Within(at.path, path) || m.kind != troupe.KindFolder && m.kind != troupe.KindTree:
			ok = false
		default:
			ok = m.isAt(path) && (m.kind == troupe.KindTree || !p.guarded(at.path))
		}
		if ok {
			return m.kind, true
		}
	}
	return "", false
}

// isAt reports whether what was made is what lies at a path. A file that comes after it can get its number, and is
// younger: where the file system says when a file was made.
func (m *made) isAt(path string) bool {
	now, err := madeAt(unix.AT_FDCWD, path)
	return err == nil && m.id == now.id && m.born == now.born
}

// guards reports whether a path stays as it is, also below what the run has made.
func (p *plan) guards(path string) bool {
	if !p.guarded(path) {
		return false
	}
	kind, own := p.own(place{path: path})
	return !own || kind != troupe.KindTree || p.leave.closed != nil && p.leave.closed(path)
}

func (p *plan) isTwin(at place) bool { return at.exists && at.names > 1 && p.twins[at.id] }

// note keeps what was made, if there was leave to make it.
func (p *plan) note(a troupe.Attempt, at place) {
	for _, g := range p.leave.granted {
		if g.Op != troupe.OpCreate || !g.Covers(a) {
			continue
		}
		m, err := madeAt(at.dir, at.name)
		if err != nil {
			return
		}
		if p.leave.made == nil {
			p.leave.made = make(map[string]made)
		}
		m.kind = g.Kind
		p.leave.made[at.path] = m
		p.leave.works.keep(p.temp, at.path, m)
		return
	}
}

// makes is the attempt of a call that makes something at a place.
func (a *asked) makes(p place) troupe.Attempt {
	try := troupe.Attempt{Op: troupe.OpCreate, Path: p.path}
	switch a.op {
	case opMkdir:
		try.Kind = troupe.KindFolder
	case opSymlink:
		try.Kind, try.To = troupe.KindLink, a.says
	case opMknod:
		try.Kind = kindOf(uint32(a.arg(a.mode)))
	case opBind:
		try.Kind = troupe.KindSocket
	default:
	}
	return try
}

// puts is the attempt of a rename or link that puts something at a place.
func (a *asked) puts(from, to place) troupe.Attempt {
	try := troupe.Attempt{Op: troupe.OpCreate, Path: to.path}
	switch {
	case from.bare:
	case a.op == opLink:
		try.Kind, try.To = troupe.KindName, from.path
	default:
		if try.Kind = kindOf(from.mode); try.Kind == troupe.KindLink {
			try.To, _ = readlink(from.dir, from.name) // one that cannot be read is not what was shown
		}
	}
	return try
}

// kindOf is the kind of what is not made but moved, or of a node.
func kindOf(mode uint32) troupe.Made {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return troupe.KindMoved
	case unix.S_IFLNK:
		return troupe.KindLink
	case unix.S_IFSOCK:
		return troupe.KindSocket
	case unix.S_IFIFO:
		return troupe.KindPipe
	default:
		return ""
	}
}

// at is an attempt at a place.
func at(op troupe.AttemptOp, p place) troupe.Attempt {
	return troupe.Attempt{Op: op, Path: filepath.Clean(p.path)}
}
