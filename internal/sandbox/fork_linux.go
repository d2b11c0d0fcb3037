//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	_ "unsafe" // for go:linkname

	"golang.org/x/sys/unix"
)

// A confined command confines itself: between fork and exec the child makes its mounts, gives
// up its capabilities and enters the Landlock domain and the seccomp filter. So no thread of
// this process is ever confined, none has to live as long as a command, and nothing has to be
// undone. The child shares our memory and file table until it has put the filter in place;
// that is how the filter's listener comes to us without being sent.
//
// Between fork and exec nothing may allocate, lock, or grow a stack. So what the child does is
// written down before: a list of system calls, with their arguments, that one small loop
// makes one after the other.

// step is one system call of a child that is being born.
type step struct {
	nr   uintptr
	args [6]uintptr
	// use is the argument that the last saved result stands for; -1: none.
	use  int8
	save bool // keep the result, for use
	// into is where the result goes as well, for a later argument that is read from there.
	into *int32
	may  bool // go on if it fails
	// want is what the result must be, if check is set.
	check bool
	want  uintptr
	// listener: the result is the descriptor of the filter's listener.
	listener bool
}

// birth is everything a child does until it is another program.
type birth struct {
	steps []step
	names []string // what each step is for, for messages
	keep  []any    // what the arguments point to
	// Set by the child, in the memory that it shares with us.
	failed   int // the step that failed; -1: none
	errno    uintptr
	listener int
	open     int // a descriptor that the child has made in our table and not closed yet
}

func newBirth() *birth { return &birth{failed: -1, listener: -1, open: -1} }

func (b *birth) add(name string, s step) {
	b.steps = append(b.steps, s)
	b.names = append(b.names, name)
}

// call adds a system call that must succeed and needs no earlier result.
func (b *birth) call(name string, nr uintptr, args ...uintptr) {
	s := step{nr: nr, use: -1}
	copy(s.args[:], args)
	b.add(name, s)
}

// try adds a system call that may fail.
func (b *birth) try(name string, nr uintptr, args ...uintptr) {
	b.call(name, nr, args...)
	b.steps[len(b.steps)-1].may = true
}

//go:linkname runtimeBeforeFork syscall.runtime_BeforeFork
func runtimeBeforeFork()

//go:linkname runtimeAfterFork syscall.runtime_AfterFork
func runtimeAfterFork()

//go:linkname runtimeAfterForkInChild syscall.runtime_AfterForkInChild
func runtimeAfterForkInChild()

// vfork makes a child that shares our stack; we stop until it is another program or has ended.
func vfork(flags uintptr) (pid, errno uintptr)

// run makes the child. Namespaces are flags of clone(2) that are added to those it needs.
func (b *birth) run(namespaces uintptr) (*os.Process, error) {
	flags := namespaces | unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_FILES | uintptr(unix.SIGCHLD)
	syscall.ForkLock.Lock() // so that it inherits nothing that is about to be marked close-on-exec
	pid, errno := b.fork(flags)
	runtimeAfterFork()
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(b)
	if errno != 0 {
		return nil, fmt.Errorf("start a process: %w", syscall.Errno(errno))
	}
	if b.open >= 0 {
		_ = unix.Close(b.open) // it failed in between
	}
	if b.failed < 0 {
		return os.FindProcess(int(pid))
	}
	for {
		if _, err := unix.Wait4(int(pid), nil, 0, nil); err != unix.EINTR {
			break
		}
	}
	return nil, &birthError{b.names[b.failed], syscall.Errno(b.errno)}
}

// fork returns twice, like the system call. The child does its steps in this frame and never
// leaves it; we leave it at once and touch nothing of it that the child may have changed.
//
//go:noinline
//go:norace
//go:nocheckptr
func (b *birth) fork(flags uintptr) (pid, errno uintptr) {
	var (
		i    int
		s    *step
		last uintptr
		r    uintptr
		e    syscall.Errno
	)
	runtimeBeforeFork()
	pid, errno = vfork(flags)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	runtimeAfterForkInChild()
	for i = 0; i < len(b.steps); i++ {
		s = &b.steps[i]
		if s.use >= 0 && s.use < 6 {
			s.args[s.use] = last
		}
		r, _, e = syscall.RawSyscall6(s.nr, s.args[0], s.args[1], s.args[2], s.args[3], s.args[4], s.args[5])
		if e == 0 && s.check && r != s.want {
			e = syscall.ESRCH
		}
		if e != 0 {
			if s.may {
				continue
			}
			b.errno = uintptr(e)
			b.failed = i
			break
		}
		if s.save {
			last = r
			b.open = int(r)
		}
		if s.nr == unix.SYS_CLOSE && s.use == 0 {
			b.open = -1
		}
		if s.into != nil {
			*s.into = int32(r)
		}
		if s.listener {
			b.listener = int(r)
		}
	}
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT, 253, 0, 0)
	}
}

// birthError says which step of a child's birth failed.
type birthError struct {
	step string
	err  syscall.Errno
}

func (e *birthError) Error() string { return e.step + ": " + e.err.Error() }
func (e *birthError) Unwrap() error { return e.err }
