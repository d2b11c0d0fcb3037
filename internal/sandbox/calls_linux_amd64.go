package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// oldCalls are the watched calls that newer processors never had.
func oldCalls() map[uintptr]shape {
	return map[uintptr]shape{
		unix.SYS_OPEN:      {op: opOpen, dir: none, path: 0, flags: 1, mode: 2},
		unix.SYS_CREAT:     {op: opCreat, dir: none, path: 0, mode: 1},
		unix.SYS_RENAME:    {op: opRename, dir: none, path: 0, dir2: none, path2: 1, flags: none},
		unix.SYS_UNLINK:    {op: opUnlink, dir: none, path: 0, flags: none},
		unix.SYS_RMDIR:     {op: opRmdir, dir: none, path: 0},
		unix.SYS_MKDIR:     {op: opMkdir, dir: none, path: 0, mode: 1},
		unix.SYS_LINK:      {op: opLink, dir: none, path: 0, dir2: none, path2: 1, flags: none},
		unix.SYS_SYMLINK:   {op: opSymlink, dir: none, path: 1, path2: 0},
		unix.SYS_MKNOD:     {op: opMknod, dir: none, path: 0, mode: 1},
		unix.SYS_CHMOD:     {op: opChmod, dir: none, path: 0, mode: 1, flags: none},
		unix.SYS_CHOWN:     {op: opChown, dir: none, path: 0, mode: 1, flags: none},
		unix.SYS_LCHOWN:    {op: opChown, dir: none, path: 0, mode: 1, flags: none, nofollow: true},
		unix.SYS_UTIME:     {op: opUtime, dir: none, path: 0, mode: 1, flags: none},
		unix.SYS_UTIMES:    {op: opUtimes, dir: none, path: 0, mode: 1, flags: none},
		unix.SYS_FUTIMESAT: {op: opUtimes, dir: 0, path: 1, mode: 2, flags: none},
	}
}

// oldOpens are the calls that open files, with the argument that has their flags.
func oldOpens() []opener { return []opener{{unix.SYS_OPEN, 1}} }

// refusedHere are calls of this processor only that nobody confined may make.
func refusedHere() []uintptr {
	return []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS__SYSCTL,
		unix.SYS_CREATE_MODULE, unix.SYS_UPROBE, unix.SYS_URETPROBE}
}
