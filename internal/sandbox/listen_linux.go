//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// maxAttempts are kept; the rest is counted.
const maxAttempts = 64

// notification is struct seccomp_notif: one system call that waits for our answer.
type notification struct {
	id   uint64
	pid  uint32 // of the thread
	bits uint32
	nr   int32
	arch uint32
	ip   uint64
	args [6]uint64
}

// answer is struct seccomp_notif_resp without the number.
type answer struct {
	val   int64
	err   int32
	flags uint32
}

func proceed() answer                 { return answer{flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE} }
func fail(errno syscall.Errno) answer { return answer{err: -int32(errno)} }
func value(v int) answer              { return answer{val: int64(v)} }

// proceeds: the kernel makes the call, and decides about it.
func (a answer) proceeds() bool { return a.flags&unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE != 0 }

// answered is what a call gets that was made in its place.
func answered(err error) answer {
	var errno syscall.Errno
	switch {
	case err == nil:
		return value(0)
	case errors.As(err, &errno):
		return fail(errno)
	default:
		return fail(unix.EACCES)
	}
}

// Requests of the listener's descriptor that golang.org/x/sys does not have.
const (
	ioctlValid = 0x40082102 // SECCOMP_IOCTL_NOTIF_ID_VALID
	ioctlAddfd = 0x40182103 // SECCOMP_IOCTL_NOTIF_ADDFD
	ioctlFlags = 0x40082104 // SECCOMP_IOCTL_NOTIF_SET_FLAGS
)

// watch answers the watched calls of one command. Its goroutine alone uses what is below done
// until done is closed.
type watch struct {
	calls  *callers
	shapes map[uintptr]shape
	files  files
	net    reach
	done   chan struct{}
	seen   *sightings
}

// listen begins to answer. The watch must be ended.
func (s *Sandbox) listen(fd int, p *plan) *watch {
	_ = unix.SetNonblock(fd, true) // so that waiting for it costs no thread
	// Who asks and who answers take turns: let them do so on one processor. Older kernels
	// do not know how.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), ioctlFlags, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	calls := &callers{file: os.NewFile(uintptr(fd), "seccomp listener"), fd: fd, over: make(chan struct{})}
	seen := &sightings{attempts: map[troupe.Attempt]bool{}}
	look := lookup{own: s.own, private: p.private(), view: p.view}
	w := &watch{
		calls: calls, shapes: s.shapes(), done: make(chan struct{}), seen: seen,
		files: files{calls: calls, plan: p, seen: seen, lookup: look, changes: &s.changes,
			umask: s.umask},
		net: reach{calls: calls, plan: p, seen: seen, lookup: look, own: newSockets()},
	}
	w.net.files = &w.files
	go w.serve()
	return w
}

// end answers what still waits, and then no more.
func (w *watch) end() troupe.Watched {
	_ = w.calls.file.SetReadDeadline(time.Unix(1, 0)) // it is one that can be waited for
	<-w.done
	_ = w.calls.file.Close() // nothing was written
	w.seen.changes.tell(&w.seen.result)
	return w.seen.result
}

func (w *watch) serve() {
	defer close(w.done)
	defer w.net.own.close()
	defer w.calls.helpers.Wait()
	defer close(w.calls.over)
	if !attend(w.calls.file, w.drain) {
		w.seen.result.Blind = true
	}
}

// attend drains a file whenever there may be something, until nobody is left who could ask, or
// until the file's deadline. It returns false if it had to give up before that.
//
// A signal that comes while the kernel looks for Go's poller has it report nothing but an error of
// the file. Go takes that for good and waits no more until the next event says otherwise; whoever
// asked meanwhile would wait for ever. So that next event is waited for here.
func attend(file *os.File, drain func(fd int) (over bool)) bool {
	conn, err := file.SyscallConn()
	if err != nil {
		return false
	}
	over := false
	for !over {
		err := conn.Read(func(fd uintptr) bool { over = drain(int(fd)); return over })
		if over || errors.Is(err, os.ErrDeadlineExceeded) {
			return true
		}
		if errors.Is(err, os.ErrClosed) {
			return false
		}
		err = conn.Control(func(fd uintptr) {
			const look = 20 // ms; then it is asked again whether the deadline has come
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, look)
			over = drain(int(fd))
		})
		if err != nil {
			return false
		}
	}
	return true
}

