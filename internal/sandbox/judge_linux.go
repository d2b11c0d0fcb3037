//go:build amd64 || arm64

package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// asked is a watched call with what its arguments say.
type asked struct {
	*notification
	shape
	pid  int
	by   who // once it was asked for
	read bool
	anew bool // to be judged anew: something has moved since it was looked at
	// Of opens, in the place of arguments; of a new symbolic link, what it says.
	openFlags, openMode uint32
	says                string
}

func (a *asked) arg(i int8) uint64 {
	if i == none {
		return 0
	}
	return a.args[i]
}

// who is the caller, looked up once.
func (a *asked) who() *who {
	if !a.read {
		a.by, a.read = whoIs(a.pid), true
	}
	return &a.by
}

// as does something with the caller's rights. Only a process of root can have callers that are others.
func (a *asked) as(do func() error) error {
	if unix.Geteuid() != 0 {
		return do()
	}
	return a.who().as(do)
}

// judgeAnew is the answer of a call about which another command has changed something since it was judged.
func (a *asked) judgeAnew() answer {
	a.anew = true
	return fail(unix.EBUSY)
}

func (a *asked) flagBits() uint32 { return uint32(a.arg(a.flags)) }

// creates: what it makes gets a mode.
func (a *asked) creates() bool {
	switch a.op {
	case opOpen, opCreat:
		return a.openFlags&makesFile != 0
	default:
		return a.op == opMkdir || a.op == opMknod
	}
}

// folderOf is the descriptor that a path is relative to.
func folderOf(arg uint64, i int8) int {
	if i == none {
		return unix.AT_FDCWD
	}
	return int(int32(arg))
}

// files judges the calls that change files, and makes those that are let. Nothing that is guarded
// depends on what the kernel finds in a command's memory when it looks again: where something is
// guarded the command has no right to change anything, and a call that is passed on fails there.
type files struct {
	calls   *callers
	plan    *plan
	seen    *sightings
	lookup  lookup
	changes *sync.RWMutex
	umask   func() uint32 // our own
}

// judge decides about a call. It is now unless the answer comes from elsewhere.
func (f *files) judge(q *asked) (a answer, now bool) {
	switch {
	case q.op >= opChmod:
		return f.attribute(q), true
	case q.op == opOpen, q.op == opCreat:
		return f.open(q)
	case q.op == opRename, q.op == opLink:
		return f.pair(q), true
	default:
		return f.single(q), true
	}
}

// find locates the path of a call. If ok is false, a is its answer.
func (f *files) find(q *asked, dir, path int8, follow bool) (p place, a answer, ok bool) {
	name, err := text(q.pid, q.arg(path))
	if err != nil {
		return p, f.unreadable(err, q.arg(path)), false
	}
	if slices.Contains(devices(), name) { // as every shell does with the terminal
		return p, proceed(), false
	}
	p, err = f.lookup.locate(q, folderOf(q.arg(dir), dir), name, follow)
	switch {
	case err == errOdd: //nolint:errorlint // it is ours and never wrapped
		return p, proceed(), false
	case err != nil:
		return p, answered(err), false
	case p.free:
		return p, proceed(), false
	}
	return p, answer{}, true
}

// unreadable answers a call whose arguments cannot be read. The kernel could, where a command keeps
// memory from everybody else; so the call fails, and that it was made is seen.
func (f *files) unreadable(err error, address uint64) answer {
	switch {
	case err == unix.EPERM: //nolint:errorlint // it is the system's own
		f.seen.result.Blind = true
	case err == unix.EFAULT && address != 0: //nolint:errorlint // as above
		f.seen.record(troupe.OpUnseen, "")
	}
	return answered(err)
}

