package shell

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A mark is written where the kernel keeps a process's limit on file locks. It hands that limit to every child and
// shows it to the same user, and has not acted on it since Linux 2.4, so nothing else is meant by it and nothing
// depends on it. Only who lowers the limit for itself (ulimit -x), or becomes another user, loses its mark and is known
// by its group alone.
//
// The obvious way, a process that adopts orphans (PR_SET_CHILD_SUBREAPER), adopts only what
// descends from it. To know whose orphan is whose it has to stand between us and each
// command, as a program of its own to be started each time; a mark costs two calls.
const (
	marksEach = 1 << 20 // marks of one process; they are used again after so many commands
	leastMark = 1 << 40 // below it somebody may have meant a limit
)

// marks are the marks that this process gives out: low+1 to low+marksEach.
type marks struct {
	low  uint64
	most uint64 // the hard limit that goes with them; 0: the mark itself
	n    atomic.Uint64
}

// newMarks takes numbers that nobody else uses, by chance. A process that bears a mark
// itself is part of a command, and so are its commands: their hard limit stays that of the
// outer command, which ends them all with its own, and the soft one is theirs.
func newMarks() *marks {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_LOCKS, &own); err != nil {
		return &marks{}
	}
	m := &marks{}
	from, to := uint64(1<<61), uint64(1<<62)
	if own.Max < math.MaxInt64 {
		m.most, from, to = own.Max, leastMark, own.Max-min(own.Max, 2*marksEach)
	}
	if from >= to {
		return &marks{}
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	m.low = (from + binary.LittleEndian.Uint64(b[:])%(to-from)) / marksEach * marksEach
	return m
}

// put marks a process that has not started anything yet. It returns 0 where the system does
// not let us.
func (m *marks) put(pid int) mark {
	if m.low == 0 {
		return 0
	}
	k := m.low + 1 + m.n.Add(1)%marksEach
	limit := unix.Rlimit{Cur: k, Max: k}
	if m.most != 0 {
		limit.Max = m.most
	}
	if unix.Prlimit(pid, unix.RLIMIT_LOCKS, &limit, nil) != nil {
		return 0
	}
	return mark(k)
}

// bounds are the first and the last mark, for the watcher; "" if there are none.
func (m *marks) bounds() (first, last string) {
	if m.low == 0 {
		return "", ""
	}
	return strconv.FormatUint(m.low+1, 10), strconv.FormatUint(m.low+marksEach, 10)
}

// signal sends a signal to all kin, once to each, and reports whether there was anybody who
// has not ended. (What nobody has waited for yet has: some containers have nobody who does.)
// A process that is born while we look may be missed: whoever must be sure asks again until
// there is nobody.
func (k kin) signal(sig syscall.Signal) bool {
	grouped := signalGroup(k.group, sig)
	if !grouped && k.mark == 0 {
		return false
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return grouped
	}
	defer proc.Close() //nolint:errcheck // only read from
	names, _ := proc.Readdirnames(-1)
	found := false
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		switch {
		case grouped && k.member(pid):
			found = found || signalIf(pid, 0, k.member) // it has the signal
		case k.mark.on(pid):
			found = signalIf(pid, sig, k.mark.on) || found
		}
	}
	return found
}

func (k kin) member(pid int) bool {
	group, err := unix.Getpgid(pid)
	return err == nil && group == k.group
}

func (k mark) on(pid int) bool {
	var l unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &l)
	return k != 0 && err == nil && (l.Cur == uint64(k) || l.Max == uint64(k))
}

// reach sends a signal to a process that is still meant once we hold on to it: its number
// could have been given to another since it was read. It is false if the process has ended.
func signalIf(pid int, sig syscall.Signal, meant func(pid int) bool) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return false
	case err != nil: // an old kernel, or not for us
		return unix.Kill(pid, sig) == nil
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	if !meant(pid) {
		return false
	}
	ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(ended, 0); err == nil && n > 0 {
		return false
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0) == nil
}
