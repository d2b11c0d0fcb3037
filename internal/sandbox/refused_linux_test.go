//go:build amd64 || arm64

package sandbox

import (
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// What passes no filter has to look as if the kernel did not have it, on every kernel: not
// "not permitted", after which programs give up, and not the kernel's own answer.
func TestNoIOUring(t *testing.T) {
	t.Parallel()
	for _, p := range policies() {
		prog := assemble(rules(p))
		for _, nr := range []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER} {
			if got, _ := interpret(t, prog, nr, auditArch, [6]uint64{}); got != refuse(unix.ENOSYS) {
				t.Errorf("%+v: call %d: %#x", p, nr, got)
			}
		}
	}
	has(t, "python3")
	r := newRoom(t, Options{})
	needLandlock(t, r)
	for _, level := range levels() {
		r.conf.Level = level
		// A kernel that has the calls says EFAULT or EBADF to these arguments.
		out, _, _ := r.run(python(`
for nr in (425,426,427):
    ctypes.set_errno(0); print(nr,libc.syscall(nr,1,None,0,0,0,0),ctypes.get_errno())`))
		if want := "425 -1 38\n426 -1 38\n427 -1 38\nDONE\n"; out != want {
			t.Errorf("%s: %q, want %q", level, out, want)
		}
	}
}

// No command types into a terminal, even one that is its own. Without the filter it succeeds
// here, or ends with EIO where the kernel forbids it to those without privileges.
func TestNoTypingIntoTerminals(t *testing.T) {
	t.Parallel()
	for _, p := range policies() {
		prog := assemble(rules(p))
		for _, request := range []uint64{unix.TIOCSTI, 0x541c, unix.TIOCSETD, unix.TIOCCONS} {
			args := [6]uint64{0, request}
			if got, _ := interpret(t, prog, unix.SYS_IOCTL, auditArch, args); got != refuse(unix.EPERM) {
				t.Errorf("%+v: ioctl %#x: %#x", p, request, got)
			}
		}
	}
	has(t, "python3")
	for _, level := range levels() {
		r := newRoom(t, Options{})
		needLandlock(t, r)
		r.conf.Level = level
		ptmx, tty, err := pty.Open()
		if err != nil {
			t.Skipf("there are no pseudo-terminals here: %v", err)
		}
		defer ptmx.Close()
		defer tty.Close()
		r.stdin = tty
		out, _, _ := r.run("exec 3<&0; " + python(`
import fcntl
def t(name,request,arg):
    try: fcntl.ioctl(3,request,arg); print(name,'done')
    except OSError as e: print(name,e.errno)
if os.fork()==0:
    os.setsid(); t('own',0x540e,0); t('type',0x5412,b'x'); t('line',0x5423,b'\0'*4); sys.stdout.flush(); os._exit(0)
os.wait()`))
		if want := "own done\ntype 1\nline 1\nDONE\n"; out != want {
			t.Errorf("%s: %q, want %q", level, out, want)
		}
	}
}
