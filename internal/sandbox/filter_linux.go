//go:build amd64 || arm64

package sandbox

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// policy is what a filter depends on.
type policy struct {
	landlock int  // version
	listener bool // somebody answers notifications
	net      netAccess
	proxy    int // the only port, on loopback, where there is one
}

// netAccess is how much of the network there is.
type netAccess int

const (
	netNone  netAccess = iota
	netPorts           // some TCP ports; Landlock knows which
	netAll
)

// unwanted are refused to everybody. Each could undo the confinement, act on what is outside,
// or change the machine; reading and computing need none of them.
func unwanted() []uintptr {
	return append(refusedHere(),
		// Mounts and namespaces: what is covered or read-only would not be.
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
		unix.SYS_OPEN_TREE_ATTR,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS,
		// Other processes: what they may would be ours.
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
		unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
		// Files by number instead of by path.
		unix.SYS_OPEN_BY_HANDLE_AT,
		// The kernel's less travelled roads.
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE,
		unix.SYS_NFSSERVCTL,
		// Keys, and queues and memory that outlive a process and that others can reach.
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP,
		unix.SYS_SEMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
		// The machine.
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
		unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT,
		unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_VHANGUP,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	)
}

// missing are answered as a kernel does that does not have them, for which programs have
// another way: one that can be watched.
func missing(p policy) []uintptr {
	calls := []uintptr{
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, // its requests pass no filter
		unix.SYS_CLONE3,  // its flags are in memory
		unix.SYS_OPENAT2, // so are its flags, and the mode of what it makes
		unix.SYS_FCHMODAT2, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
	}
	if p.landlock < 6 {
		calls = append(calls, unix.SYS_PIDFD_SEND_SIGNAL)
	}
	return calls
}

// rules are the whole filter.
func rules(p policy) []rule {
	var list []rule
	list = append(list, opens(p)...)
	list = append(list, rule{nr: unix.SYS_IOCTL, tests: ioctls(), last: pass})
	const newNamespace = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	list = append(list,
		rule{nr: unix.SYS_CLONE, tests: []test{{arg: 0, mask: newNamespace, values: []uint32{0}, then: pass}},
			last: refuse(unix.EPERM)},
		rule{nr: unix.SYS_UNSHARE, tests: []test{{arg: 0, mask: newNamespace | unix.CLONE_NEWTIME, values: []uint32{0},
			then: pass}}, last: refuse(unix.EPERM)},
		// The limits of others.
		rule{nr: unix.SYS_PRLIMIT64, tests: []test{
			{arg: 2, null: true, then: pass},
			{arg: 1, values: []uint32{unix.RLIMIT_LOCKS}, then: refuse(unix.EPERM)},
			{arg: 0, values: []uint32{0}, then: pass},
		}, last: refuse(unix.EPERM)},
		// Commands are known by that limit, which means nothing else.
		rule{nr: unix.SYS_SETRLIMIT, tests: []test{{arg: 0, values: []uint32{unix.RLIMIT_LOCKS},
			then: refuse(unix.EPERM)}}, last: pass},
		// Who hides its memory cannot be watched. It is told that it did.
		rule{nr: unix.SYS_PRCTL, tests: []test{{arg: 0, values: []uint32{unix.PR_SET_DUMPABLE}, then: refuse(0)}},
			last: pass},
	)
	list = append(list, schedules(p)...)
	list = append(list, network(p)...)
	list = append(list, changing(p)...)
	if p.listener { // nobody listens yet when the command itself is started
		list = append(list, rule{nr: unix.SYS_EXECVE, tests: []test{{arg: 3, values: []uint32{firstProgram},
			then: pass}},
			last: notify})
	}
	if p.landlock < 6 && p.listener {
		for _, nr := range numbers(watchedOthers(), func(s shape) bool { return s.op == opKill }) {
			list = append(list, rule{nr: nr, last: notify})
		}
	}
	for _, nr := range missing(p) {
		list = append(list, rule{nr: nr, last: refuse(unix.ENOSYS)})
	}
	for _, nr := range unwanted() {
		list = append(list, rule{nr: nr, last: refuse(unix.EPERM)})
	}
	return list
}

