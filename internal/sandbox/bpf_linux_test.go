//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// interpret follows a program as the kernel does.
func interpret(t testing.TB, prog []unix.SockFilter, nr, arch uint32, args [6]uint64) (a action, steps int) {
	var data [64]byte // there are millions of calls: no t.Helper either, which looks at the stack
	binary.LittleEndian.PutUint32(data[dataNr:], nr)
	binary.LittleEndian.PutUint32(data[dataArch:], arch)
	for i, v := range args {
		binary.LittleEndian.PutUint64(data[dataArgs+8*i:], v)
	}
	var acc uint32
	for pc := 0; ; steps++ {
		if pc >= len(prog) {
			t.Fatalf("call %d: it left the program", nr)
		}
		in := prog[pc]
		pc++
		yes := false
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			acc = binary.LittleEndian.Uint32(data[in.K:])
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			acc &= in.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return action(in.K), steps
		case unix.BPF_JMP | unix.BPF_JA:
			pc += int(in.K)
			continue
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			yes = acc == in.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			yes = acc >= in.K
		default:
			t.Fatalf("unknown instruction %x", in.Code)
		}
		if yes {
			pc += int(in.Jt)
		} else {
			pc += int(in.Jf)
		}
	}
}

func policies() []policy {
	var all []policy
	for landlock := 1; landlock <= newestLandlock; landlock++ {
		for _, listener := range []bool{true, false} {
			for _, net := range []netAccess{netNone, netPorts, netAll} {
				all = append(all, policy{landlock: landlock, listener: listener, net: net})
			}
		}
	}
	return all
}

// Each rule is what the program does, for every number and whatever the arguments are.
func TestFilterSaysWhatItsRulesSay(t *testing.T) {
	t.Parallel()
	values := []uint64{0, 1, 2, 3, 16, unix.O_CREAT, unix.O_TRUNC, unix.O_WRONLY | unix.O_TRUNC, unix.CLONE_NEWUSER,
		unix.CLONE_VM, 1 << 32, unix.MSG_FASTOPEN, unix.TIOCSTI, 0x40086602, 0x80086601, 0x50009401, 0x40049409}
	for _, p := range policies() {
		if brief() && p.landlock != 1 && p.landlock != newestLandlock {
			continue
		}
		list := rules(p)
		prog := assemble(list)
		byNr := map[uintptr]rule{}
		for _, r := range list {
			if _, twice := byNr[r.nr]; twice {
				t.Fatalf("%+v: two rules about call %d", p, r.nr)
			}
			byNr[r.nr] = r
		}
		for nr := range uint32(600) {
			for _, v := range values {
				for arg := range 6 {
					var args [6]uint64
					args[arg] = v
					want := pass
					if r, ok := byNr[uintptr(nr)]; ok {
						want = r.decide(args)
					}
					if nr >= firstUnknown {
						want = refuse(unix.ENOSYS)
					}
					if got, _ := interpret(t, prog, nr, auditArch, args); got != want {
						t.Fatalf("%+v: call %d with argument %d = %#x: %#x, want %#x", p, nr, arg, v, got, want)
					}
				}
			}
			if got, _ := interpret(t, prog, nr, unix.AUDIT_ARCH_I386, [6]uint64{}); got != refuse(unix.EPERM) {
				t.Fatalf("call %d of another processor: %#x", nr, got)
			}
			if auditArch == unix.AUDIT_ARCH_X86_64 {
				const x32Bit = 0x40000000 // marks the numbers of the x32 architecture
				if got, _ := interpret(t, prog, nr|x32Bit, auditArch, [6]uint64{}); got != refuse(unix.ENOSYS) {
					t.Fatalf("call %d of x32: %#x", nr, got)
				}
			}
			if _, steps := interpret(t, prog, nr, auditArch, [6]uint64{}); steps > 40 {
				t.Errorf("call %d takes %d steps", nr, steps)
			}
		}
		if len(prog) > 250 { // each is compiled at each start
			t.Errorf("%+v: %d instructions", p, len(prog))
		}
	}
}

