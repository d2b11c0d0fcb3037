//go:build amd64 || arm64

package sandbox

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"
)

// A filter is a list of system calls, each with tests of its arguments. The kernel remembers
// which calls pass whatever their arguments are and does not run the filter for them, so the
// length of the list costs only those that are on it.

// action is what becomes of a system call.
type action uint32

const (
	pass   action = unix.SECCOMP_RET_ALLOW
	notify action = unix.SECCOMP_RET_USER_NOTIF
)

// refuse is an action that fails the call.
func refuse(errno unix.Errno) action {
	return action(unix.SECCOMP_RET_ERRNO | uint32(errno)&unix.SECCOMP_RET_DATA)
}

// test looks at the low half of an argument: flags and numbers that the kernel itself takes
// as 32 bits. If the bits under mask (0: all) are one of the values, or with not are none of
// them, it decides.
type test struct {
	arg    int
	mask   uint32
	values []uint32
	not    bool
	// null asks instead whether the whole argument is a null pointer.
	null bool
	then action
}

// rule is what is done about one system call: the first test that decides, else the last
// word.
type rule struct {
	nr    uintptr
	tests []test
	last  action
}

// Offsets in struct seccomp_data.
const (
	dataNr   = 0
	dataArch = 4
	dataArgs = 16
)

func stmt(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

func load(offset uint32) unix.SockFilter { return stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset) }

func ret(a action) unix.SockFilter { return stmt(unix.BPF_RET|unix.BPF_K, uint32(a)) }

func jump(cond uint16, k uint32, yes, no int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | cond | unix.BPF_K, Jt: uint8(yes), Jf: uint8(no), K: k}
}

// firstUnknown is the number after the last system call that was looked at here. What newer
// kernels add could change files in ways that Landlock does not know; programs have to get by
// without it anyway.
const firstUnknown = 472

// assemble makes the program. Every call of another architecture is refused: its numbers mean
// other things.
func assemble(rules []rule) []unix.SockFilter {
	prog := []unix.SockFilter{
		load(dataArch),
		jump(unix.BPF_JEQ, auditArch, 1, 0),
		ret(refuse(unix.EPERM)),
		load(dataNr),
	}
	if x32Bit != 0 {
		prog = append(prog, jump(unix.BPF_JGE, x32Bit, 0, 1), ret(refuse(unix.ENOSYS)))
	}
	prog = append(prog, jump(unix.BPF_JGE, firstUnknown, 0, 1), ret(refuse(unix.ENOSYS)))
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, func(a, b rule) int { return cmp.Compare(a.nr, b.nr) })
	return append(prog, search(sorted)...)
}

// search finds the rule for the number that is loaded by halves. When a filter is put in
// place the kernel follows it for each call there is, so a long way costs at every start.
func search(rules []rule) []unix.SockFilter {
	if len(rules) == 1 {
		r := rules[0]
		var body []unix.SockFilter
		for _, t := range r.tests {
			body = append(body, t.code()...)
		}
		body = append(body, ret(r.last))
		code := append([]unix.SockFilter{jump(unix.BPF_JEQ, uint32(r.nr), 0, len(body))}, body...)
		return append(code, ret(pass))
	}
	half := len(rules) / 2
	low, high := search(rules[:half]), search(rules[half:])
	code := []unix.SockFilter{jump(unix.BPF_JGE, uint32(rules[half].nr), 0, 1), stmt(unix.BPF_JMP|unix.BPF_JA, uint32(len(low)))}
	return append(append(code, low...), high...)
}

func (t test) code() []unix.SockFilter {
	low := uint32(dataArgs + 8*t.arg) // both processors here put the low half first
	if t.null {
		return []unix.SockFilter{
			load(low + 4), jump(unix.BPF_JEQ, 0, 0, 3),
			load(low), jump(unix.BPF_JEQ, 0, 0, 1), ret(t.then),
		}
	}
	code := []unix.SockFilter{load(low)}
	if t.mask != 0 {
		code = append(code, stmt(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, t.mask))
	}
	for i, v := range t.values {
		left := len(t.values) - 1 - i
		switch {
		case t.not: // a match skips what is left, and the return
			code = append(code, jump(unix.BPF_JEQ, v, left+1, 0))
		case left == 0:
			code = append(code, jump(unix.BPF_JEQ, v, 0, 1))
		default:
			code = append(code, jump(unix.BPF_JEQ, v, left, 0))
		}
	}
	return append(code, ret(t.then))
}