// schedules leaves it to a command when and where its own threads run. Of a thread that is named by its number the
// listener finds out whose it is; where there is none, a thread can say it of itself only.
func schedules(p policy) []rule {
	others := refuse(unix.EPERM)
	if p.listener {
		others = notify
	}
	const ioprioProcess = 1 // IOPRIO_WHO_PROCESS
	var list []rule
	for _, nr := range numbers(watchedOthers(), func(s shape) bool { return s.op == opSchedule }) {
		r := rule{nr: nr, last: others}
		switch nr {
		case unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET: // also those of a whole group, or of a user
			r.tests = []test{
				{arg: 0, values: []uint32{unix.PRIO_PROCESS}, not: true, then: refuse(unix.EPERM)},
				{arg: 1, values: []uint32{0}, then: pass},
			}
			if nr == unix.SYS_IOPRIO_SET {
				r.tests[0].values = []uint32{ioprioProcess}
			}
		default:
			r.tests = []test{{arg: 0, values: []uint32{0}, then: pass}}
		}
		list = append(list, r)
	}
	return list
}

// opens lets everybody open for reading without a word.
func opens(p policy) []rule {
	var list []rule
	for _, o := range append([]opener{{unix.SYS_OPENAT, 2}}, oldOpens()...) {
		r := rule{nr: o.nr, last: pass}
		if p.landlock < 3 {
			// Nothing but the filter keeps a file that is opened for reading from being emptied.
			r.tests = append(r.tests, test{arg: o.flags, mask: unix.O_ACCMODE | unix.O_TRUNC,
				values: []uint32{unix.O_TRUNC}, then: refuse(unix.EACCES)})
		}
		if p.listener {
			r.tests = append(r.tests, test{arg: o.flags, mask: unix.O_ACCMODE | unix.O_CREAT | unix.O_TRUNC,
				values: []uint32{0}, not: true, then: notify})
		} else {
			r.tests = append(r.tests, test{arg: o.flags, mask: makesFile, values: []uint32{0}, then: pass},
				test{arg: o.flags + 1, mask: setIDs, values: []uint32{0}, not: true, then: refuse(unix.EPERM)})
		}
		list = append(list, r)
	}
	if !p.listener {
		list = append(list, makesUnheard()...)
	}
	return list
}

// setIDs are the bits of a mode with which a program runs as its owner or its group, whoever starts it.
const setIDs = unix.S_ISUID | unix.S_ISGID

// makesFile are the flags with which an open uses its mode.
const makesFile = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// makesUnheard are the other calls that make files, where nobody listens. Of a new folder's mode the kernel takes
// neither bit.
func makesUnheard() []rule {
	var list []rule
	calls := watchedFiles()
	for _, nr := range numbers(calls, func(s shape) bool { return s.op == opCreat || s.op == opMknod }) {
		list = append(list, rule{nr: nr, tests: []test{{arg: int(calls[nr].mode), mask: setIDs, values: []uint32{0},
			not: true, then: refuse(unix.EPERM)}}, last: pass})
	}
	return list
}

// changing are the calls that change files otherwise than by opening them.
func changing(p policy) []rule {
	var list []rule
	done := []uintptr{unix.SYS_OPENAT}
	for _, o := range oldOpens() {
		done = append(done, o.nr)
	}
	if p.landlock < 3 {
		list = append(list, rule{nr: unix.SYS_TRUNCATE, last: refuse(unix.EACCES)})
		done = append(done, unix.SYS_TRUNCATE)
	}
	done = append(done, missing(p)...)
	answer := notify
	if !p.listener {
		answer = refuse(unix.EPERM) // Landlock has the files; nobody has their attributes
	}
	for _, nr := range numbers(watchedAttributes(), nil) {
		list = append(list, rule{nr: nr, last: answer})
	}
	if p.listener {
		for _, nr := range numbers(watchedFiles(), func(shape) bool { return true }) {
			if !slices.Contains(done, nr) {
				list = append(list, rule{nr: nr, last: notify})
			}
		}
	}
	return list
}

func numbers(calls map[uintptr]shape, want func(shape) bool) []uintptr {
	var list []uintptr
	for _, nr := range slices.Sorted(maps.Keys(calls)) {
		if want == nil || want(calls[nr]) {
			list = append(list, nr)
		}
	}
	return list
}

const sockTypes = 0xf // the rest are flags

