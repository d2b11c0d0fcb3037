//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// asked is a watched call with what its arguments say.
type asked struct {
	*notification
	shape
	pid int
	// Of openat2, in the place of arguments.
	openFlags, openMode uint32
}

func (a *asked) arg(i int8) uint64 {
	if i == none {
		return 0
	}
	return a.args[i]
}

func (a *asked) flagBits() uint32 { return uint32(a.arg(a.flags)) }

// folderOf is the descriptor that a path is relative to.
func folderOf(arg uint64, i int8) int {
	if i == none {
		return unix.AT_FDCWD
	}
	return int(int32(arg))
}

// judge decides about a call. It is now unless the answer comes from elsewhere.
func (w *watch) judge(n *notification, s shape) (a answer, now bool) {
	q := &asked{notification: n, shape: s, pid: int(n.pid)}
	switch {
	case s.op == opSocket:
		return w.socket(q), true
	case s.op == opConnect:
		return w.connect(q)
	case s.op == opBind, s.op == opSendto:
		return w.address(q), true
	case s.op == opListen:
		return w.await(q), true
	case s.op == opKill:
		return w.kill(q), true
	case s.op >= opChmod:
		return w.attribute(q), true
	case s.op == opOpen, s.op == opCreat, s.op == opOpenat2:
		return w.open(q), true
	case s.op == opRename, s.op == opLink:
		return w.pair(q), true
	default:
		return w.single(q), true
	}
}

// find locates the path of a call. If it cannot, the answer is to let it pass: either it fails
// by itself, or what it means cannot be known and the kernel decides without us.
func (w *watch) find(q *asked, dir, path int8, follow bool) (p place, ok bool) {
	name, err := text(q.pid, q.arg(path))
	if err != nil {
		w.unreadable(err)
		return p, false
	}
	if slices.Contains(devices(), name) { // as every shell does with the terminal
		return p, false
	}
	p, err = w.locate(q.pid, folderOf(q.arg(dir), dir), name, follow)
	return p, err == nil
}

// unreadable notes that something was asked for that we could not read.
func (w *watch) unreadable(err error) {
	if errors.Is(err, unix.EPERM) {
		w.result.Blind = true
	}
}

func (w *watch) open(q *asked) answer {
	switch q.op {
	case opCreat:
		q.openFlags, q.openMode = unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, uint32(q.arg(q.mode))
	case opOpenat2:
		var how [24]byte
		if _, err := peek(q.pid, q.arg(q.flags), how[:]); err != nil {
			w.unreadable(err)
			return proceed()
		}
		q.openFlags, q.openMode = uint32(word(how[:], 0)), uint32(word(how[:], 8))
		if q.openFlags&(unix.O_ACCMODE|unix.O_CREAT|unix.O_TRUNC) == 0 {
			return proceed()
		}
	default:
		q.openFlags, q.openMode = q.flagBits(), uint32(q.arg(q.mode))
	}
	const exclusive = unix.O_CREAT | unix.O_EXCL
	p, ok := w.find(q, q.dir, q.path, q.openFlags&unix.O_NOFOLLOW == 0 && q.openFlags&exclusive != exclusive)
	if !ok {
		return proceed()
	}
	defer p.close()
	op := troupe.OpWrite
	switch {
	case !p.exists:
		if q.openFlags&unix.O_CREAT == 0 {
			return proceed() // there is nothing
		}
		op = troupe.OpCreate
	case p.kind() == unix.S_IFDIR && q.openFlags&unix.O_TMPFILE == unix.O_TMPFILE:
		op = troupe.OpCreate
	case q.openFlags&exclusive == exclusive, p.kind() == unix.S_IFDIR, p.kind() == unix.S_IFLNK:
		return proceed() // it fails
	}
	return w.change(op, p, func() answer { return w.openFor(q, p) })
}

// change answers a call that would change what lies at a place. Do makes the call where only
// the listener can.
func (w *watch) change(op troupe.AttemptOp, p place, do func() answer) answer {
	switch w.zone(p.path) {
	case zoneFree:
		return proceed()
	case zoneWritable:
		w.touch()
		return proceed()
	case zoneGranted:
		w.touch()
		return do()
	case zoneProtected:
		w.attempt(op, p)
		return fail(unix.EACCES) // the kernel does too, if it exists
	default:
		w.attempt(op, p)
		return proceed() // to be refused
	}
}

// attempt records what was refused here and nowhere else.
func (w *watch) attempt(op troupe.AttemptOp, p place) {
	switch {
	case isProcess(p.path):
	case op == troupe.OpWrite && !p.may(p.name, unix.W_OK):
	case op != troupe.OpWrite && !p.may(".", unix.W_OK|unix.X_OK):
	case isChore(p.pid, op, p.path):
	default:
		w.record(op, p.path)
	}
}

// isProcess reports whether a path is one of a process, which no file stands behind.
func isProcess(path string) bool {
	rest, ok := strings.CutPrefix(path, "/proc/")
	name, _, _ := strings.Cut(rest, "/")
	return ok && isNumbers(name)
}