func (f *files) open(q *asked) (a answer, now bool) {
	q.openFlags, q.openMode = q.flagBits(), uint32(q.arg(q.mode))
	if q.op == opCreat {
		q.openFlags = unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC
	}
	if q.creates() && q.openMode&setIDs != 0 {
		return f.refuseID(q), true
	}
	const exclusive = unix.O_CREAT | unix.O_EXCL
	p, a, ok := f.find(q, q.dir, q.path, q.openFlags&unix.O_NOFOLLOW == 0 && q.openFlags&exclusive != exclusive)
	if !ok {
		return a, true
	}
	defer p.close()
	try := at(troupe.OpWrite, p)
	switch {
	case !p.exists:
		if q.openFlags&unix.O_CREAT == 0 {
			return fail(unix.ENOENT), true
		}
		try.Op = troupe.OpCreate
	case p.kind() == unix.S_IFDIR && q.openFlags&unix.O_TMPFILE == unix.O_TMPFILE:
		if try.Op = troupe.OpCreate; f.zoneOf(try, p) == zoneOutside {
			return fail(unix.EOPNOTSUPP), true // then programs make one with a name, which can be asked about
		}
	case q.openFlags&exclusive == exclusive:
		return fail(unix.EEXIST), true
	case p.kind() == unix.S_IFDIR, p.kind() == unix.S_IFLNK:
		return proceed(), true // it fails, or changes nothing
	}
	return f.change(try, p, func() (answer, bool) { return f.openFor(q, p) })
}

// change answers a call that would change what lies at a place. Do makes the call where only
// the listener can.
func (f *files) change(try troupe.Attempt, p place, do func() (answer, bool)) (a answer, now bool) {
	switch f.zoneOf(try, p) {
	case zoneFree:
		return proceed(), true
	case zoneOpen:
		f.seen.touch()
		return proceed(), true
	case zoneGranted:
		f.seen.touch()
		if folder := p.exists && p.kind() == unix.S_IFDIR || try.Kind == troupe.KindFolder; !folder {
			f.changed(p.path)
		}
		return do()
	case zoneProtected:
		f.attempt(try, p)
		return fail(unix.EACCES), true
	default:
		f.attempt(try, p)
		return proceed(), true // to be refused
	}
}

// changed notes a file that is about to change, but in a cache.
func (f *files) changed(path string) {
	if !f.plan.isHeld(path) {
		f.seen.changes.about(path)
	}
}

// zoneOf is the zone of a place for one operation. A file that is written under one name is guarded if it is
// under another.
func (f *files) zoneOf(try troupe.Attempt, p place) zone {
	if p.unseen {
		return zoneOutside
	}
	z := f.plan.ofCache(f.plan.zone(p.path), try, p)
	if z == zoneGranted && try.Op == troupe.OpWrite && f.plan.isTwin(p) {
		return zoneProtected
	}
	if z == zoneProtected && try.Op == troupe.OpRemove && p.kind() == unix.S_IFREG && f.plan.replaces != nil &&
		f.plan.replaces(p.path, nil, nil) {
		return zoneGranted
	}
	if (z == zoneOutside || z == zoneProtected) && f.plan.may(try, p) && (z == zoneProtected || !f.plan.isTwin(p)) {
		return zoneGranted
	}
	return z
}

// attempt records what was refused here and nowhere else.
func (f *files) attempt(try troupe.Attempt, p place) {
	switch {
	case isProcess(p.path):
	case try.Op == troupe.OpWrite && !p.may(p.name, unix.W_OK):
	case try.Op != troupe.OpWrite && !p.may(".", unix.W_OK|unix.X_OK):
	case isChore(p.pid, try.Op, p.path):
	default:
		f.seen.note(try)
	}
}

// isProcess reports whether a path is one of a process, which no file stands behind.
func isProcess(path string) bool {
	rest, ok := strings.CutPrefix(path, "/proc/")
	name, _, _ := strings.Cut(rest, "/")
	return ok && isNumbers(name)
}

