//go:build amd64 || arm64

package sandbox

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"
)

// A filter is a list of system calls, each with tests of its arguments. The kernel remembers
// which calls pass whatever their arguments are and does not run the filter for them. What
// costs is to put it in place, which happens at each start: the kernel checks, translates and
// compiles every instruction, and follows the program once for every call there is. So it is
// kept short, and no way through it is long.

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

// rule is what is done about one system call: the first test that decides, else the last word.
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

// firstUnknown is the number after the last system call that was looked at here. What newer
// kernels add could change files in ways that Landlock does not know; programs have to get by
// without it anyway. The numbers of the x32 architecture, which look like ours otherwise, lie
// far above.
const firstUnknown = 472

// assemble makes the program. Every call of another architecture is refused: its numbers mean
// other things.
func assemble(rules []rule) []unix.SockFilter {
	a := &assembler{returns: map[action]int{}}
	a.follow(a.search(spans(rules)))
	ours := a.put(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, dataNr)
	others := a.leave(refuse(unix.EPERM))
	a.branch(unix.BPF_JEQ, auditArch, ours, others)
	a.put(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, dataArch)
	slices.Reverse(a.code)
	return a.code
}

// span is a run of numbers, from first to where the next begins, about which the same is done
// whatever the arguments are; or the one number of a rule with tests.
type span struct {
	first uint32
	rule
}

// spans cover all numbers. What no rule is about passes.
func spans(rules []rule) []span {
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, func(a, b rule) int { return cmp.Compare(a.nr, b.nr) })
	var all []span
	next := uint32(0) // the first number that is not covered
	cover := func(end uint32, r rule) {
		if end == next {
			return
		}
		if n := len(all); n == 0 || len(r.tests)+len(all[n-1].tests) > 0 || all[n-1].last != r.last {
			all = append(all, span{next, r})
		}
		next = end
	}
	for _, r := range sorted {
		cover(uint32(r.nr), rule{last: pass})
		cover(uint32(r.nr)+1, r)
	}
	cover(firstUnknown, rule{last: pass})
	return append(all, span{firstUnknown, rule{last: refuse(unix.ENOSYS)}})
}

// assembler writes a program from its end to its beginning, because jumps lead forward only:
// what they lead to is there already. A place in it is an index in code, where the last
// instruction comes first. Jumps that depend on something reach 256 instructions.
type assembler struct {
	code    []unix.SockFilter
	returns map[action]int // where an action was last returned
}

const farthest = 255

// put adds an instruction that goes on with the one that was added before it.
func (a *assembler) put(code uint16, k uint32) int {
	a.code = append(a.code, unix.SockFilter{Code: code, K: k})
	return len(a.code) - 1
}

// follow makes sure that what is added next goes on at a place.
func (a *assembler) follow(place int) {
	if over := len(a.code) - 1 - place; over > 0 {
		a.put(unix.BPF_JMP|unix.BPF_JA, uint32(over))
	}
}

// leave is a place where the program ends with an action: an old one, unless that is too far
// away for the two instructions that are added next.
func (a *assembler) leave(then action) int {
	place, ok := a.returns[then]
	if !ok || len(a.code)+1-place > farthest {
		place = a.put(unix.BPF_RET|unix.BPF_K, uint32(then))
		a.returns[then] = place
	}
	return place
}

// branch compares what is loaded and goes on at one of two places.
func (a *assembler) branch(cond uint16, k uint32, yes, no int) int {
	for _, place := range []*int{&yes, &no} {
		if len(a.code)+1-*place > farthest { // it could be, by the other's jump
			a.follow(*place)
			*place = len(a.code) - 1
		}
	}
	at := len(a.code)
	a.code = append(a.code, unix.SockFilter{
		Code: unix.BPF_JMP | cond | unix.BPF_K, Jt: uint8(at - 1 - yes), Jf: uint8(at - 1 - no), K: k,
	})
	return at
}

// search finds the span of the number that is loaded by halves.
func (a *assembler) search(all []span) int {
	if len(all) == 1 {
		return a.body(all[0].rule)
	}
	half := len(all) / 2
	high := a.search(all[half:])
	low := a.search(all[:half])
	return a.branch(unix.BPF_JGE, all[half].first, high, low)
}

// body does what a rule says.
func (a *assembler) body(r rule) int {
	place := a.leave(r.last)
	for _, t := range slices.Backward(r.tests) {
		place = a.test(t, place)
	}
	return place
}

// test goes on at next where a test does not decide.
func (a *assembler) test(t test, next int) int {
	low := uint32(dataArgs + 8*t.arg) // both processors here put the low half first
	hit, miss := a.leave(t.then), next
	if t.null {
		a.branch(unix.BPF_JEQ, 0, hit, next)
		hit = a.put(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, low)
		a.branch(unix.BPF_JEQ, 0, hit, next)
		return a.put(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, low+4)
	}
	if t.not {
		hit, miss = miss, hit
	}
	for _, v := range slices.Backward(t.values) {
		miss = a.branch(unix.BPF_JEQ, v, hit, miss)
	}
	a.follow(miss)
	if t.mask != 0 {
		a.put(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, t.mask)
	}
	return a.put(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, low)
}