// single answers calls that have one path.
func (w *watch) single(q *asked) answer {
	p, ok := w.find(q, q.dir, q.path, q.op == opTruncate)
	if !ok {
		return proceed()
	}
	defer p.close()
	folder := p.kind() == unix.S_IFDIR
	switch q.op {
	case opTruncate:
		if !p.exists || folder {
			return proceed()
		}
		return w.change(troupe.OpWrite, p, func() answer { return w.truncate(q, p) })
	case opUnlink, opRmdir:
		remove := q.op == opRmdir || q.flags != none && q.flagBits()&unix.AT_REMOVEDIR != 0
		if !p.exists || folder != remove || p.name == "." {
			return proceed()
		}
		flags := 0
		if remove {
			flags = unix.AT_REMOVEDIR
		}
		return w.change(troupe.OpRemove, p, func() answer { return answered(unix.Unlinkat(p.dir, p.name, flags)) })
	default: // it makes something
		if p.exists {
			return proceed()
		}
		if q.op == opSymlink {
			if hole := w.opens(p.path, ""); hole != "" {
				w.attempt(troupe.OpCreate, p)
				return fail(unix.EACCES)
			}
		}
		if q.op == opMkdir && w.leads(p.path) {
			w.touch()
			return w.make(q, p)
		}
		return w.change(troupe.OpCreate, p, func() answer { return w.make(q, p) })
	}
}

// leads reports whether a folder is missing on the way to something that was granted.
func (w *watch) leads(path string) bool {
	return slices.ContainsFunc(w.plan.late, func(l string) bool { return l != path && below(l, path) }) &&
		w.zone(path) == zoneOutside
}

// opens is a protected path that would exist if something were put at path: a symbolic link,
// or the folder from.
func (w *watch) opens(path, from string) string {
	for _, guard := range w.plan.protected {
		rest, ok := strings.CutPrefix(guard, path+"/")
		if !ok || from != "" && !exists(filepath.Join(from, rest)) {
			continue
		}
		return guard
	}
	return ""
}

func exists(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil
}

// holds is a protected path that exists below a folder.
func (w *watch) holds(dir string) string {
	for _, guard := range w.plan.protected {
		if guard != dir && below(guard, dir) && exists(guard) {
			return guard
		}
	}
	return ""
}

// pair answers renames and links.
func (w *watch) pair(q *asked) answer {
	from, ok := w.find(q, q.dir, q.path, q.op == opLink && q.flagBits()&unix.AT_SYMLINK_FOLLOW != 0 && q.flags != none)
	if !ok {
		return proceed()
	}
	defer from.close()
	to, ok := w.find(q, q.dir2, q.path2, false)
	if !ok {
		return proceed()
	}
	defer to.close()
	if !from.exists {
		return proceed()
	}
	var flags uint32
	if q.flags != none {
		flags = q.flagBits()
	}
	if to.exists && (q.op == opLink || flags&unix.RENAME_NOREPLACE != 0) {
		return proceed() // it fails
	}
	if from.path == to.path {
		return proceed()
	}
	into := troupe.OpCreate
	if to.exists {
		into = troupe.OpWrite
	}
	do := func() answer { return w.move(q, from, to, flags) }
	leave := w.leave(q, from)
	arrive := w.arrive(into, from, to)
	switch {
	case leave == verdictRefuse || arrive == verdictRefuse:
		return fail(unix.EACCES)
	case leave == verdictPass && arrive == verdictPass:
		return proceed()
	case leave == verdictOutside || arrive == verdictOutside:
		return fail(unix.EACCES)
	default:
		return do()
	}
}

// verdict is what is to become of one end of a rename or link.
type verdict int

const (
	verdictPass    verdict = iota // the kernel decides
	verdictDo                     // only the listener can
	verdictOutside                // the kernel refuses
	verdictRefuse                 // the listener refuses
)

// leave judges the end that something is taken from.
func (w *watch) leave(q *asked, from place) verdict {
	z := w.zone(from.path)
	if q.op == opLink { // it stays where it is, but gets a name that is not protected
		switch z {
		case zoneProtected:
			w.attempt(troupe.OpWrite, from)
			return verdictRefuse
		case zoneGranted:
			return verdictDo
		case zoneOutside:
			return verdictOutside
		default:
			return verdictPass
		}
	}
	if z == zoneProtected || z != zoneOutside && w.holds(from.path) != "" {
		w.attempt(troupe.OpRemove, from)
		return verdictRefuse
	}
	return w.judgeEnd(z, troupe.OpRemove, from)
}

// arrive judges the end that something is put at.
func (w *watch) arrive(op troupe.AttemptOp, from, to place) verdict {
	z := w.zone(to.path)
	if z != zoneOutside {
		if z == zoneProtected || w.holds(to.path) != "" {
			w.attempt(op, to)
			return verdictRefuse
		}
		source := from.path
		if from.kind() == unix.S_IFLNK {
			source = ""
		}
		if hole := w.opens(to.path, source); hole != "" && (from.kind() == unix.S_IFDIR ||
			from.kind() == unix.S_IFLNK) {
			w.record(troupe.OpCreate, hole)
			return verdictRefuse
		}
	}
	return w.judgeEnd(z, op, to)
}

// judgeEnd judges one end by where it lies. (An exchange takes from both; the second is judged
// as written over.)
func (w *watch) judgeEnd(z zone, op troupe.AttemptOp, p place) verdict {
	switch z {
	case zoneFree:
		return verdictPass
	case zoneWritable:
		w.touch()
		return verdictPass
	case zoneGranted:
		w.touch()
		return verdictDo
	default:
		w.attempt(op, p)
		return verdictOutside
	}
}

// kill, where Landlock does not know signals, keeps them within the session of who sends
// them.
func (w *watch) kill(q *asked) answer {
	pid := int(int32(q.arg(q.path)))
	if pid == 0 {
		return proceed()
	}
	if pid == -1 {
		return fail(unix.EPERM)
	}
	whose, err := unix.Getsid(max(pid, -pid))
	if err != nil {
		return fail(unix.ESRCH)
	}
	mine, err := unix.Getsid(q.pid)
	if err != nil || whose != mine {
		return fail(unix.EPERM)
	}
	return proceed()
}

func word(b []byte, at int) uint64 {
	var v uint64
	for i := range 8 {
		v |= uint64(b[at+i]) << (8 * i)
	}
	return v
}