// drain answers all that wait, and reports whether nobody is left.
func (w *watch) drain(fd int) bool {
	for {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return true
		case n == 0:
			return false
		case ready[0].Revents&unix.POLLIN != 0:
			w.one()
		case ready[0].Revents&unix.POLLHUP != 0:
			return true
		default:
			// A signal came while the kernel looked; it says that by an error of the file.
		}
	}
}

// one answers one call. Whoever made it may be gone at any time; then there is nobody to answer.
func (w *watch) one() {
	var n notification
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(w.calls.fd), unix.SECCOMP_IOCTL_NOTIF_RECV,
		uintptr(unsafe.Pointer(&n))); errno != 0 {
		return // the next look says whether somebody is left
	}
	s, ok := w.shapes[uintptr(n.nr)]
	if !ok {
		w.calls.send(n.id, fail(unix.ENOSYS))
		return
	}
	if a, now := w.judge(&n, s); now {
		w.calls.send(n.id, a)
	}
}

// judge decides about a call. It is now unless the answer comes from elsewhere.
func (w *watch) judge(n *notification, s shape) (a answer, now bool) {
	q := &asked{notification: n, shape: s, pid: int(n.pid)}
	for range maxJudged {
		q.anew = false
		if a, now = w.judgeOnce(q); !q.anew {
			break
		}
	}
	return a, now
}

// maxJudged is how often a call is judged while other commands move what it is about.
const maxJudged = 16

func (w *watch) judgeOnce(q *asked) (a answer, now bool) {
	switch {
	case q.op == opKill:
		return kill(q), true
	case q.op == opSchedule:
		return inSession(q, int(int32(q.arg(q.path)))), true
	case q.op == opExec:
		return w.files.starts(q), true
	case q.op >= opSocket:
		return w.net.judge(q)
	default:
		return w.files.judge(q)
	}
}

// callers are those who wait for an answer, behind the listener's descriptor.
type callers struct {
	file    *os.File
	fd      int
	helpers sync.WaitGroup // calls that are made beside the others, for they may have to wait
	over    chan struct{}  // closed once nobody waits any more
}

func (c *callers) send(id uint64, a answer) {
	resp := struct {
		id uint64
		answer
	}{id, a}
	_, _ = c.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&resp)) // it fails if nobody waits any more
}

// ioctl asks something of the listener. Signals, which the Go runtime sends itself all the
// time, can interrupt any of it; an answer that got lost so would be waited for forever.
func (c *callers) ioctl(request uintptr, arg unsafe.Pointer) (uintptr, syscall.Errno) {
	for {
		r, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(c.fd), request, uintptr(arg))
		if errno != unix.EINTR {
			return r, errno
		}
	}
}

// give answers a call with a file of ours.
func (c *callers) give(id uint64, fd int, flags uint32) answer {
	add := struct {
		id                       uint64
		flags, src, dst, dstFlag uint32
	}{id: id, src: uint32(fd), dstFlag: flags & unix.O_CLOEXEC}
	n, errno := c.ioctl(ioctlAddfd, unsafe.Pointer(&add))
	if errno != 0 {
		return fail(unix.EMFILE)
	}
	return value(int(n))
}

// alive reports whether the call still waits: what was read under /proc by its thread's
// number was then read of that thread.
func (c *callers) alive(id uint64) bool {
	_, errno := c.ioctl(ioctlValid, unsafe.Pointer(&id))
	return errno == 0
}

// sightings are what was seen of a command.
type sightings struct {
	attempts map[troupe.Attempt]bool
	changes  changeLog
	result   troupe.Watched
}

// record keeps an attempt that was refused.
func (s *sightings) record(op troupe.AttemptOp, path string) {
	s.note(troupe.Attempt{Op: op, Path: path})
}

func (s *sightings) note(a troupe.Attempt) {
	if s.attempts[a] {
		return
	}
	if len(s.attempts) < 16*maxAttempts { // of more than that, some may be counted twice
		s.attempts[a] = true
	}
	if len(s.result.Attempts) == maxAttempts {
		s.result.More++
		return
	}
	s.result.Attempts = append(s.result.Attempts, a)
}

// touch notes that something changed that outlives the command.
func (s *sightings) touch() {
	if len(s.result.Attempts) == 0 {
		s.result.Touched = true
	}
}
