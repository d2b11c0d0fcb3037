//go:build amd64 || arm64

package sandbox

import (
	"maps"

	"golang.org/x/sys/unix"
)

// op is what a watched system call does, whatever its name.
type op int

// Watched operations.
const (
	opOpen op = iota + 1
	opCreat
	opTruncate
	opRename
	opUnlink
	opRmdir
	opMkdir
	opLink
	opSymlink
	opMknod
	// What follows changes what a file is without opening it. Landlock lets it pass.
	opChmod
	opChown
	opUtime  // seconds
	opUtimes // microseconds
	opUtimens
	opSetxattr
	opRemovexattr
	// The network, and signals.
	opSocket
	opConnect
	opBind
	opSendto
	opListen
	opKill
	opSchedule // when and where a thread runs
	opExec
)

// none is the argument that a call does not have.
const none int8 = -1

// shape says which argument is what. dir is none where paths are relative to the working
// folder; path is none where dir is the file itself.
type shape struct {
	op          op
	dir, path   int8
	dir2, path2 int8 // the second path; of a symbolic link, what it says
	flags       int8
	mode        int8 // the first argument after the path
	nofollow    bool
}

type opener struct {
	nr    uintptr
	flags int
}

// watchedFiles are the calls that name files and may change them.
func watchedFiles() map[uintptr]shape {
	calls := map[uintptr]shape{
		unix.SYS_OPENAT:    {op: opOpen, dir: 0, path: 1, flags: 2, mode: 3},
		unix.SYS_TRUNCATE:  {op: opTruncate, dir: none, path: 0, mode: 1},
		unix.SYS_RENAMEAT2: {op: opRename, dir: 0, path: 1, dir2: 2, path2: 3, flags: 4},
		unix.SYS_RENAMEAT:  {op: opRename, dir: 0, path: 1, dir2: 2, path2: 3, flags: none},
		unix.SYS_UNLINKAT:  {op: opUnlink, dir: 0, path: 1, flags: 2},
		unix.SYS_MKDIRAT:   {op: opMkdir, dir: 0, path: 1, mode: 2},
		unix.SYS_LINKAT:    {op: opLink, dir: 0, path: 1, dir2: 2, path2: 3, flags: 4},
		unix.SYS_SYMLINKAT: {op: opSymlink, dir: 1, path: 2, path2: 0},
		unix.SYS_MKNODAT:   {op: opMknod, dir: 0, path: 1, mode: 2},
	}
	for nr, s := range oldCalls() {
		if s.op < opChmod {
			calls[nr] = s
		}
	}
	return calls
}

// watchedAttributes are the calls that change what a file is. Where there is no listener they
// are refused.
func watchedAttributes() map[uintptr]shape {
	calls := map[uintptr]shape{
		unix.SYS_FCHMODAT:     {op: opChmod, dir: 0, path: 1, mode: 2, flags: none},
		unix.SYS_FCHMOD:       {op: opChmod, dir: 0, path: none, mode: 1, flags: none},
		unix.SYS_FCHOWNAT:     {op: opChown, dir: 0, path: 1, mode: 2, flags: 4},
		unix.SYS_FCHOWN:       {op: opChown, dir: 0, path: none, mode: 1, flags: none},
		unix.SYS_UTIMENSAT:    {op: opUtimens, dir: 0, path: 1, mode: 2, flags: 3},
		unix.SYS_SETXATTR:     {op: opSetxattr, dir: none, path: 0, mode: 1, flags: none},
		unix.SYS_LSETXATTR:    {op: opSetxattr, dir: none, path: 0, mode: 1, flags: none, nofollow: true},
		unix.SYS_FSETXATTR:    {op: opSetxattr, dir: 0, path: none, mode: 1, flags: none},
		unix.SYS_REMOVEXATTR:  {op: opRemovexattr, dir: none, path: 0, mode: 1, flags: none},
		unix.SYS_LREMOVEXATTR: {op: opRemovexattr, dir: none, path: 0, mode: 1, flags: none, nofollow: true},
		unix.SYS_FREMOVEXATTR: {op: opRemovexattr, dir: 0, path: none, mode: 1, flags: none},
	}
	for nr, s := range oldCalls() {
		if s.op >= opChmod {
			calls[nr] = s
		}
	}
	return calls
}

// watchedOthers are decided by the values of their arguments, or refused whatever they say.
func watchedOthers() map[uintptr]shape {
	return map[uintptr]shape{
		unix.SYS_SOCKET:             {op: opSocket},
		unix.SYS_CONNECT:            {op: opConnect, dir: none, path: 1, flags: 2},
		unix.SYS_BIND:               {op: opBind, dir: none, path: 1, flags: 2},
		unix.SYS_SENDTO:             {op: opSendto, dir: none, path: 4, flags: 5},
		unix.SYS_LISTEN:             {op: opListen},
		unix.SYS_EXECVE:             {op: opExec, path: 1, path2: 2},
		unix.SYS_KILL:               {op: opKill, path: 0},
		unix.SYS_TKILL:              {op: opKill, path: 0},
		unix.SYS_TGKILL:             {op: opKill, path: 0},
		unix.SYS_RT_SIGQUEUEINFO:    {op: opKill, path: 0},
		unix.SYS_RT_TGSIGQUEUEINFO:  {op: opKill, path: 0},
		unix.SYS_SETPRIORITY:        {op: opSchedule, path: 1},
		unix.SYS_IOPRIO_SET:         {op: opSchedule, path: 1},
		unix.SYS_SCHED_SETAFFINITY:  {op: opSchedule, path: 0},
		unix.SYS_SCHED_SETATTR:      {op: opSchedule, path: 0},
		unix.SYS_SCHED_SETPARAM:     {op: opSchedule, path: 0},
		unix.SYS_SCHED_SETSCHEDULER: {op: opSchedule, path: 0},
	}
}

// shapes are all watched calls by number.
func shapes() map[uintptr]shape {
	all := watchedFiles()
	maps.Copy(all, watchedAttributes())
	maps.Copy(all, watchedOthers())
	return all
}