// single answers calls that have one path.
func (f *files) single(q *asked) answer {
	if q.op == opSymlink {
		var err error
		if q.says, err = text(q.pid, q.arg(q.path2)); err != nil {
			return f.unreadable(err, q.arg(q.path2))
		}
	}
	if q.op == opMknod && q.arg(q.mode)&setIDs != 0 {
		return f.refuseID(q)
	}
	p, a, ok := f.find(q, q.dir, q.path, q.op == opTruncate)
	if !ok {
		return a
	}
	defer p.close()
	try, do := q.makes(p), func() answer { return f.create(q, p) }
	folder := p.kind() == unix.S_IFDIR
	switch q.op {
	case opTruncate:
		if !p.exists || folder {
			return proceed() // it fails
		}
		try, do = at(troupe.OpWrite, p), func() answer { return f.truncate(q, p) }
	case opUnlink, opRmdir:
		flags := 0
		if q.op == opRmdir || q.flags != none && q.flagBits()&unix.AT_REMOVEDIR != 0 {
			flags = unix.AT_REMOVEDIR
		}
		if !p.exists || folder != (flags != 0) || p.name == "." {
			return proceed() // it fails
		}
		if folder && p.occupied(q) {
			return fail(unix.ENOTEMPTY) // git tries it with every folder that it has taken a file from
		}
		if f.plan.fixed.stays(p) {
			return fail(unix.EBUSY)
		}
		try, do = at(troupe.OpRemove, p), func() answer { return f.remove(q, p, flags) }
	default: // it makes something
		if p.exists {
			return fail(unix.EEXIST)
		}
		if q.op == opSymlink && f.plan.fixed[p.path] {
			return fail(unix.EBUSY)
		}
		if q.op == opSymlink && f.misleads(q, p) {
			f.attempt(try, p)
			return fail(unix.EACCES)
		}
		if q.op == opMkdir && f.plan.onTheWay(p.path) {
			f.seen.touch()
			return f.create(q, p)
		}
	}
	a, _ = f.change(try, p, func() (answer, bool) { return do(), true })
	return a
}

// misleads reports whether a new symbolic link would put something at a guarded place, or something
// from the command's temporary folder, where nothing is guarded, into a folder where much is.
func (f *files) misleads(q *asked, p place) bool {
	if f.zoneOf(q.makes(p), p) != zoneGranted || f.plan.allows(q.makes(p)) {
		return false // it is not made, or was shown
	}
	if f.plan.leads(p.path) {
		return true
	}
	return f.leadsOut(q.says, p.path)
}

// leadsOut reports whether what a link says leads from its place to where everything may be changed: the
// temporary folder, a cache or the scratchpad; or out of the folder of git that it lies in.
func (f *files) leadsOut(says, at string) bool {
	if f.plan.isHeld(at) || f.plan.isInPad(at) {
		return false // nothing is guarded there
	}
	if f.plan.leavesGit(says, at) {
		return true
	}
	if !filepath.IsAbs(says) {
		says = filepath.Join(filepath.Dir(at), says)
	}
	target := resolved(says)
	return f.plan.unguarded(target) && !slices.Contains(devices(), target) ||
		f.plan.pad != "" && target == f.plan.pad ||
		troupe.WithinAny(target, slices.Concat(f.plan.native(), f.plan.held))
}

// leavesGit reports whether a link that would lie in a folder of git leads out of it, or to what is guarded there. Git
// writes its files by their names: a message by COMMIT_EDITMSG, a line for each commit by logs/HEAD.
func (p *plan) leavesGit(says, at string) bool {
	if p.repository == nil {
		return false
	}
	dir := p.repository(at)
	if dir == "" {
		return false
	}
	below := says
	for strings.HasPrefix(below, "../") {
		below = strings.TrimLeft(below[len("../"):], "/")
	}
	if below != ".." && slices.Contains(strings.Split(below, "/"), "..") {
		return true // what is above a name that may become a link by then is not known
	}
	if !filepath.IsAbs(says) {
		says = filepath.Join(filepath.Dir(at), says)
	}
	target := resolved(says)
	return target == dir || !troupe.Within(target, dir) || p.guarded(target) || p.leads(target)
}

// kill, where Landlock does not know signals, keeps them within the session of who sends them.
func kill(q *asked) answer {
	pid := int(int32(q.arg(q.path)))
	if pid == 0 {
		return proceed()
	}
	if pid == -1 {
		return fail(unix.EPERM)
	}
	return inSession(q, max(pid, -pid))
}

// inSession lets a call pass that is about a process or a thread of the caller's own session. Its number is no
// text in memory: it cannot be another one when the kernel looks. To stand for another process by then, all
// numbers would have to be given out in between.
func inSession(q *asked, pid int) answer {
	whose, err := unix.Getsid(pid)
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
