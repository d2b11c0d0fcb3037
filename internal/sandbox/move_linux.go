//go:build amd64 || arm64

package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// pair answers renames and links.
func (f *files) pair(q *asked) answer {
	var flags uint32
	if q.flags != none {
		flags = q.flagBits()
	}
	from, a, ok := f.source(q, flags)
	if !ok {
		return a
	}
	defer from.close()
	to, a, ok := f.find(q, q.dir2, q.path2, false)
	if !ok {
		return a
	}
	defer to.close()
	switch {
	case !from.exists:
		return fail(unix.ENOENT)
	case to.exists && (q.op == opLink || flags&unix.RENAME_NOREPLACE != 0):
		return fail(unix.EEXIST)
	case from.path == to.path:
		return value(0) // nothing happens
	}
	if a, ok := f.displaces(q, from, to, flags); ok {
		return a
	}
	if q.op == opRename {
		f.changes.Lock() // nobody makes anything in a folder while it is looked through and moved
		defer f.changes.Unlock()
		if !from.isSame() || !to.isSame() {
			return q.judgeAnew()
		}
	}
	if q.op == opRename && flags == 0 {
		if a, ok := f.replace(q, from, to); ok {
			return a
		}
	}
	v := f.leave(q, from)
	v = max(v, f.arrive(q, from, to))
	if !from.bare && from.kind() != unix.S_IFDIR && (q.op == opLink || from.names > 1 || from.setsID()) &&
		f.plan.alias(from.path, to.path) {
		v = max(v, verdictElsewhere)
	}
	if flags&unix.RENAME_EXCHANGE != 0 {
		if to.kind() != unix.S_IFDIR && (to.names > 1 || to.setsID()) && f.plan.alias(from.path, to.path) {
			v = max(v, verdictElsewhere)
		}
		v = max(v, f.leave(q, to), f.arrive(q, to, from))
	}
	switch v {
	case verdictPass:
		return proceed()
	case verdictElsewhere:
		return fail(unix.EXDEV)
	case verdictDo:
		return answered(f.move(q, from, to, flags))
	default:
		return fail(unix.EACCES)
	}
}

// source is what is renamed or linked. A file that was opened without a name can get one, and so
// can one that is named by the descriptor that holds it.
func (f *files) source(q *asked, flags uint32) (from place, a answer, ok bool) {
	if q.op == opLink && flags&unix.AT_EMPTY_PATH != 0 {
		if name, err := text(q.pid, q.arg(q.path)); err == nil && name == "" {
			return f.nameless(q, int32(q.arg(q.dir)))
		}
	}
	from, a, ok = f.find(q, q.dir, q.path, q.op == opLink && flags&unix.AT_SYMLINK_FOLLOW != 0)
	if ok || !a.proceeds() || q.op != opLink || flags&unix.AT_SYMLINK_FOLLOW == 0 {
		return from, a, ok
	}
	if name, err := text(q.pid, q.arg(q.path)); err == nil {
		if fd, ok := descriptor(itself(q.pid, name), q.pid); ok {
			return f.nameless(q, fd)
		}
	}
	return from, a, false
}

// nameless is a file that the command has open. What has a name elsewhere is what that name is.
func (f *files) nameless(q *asked, fd int32) (p place, a answer, ok bool) {
	p = place{pid: q.pid, dir: -1}
	h, err := unix.Open("/proc/"+strconv.Itoa(q.pid)+"/fd/"+strconv.Itoa(int(fd)), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return p, answered(err), false
	}
	p.dir, p.name = h, ""
	var st unix.Stat_t
	if err = unix.Fstat(h, &st); err == nil {
		p.path, err = readlink(unix.AT_FDCWD, link(h))
	}
	if err != nil {
		p.close()
		return p, answered(err), false
	}
	p.exists, p.mode, p.names = true, st.Mode, uint64(st.Nlink)
	if p.bare = st.Nlink == 0; !p.bare {
		p.folder = p.path // it stands for one
		if p.dir, err = f.here(q, p.dir, p.path); err != nil {
			p.close()
			return p, answered(err), false
		}
	}
	return p, answer{}, true
}

// descriptor is the number of a process's own that a path means.
func descriptor(path string, pid int) (fd int32, ok bool) {
	name, ok := strings.CutPrefix(path, "/proc/"+strconv.Itoa(pid)+"/fd/")
	n, err := strconv.ParseInt(name, 10, 32)
	return int32(n), ok && err == nil
}

// verdict is what is to become of one end of a rename or link; of two ends the greater counts.
type verdict int

const (
	verdictPass      verdict = iota // the kernel decides
	verdictDo                       // only the listener can
	verdictElsewhere                // it cannot be moved whole; what moves it copies, piece by piece
	verdictRefuse                   // it may not be
)