// network. What a datagram is sent to stands in memory, where it can change after it was
// looked at; so what may not be reached has no socket, and nothing here depends on what
// memory said: a call that is let pass could reach only what it may, and whom a socket connects to the listener
// settles on its own copy.
func network(p policy) []rule {
	noFastOpen := func(arg int) test { // connects without connect
		return test{arg: arg, mask: unix.MSG_FASTOPEN, values: []uint32{0}, not: true, then: refuse(unix.EPERM)}
	}
	list := []rule{{
		// A pair is harmless, but a datagram socket of a pair can still send elsewhere.
		nr: unix.SYS_SOCKETPAIR,
		tests: []test{
			{arg: 0, values: []uint32{unix.AF_UNIX}, not: true, then: refuse(unix.EAFNOSUPPORT)},
			{arg: 1, mask: sockTypes, values: []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}, not: true,
				then: refuse(unix.EPROTONOSUPPORT)}, // a raw one is one for datagrams too
		}, last: pass,
	}}
	if p.listener {
		list = append(list, rule{nr: unix.SYS_SOCKET, last: notify}) // by its values alone
	} else {
		list = append(list, rule{nr: unix.SYS_SOCKET, tests: socketsUnheard(p), last: pass})
	}
	if p.net == netAll {
		if p.listener {
			// Sockets in the file system are the command's own, or nothing connects to them.
			list = append(list, rule{nr: unix.SYS_CONNECT, last: notify}, rule{nr: unix.SYS_BIND, last: notify},
				rule{nr: unix.SYS_LISTEN, last: notify})
		}
		return list
	}
	list = append(list,
		rule{nr: unix.SYS_SENDMSG, tests: []test{noFastOpen(2)}, last: pass},
		rule{nr: unix.SYS_SENDMMSG, tests: []test{noFastOpen(3)}, last: pass},
	)
	listen := refuse(unix.EACCES) // Landlock does not see a listener that was not bound
	sendto := rule{nr: unix.SYS_SENDTO, tests: []test{noFastOpen(3), {arg: 4, null: true, then: pass}}, last: pass}
	if p.listener {
		list = append(list, rule{nr: unix.SYS_CONNECT, last: notify}, rule{nr: unix.SYS_BIND, last: notify})
		listen = notify
		sendto.last = notify
	}
	return append(list, rule{nr: unix.SYS_LISTEN, last: listen}, sendto)
}

// socketsUnheard decides about sockets where nobody listens.
func socketsUnheard(p policy) []test {
	inet := test{arg: 0, values: []uint32{unix.AF_INET, unix.AF_INET6}, not: true, then: refuse(unix.EACCES)}
	switch p.net {
	case netAll:
		inet.values = append(inet.values, unix.AF_NETLINK)
		return []test{inet}
	case netPorts:
		return append([]test{inet},
			test{arg: 1, mask: sockTypes, values: []uint32{unix.SOCK_STREAM}, not: true, then: refuse(unix.EACCES)},
			test{arg: 2, values: []uint32{0, unix.IPPROTO_TCP}, not: true, then: refuse(unix.EPROTONOSUPPORT)})
	default:
		return []test{{arg: 0, mask: 0, values: []uint32{^uint32(0)}, not: true, then: refuse(unix.EACCES)}}
	}
}

// ioctls refuses what types into terminals and what changes files or file systems through a
// descriptor that was opened for reading. Some file systems have such calls by the dozen, so
// of theirs only those that are known to be harmless pass.
func ioctls() []test {
	const (
		letters      = 0xff00 // whose call it is
		tioclinux    = 0x541c
		getFlags     = 0x80086601
		getFlags32   = 0x80046601
		fiemap       = 0xc020660b
		verityDigest = 0xc0046686
		getXattr     = 0x801c581f // FS_IOC_FSGETXATTR
		clone        = 0x40049409
		cloneRange   = 0x4020940d
		dedupeRange  = 0xc0189436
		setVersion   = 0x40087602
		setVersion32 = 0x40047602
	)
	return []test{
		{arg: 1, values: []uint32{getFlags, getFlags32, fiemap, verityDigest, getXattr, clone, cloneRange, dedupeRange},
			then: pass},
		{arg: 1, values: []uint32{unix.TIOCSTI, tioclinux, unix.TIOCSETD, unix.TIOCCONS, setVersion, setVersion32},
			then: refuse(unix.EPERM)},
		{arg: 1, mask: letters, values: []uint32{'f' << 8, 'X' << 8, 0x94 << 8}, then: refuse(unix.EPERM)},
	}
}