// However far apart the parts of a program lie, it goes where it should: a conditional jump
// does not lead that far.
func TestLongFilter(t *testing.T) {
	t.Parallel()
	for _, every := range []uintptr{1, 2, 7, 100} {
		for _, tests := range []int{0, 1, 3, 60} {
			byNr := map[uintptr]rule{}
			var list []rule
			for nr := every - 1; nr < firstUnknown; nr += every {
				r := rule{nr: nr, last: refuse(unix.Errno(nr%40 + 1))}
				for i := range tests {
					c := test{arg: i % 6, values: []uint32{uint32(i), uint32(nr), 7, 8, 9},
						then: refuse(unix.Errno(i + 50))}
					switch i % 4 {
					case 1:
						c.not, c.values = true, []uint32{0, 1, 2, 3}
					case 2:
						c.mask = 0xf0
					case 3:
						c.null, c.values = true, nil
					}
					r.tests = append(r.tests, c)
				}
				byNr[nr], list = r, append(list, r)
			}
			slices.Reverse(list) // in any order
			prog := assemble(list)
			for nr := range uintptr(firstUnknown) {
				for _, args := range [][6]uint64{{}, {1, 1, 1, 1, 1, 1}, {2, 3, 0x10, 1 << 32, 7, 9},
					{5, 0, 0xf0, 5, 2, 1}, {5, 2, 0xf0, 5, 2, 1}} {
					want := pass
					if r, ok := byNr[nr]; ok {
						want = r.decide(args)
					}
					if got, _ := interpret(t, prog, uint32(nr), auditArch, args); got != want {
						t.Fatalf("every %d, %d tests: call %d with %v: %#x, want %#x", every, tests, nr, args, got,
							want)
					}
				}
			}
			for nr := range uint32(firstUnknown + 9) {
				if got, _ := interpret(t, prog, nr, unix.AUDIT_ARCH_I386, [6]uint64{}); got != refuse(unix.EPERM) {
					t.Fatalf("every %d, %d tests: call %d of another processor: %#x", every, tests, nr, got)
				}
			}
		}
	}
}

// decide is what a rule says, read plainly.
func (r rule) decide(args [6]uint64) action {
	for _, t := range r.tests {
		v := uint32(args[t.arg])
		if t.mask != 0 {
			v &= t.mask
		}
		found := t.null && args[t.arg] == 0
		for _, want := range t.values {
			found = found || v == want
		}
		if found != t.not {
			return t.then
		}
	}
	return r.last
}

// Every watched call has a shape, and where there is no listener nothing waits for one.
func TestNobodyWaitsForNobody(t *testing.T) {
	t.Parallel()
	known := shapes()
	for _, p := range policies() {
		for _, r := range rules(p) {
			asks := r.last == notify
			for _, c := range r.tests {
				asks = asks || c.then == notify
			}
			if _, ok := known[r.nr]; asks && (!ok || !p.listener) {
				t.Errorf("%+v: call %d asks", p, r.nr)
			}
		}
	}
}

// TestNoNamespaces: no command makes or enters a namespace, of whatever kind.
func TestNoNamespaces(t *testing.T) {
	t.Parallel()
	kinds := map[string]uint64{"user": unix.CLONE_NEWUSER, "mount": unix.CLONE_NEWNS, "pid": unix.CLONE_NEWPID,
		"network": unix.CLONE_NEWNET, "ipc": unix.CLONE_NEWIPC, "name": unix.CLONE_NEWUTS,
		"cgroup": unix.CLONE_NEWCGROUP, "time": unix.CLONE_NEWTIME}
	for _, p := range policies() {
		prog := assemble(rules(p))
		for name, flag := range kinds {
			for call, nr := range map[string]uint32{"unshare": unix.SYS_UNSHARE, "clone": unix.SYS_CLONE} {
				if call == "clone" && name == "time" {
					continue // there it is part of the signal's number
				}
				for _, also := range []uint64{0, unix.CLONE_FS} {
					if got, _ := interpret(t, prog, nr, auditArch, [6]uint64{flag | also}); got != refuse(unix.EPERM) {
						t.Errorf("%+v: %s of a %s namespace: %#x", p, call, name, got)
					}
				}
			}
		}
		if got, _ := interpret(t, prog, unix.SYS_SETNS, auditArch, [6]uint64{}); got != refuse(unix.EPERM) {
			t.Errorf("%+v: setns: %#x", p, got)
		}
	}
}