// leave judges the end that something is taken from.
func (f *files) leave(q *asked, from place) verdict {
	if from.bare {
		return verdictDo // the command has made it, where it may
	}
	if q.op == opLink { // it stays where it is, but gets a name that is not guarded
		switch f.zoneOf(at(troupe.OpWrite, from), from) {
		case zoneProtected:
			f.attempt(at(troupe.OpWrite, from), from)
			return verdictRefuse
		case zoneOutside:
			return verdictRefuse
		case zoneGranted:
			return verdictDo
		default:
			return verdictPass
		}
	}
	try := at(removal(q, from), from)
	z := f.zoneOf(try, from)
	if z == zoneGranted && f.plan.isTwin(from) && !f.plan.allows(try) {
		z = zoneProtected
	}
	if z == zoneGranted && from.kind() == unix.S_IFDIR {
		if guarded, _ := f.holds(from.path, from.path); guarded != "" || hidesBelow(f.plan.hidden, from.path) {
			z = zoneProtected
		}
	}
	return f.judgeEnd(z, try, from)
}

// removal is what it is to take something away.
func removal(q *asked, p place) troupe.AttemptOp {
	if p.kind() == unix.S_IFDIR && p.occupied(q) {
		return troupe.OpRemoveFolder
	}
	return troupe.OpRemove
}

// arrive judges the end that something is put at.
func (f *files) arrive(q *asked, from, to place) verdict {
	try := q.puts(from, to)
	if to.exists && from.kind() == unix.S_IFREG && to.kind() == unix.S_IFREG {
		try = at(troupe.OpWrite, to) // it gets another content
	} else if to.exists {
		taken := at(removal(q, to), to)
		if v := f.judgeEnd(f.zoneOf(taken, to), taken, to); v != verdictDo {
			return v
		}
	}
	z := f.zoneOf(try, to)
	if to.exists && try.Op == troupe.OpCreate && (z == zoneOutside || z == zoneProtected) {
		f.attempt(try, to)
		return verdictRefuse
	}
	if z != zoneGranted {
		return f.judgeEnd(z, try, to)
	}
	if f.plan.isLoose(from) {
		return verdictElsewhere
	}
	if kind := from.kind(); kind == unix.S_IFDIR || kind == unix.S_IFLNK && !f.plan.allows(try) {
		if f.plan.leads(to.path) || kind == unix.S_IFLNK && f.misdirects(from, to) {
			f.attempt(q.puts(from, to), to)
			return verdictRefuse
		}
		if kind == unix.S_IFDIR {
			if f.zoneOf(at(removal(q, from), from), from) != zoneGranted {
				return verdictElsewhere
			}
			if f.plan.isInPad(from.path) && !f.plan.isInPad(to.path) {
				return verdictElsewhere // tools for files make in it meanwhile what only there is not guarded
			}
			hole, twins := f.holds(from.path, to.path)
			if hole != "" {
				f.seen.record(troupe.OpCreate, hole)
				return verdictRefuse
			}
			if twins && f.plan.alias(from.path, to.path) {
				return verdictElsewhere // their other names may be where they come from
			}
		}
	}
	return f.judgeEnd(z, try, to)
}

// isLoose reports whether a name may be another thing's by the time it is moved: the command changes what lies there
// without the listener, and may put a folder or a link in the place of the file that was judged.
func (p *plan) isLoose(from place) bool {
	if from.bare || from.name == "" {
		return false // it is moved by what holds it
	}
	z := p.zone(from.path)
	return z == zoneFree || z == zoneOpen
}

// misdirects reports whether a symbolic link leads, from where it would lie, to where it may not lead.
func (f *files) misdirects(from, to place) bool {
	says, err := readlink(from.dir, from.name)
	return err != nil || f.leadsOut(says, to.path)
}

// holds is a guarded path that there would be if a folder lay somewhere, or a link that would lead only then to where
// none may lead. Twins: a file in it has more names than one.
func (f *files) holds(folder, as string) (guarded string, twins bool) {
	alias := f.plan.alias(folder, as)
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		name := as + path[len(folder):]
		switch {
		case err != nil && path != folder:
			guarded = name // what cannot be looked through may hold anything
		case path == folder:
		case f.plan.guards(name), folder != as && e.Type()&fs.ModeSymlink != 0 && f.misguides(path, name):
			guarded = name
		case alias && !twins && e.Type().IsRegular():
			info, err := e.Info()
			twins = err != nil || links(info) > 1
		}
		if guarded != "" {
			return filepath.SkipAll
		}
		return nil
	})
	return guarded, twins
}

// misguides reports whether a link leads to where it may not lead once it lies elsewhere, and does not yet.
func (f *files) misguides(path, as string) bool {
	says, err := os.Readlink(path)
	return err != nil || f.leadsOut(says, as) && !f.leadsOut(says, path)
}

// hidesBelow reports whether something hidden lies below a folder. Elsewhere its path might hide it no more.
func hidesBelow(hidden []string, folder string) bool {
	return slices.ContainsFunc(hidden, func(h string) bool { return troupe.Within(h, folder) })
}

// judgeEnd judges one end by where it lies.
func (f *files) judgeEnd(z zone, try troupe.Attempt, p place) verdict {
	switch z {
	case zoneFree:
		return verdictPass
	case zoneOpen:
		f.seen.touch()
		return verdictPass
	case zoneGranted:
		f.seen.touch()
		f.changed(p.path)
		return verdictDo
	default:
		f.attempt(try, p)
		return verdictRefuse
	}
}
