package httpd

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// listen opens a socket that any user may connect to, as the server's own is not.
func listen(t *testing.T) (l *net.UnixListener, name string) {
	t.Helper()
	name = fmt.Sprintf("@troupe-test-%d-%s", os.Getpid(), t.Name())
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, name
}

func accept(t *testing.T, l *net.UnixListener) *net.UnixConn {
	t.Helper()
	c, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestForeignUser: the process is this very one, which may call; the user alone rules it out.
func TestForeignUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT tested: that another user's call is refused takes root, who can be another user")
	}
	l, name := listen(t)
	if err := connectAs(unix.Geteuid(), name); err != nil {
		t.Fatal(err)
	}
	if p := look(accept(t, l)); p.refused != nil || p.pid != os.Getpid() {
		t.Fatalf("this process and user: %+v", p)
	}
	const stranger = 65534
	if err := connectAs(stranger, name); err != nil {
		t.Fatal(err)
	}
	if p := look(accept(t, l)); p.refused == nil || !strings.Contains(p.refused.Error(), "it runs as user 65534") {
		t.Errorf("another user: %+v", p)
	}
}

// connectAs connects as another user. Only the thread that calls is one; it ends with the goroutine.
func connectAs(uid int, name string) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		const same = ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, same, uintptr(uid), same); errno != 0 {
			done <- errno
			return
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: name})
			_ = unix.Close(fd)
		}
		done <- err
	}()
	return <-done
}

// TestDeadCaller: a caller has ended, and an innocent process has its number by now.
func TestDeadCaller(t *testing.T) {
	t.Parallel()
	l, name := listen(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], name)
	cmd.Env = append(os.Environ(), helperEnv+"="+connectIt)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "connected") {
		t.Fatalf("%v: %s", err, &out)
	}
	pid := cmd.Process.Pid
	innocent := &world{procs: map[int]process{pid: {parent: 1, group: pid, session: pid, start: 1}}}
	if err := judge(innocent, os.Getpid(), pid); err != nil {
		t.Fatalf("it is not innocent: %v", err)
	}
	c := accept(t, l)
	if !knowsHandles(t, c) {
		t.Skip("NOT tested: this kernel has no handles of callers (Linux 6.5)")
	}
	if p := lookIn(innocent, os.Getpid(), c); p.refused == nil || !strings.Contains(p.refused.Error(), "it has ended") {
		t.Errorf("a dead caller: %+v", p)
	}
}

// knowsHandles reports whether the kernel can tell a caller from another with its number.
func knowsHandles(t *testing.T, c *net.UnixConn) bool {
	t.Helper()
	_, h, err := connected(c)
	if err != nil {
		return true
	}
	defer h.close()
	return h.fd >= 0
}
