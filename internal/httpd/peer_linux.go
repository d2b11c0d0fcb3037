package httpd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

func self() int { return os.Getpid() }

// handle is the calling process itself, whatever happens to its number.
type handle struct{ fd int } // -1: the kernel has none

func (h handle) close() {
	if h.fd >= 0 {
		_ = unix.Close(h.fd)
	}
}

// check returns an error if the process has ended. If not, its number is still its own.
func (h handle) check() error {
	if h.fd < 0 {
		return nil
	}
	fds := []unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return unknown(err)
		case n > 0:
			return unknown(errors.New("it has ended"))
		default:
			return nil
		}
	}
}

// connected asks the kernel who made a connection.
func connected(c *net.UnixConn) (pid int, h handle, err error) {
	h = handle{-1}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, h, err
	}
	var cred *unix.Ucred
	var credErr, pidErr error
	err = raw.Control(func(fd uintptr) {
		if cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); credErr != nil {
			return
		}
		var p int
		if p, pidErr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD); pidErr == nil {
			h.fd = p
		}
	})
	switch {
	case err != nil || credErr != nil:
		return 0, h, errors.Join(err, credErr)
	case pidErr != nil && !errors.Is(pidErr, unix.ENOPROTOOPT):
		return int(cred.Pid), h, fmt.Errorf("it has ended: %w", pidErr)
	case int(cred.Uid) != os.Geteuid():
		h.close()
		return int(cred.Pid), h, fmt.Errorf("it runs as user %d", cred.Uid)
	}
	return int(cred.Pid), h, nil
}

// proc is /proc.
type proc struct{}

func processes() table { return proc{} }

func (proc) process(pid int) (process, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, syscall.ESRCH) {
		err = fs.ErrNotExist // it ended while it was read
	}
	if err != nil {
		return process{}, err
	}
	return parseStat(string(b))
}

// parseStat reads what stands in /proc/PID/stat. The name is in brackets and may hold
// anything, brackets included; it is the process's own choice.
func parseStat(s string) (process, error) {
	const parent, group, session, start = 1, 2, 3, 19 // behind the name
	fields := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(fields) <= start {
		return process{}, errors.New("its entry in /proc is not understood")
	}
	var p process
	var errs [4]error
	p.parent, errs[0] = strconv.Atoi(fields[parent])
	p.group, errs[1] = strconv.Atoi(fields[group])
	p.session, errs[2] = strconv.Atoi(fields[session])
	p.start, errs[3] = strconv.ParseUint(fields[start], 10, 64)
	return p, errors.Join(errs[:]...)
}

// maxEnviron is more than a process is started with. Whoever has more hides something.
const maxEnviron = 8 << 20

func (proc) marked(pid int) (bool, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return hasMarker(f)
}

// hasMarker looks for the marker among variables parted by NUL bytes.
func hasMarker(r io.Reader) (bool, error) {
	all := &io.LimitedReader{R: r, N: maxEnviron}
	b := bufio.NewReader(all)
	begins := true // at a variable's name
	for {
		part, err := b.ReadSlice(0)
		if begins && bytes.HasPrefix(part, []byte(troupe.AgentVariable+"=")) {
			return true, nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			begins = false
		case errors.Is(err, io.EOF):
			if all.N <= 0 {
				return false, errors.New("its environment is too large")
			}
			return false, nil
		case err != nil:
			return false, err
		default:
			begins = true
		}
	}
}
