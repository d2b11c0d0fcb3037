package httpd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

func self() int { return os.Getpid() }

// handle is nothing here: macOS has no handles of processes. Start times are compared.
type handle struct{}

func (handle) close()       {}
func (handle) check() error { return nil }

// connected asks the kernel who made a connection.
func connected(c *net.UnixConn) (pid int, h handle, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, h, err
	}
	var cred *unix.Xucred
	var credErr, pidErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		pid, pidErr = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	if err = errors.Join(err, credErr, pidErr); err != nil {
		return 0, h, err
	}
	if int(cred.Uid) != os.Geteuid() {
		return pid, h, fmt.Errorf("it runs as user %d", cred.Uid)
	}
	return pid, h, nil
}

// kernel is the table of processes that sysctl shows.
type kernel struct{}

func processes() table { return kernel{} }

func (kernel) process(pid int) (process, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EIO) || (err == nil && int(info.Proc.P_pid) != pid) {
		return process{}, fs.ErrNotExist // no entry comes back for a process that is gone
	}
	if err != nil {
		return process{}, err
	}
	began := info.Proc.P_starttime
	session, err := unix.Getsid(pid)
	if err != nil {
		session = 0
	}
	return process{
		parent: int(info.Eproc.Ppid), group: int(info.Eproc.Pgid), session: session,
		start: uint64(began.Sec)*1_000_000 + uint64(began.Usec),
	}, nil
}

// marked reads the arguments and the environment that a process was started with.
func (kernel) marked(pid int) (bool, error) {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ESRCH) {
		return false, fs.ErrNotExist
	}
	return bytes.Contains(b, []byte("\x00"+troupe.AgentVariable+"=")), err
}
