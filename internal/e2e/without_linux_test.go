package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe/internal/wire"
)

// without is `without PART[,PART] COMMAND...`: it becomes the command on a machine that lacks parts of what the
// sandbox is made of. A filter has their system calls fail as they do where the kernel does not have them or does
// not let this user have them. What the command starts is filtered like it.
func without(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: without landlock|namespaces|notify[,...] COMMAND...")
	}
	program, err := exec.LookPath(args[1])
	if err != nil {
		return err
	}
	filter, err := lacking(strings.Split(args[0], ","))
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the filter is this thread's, and so the command's
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return fmt.Errorf("install a filter: %w", errno)
	}
	return syscall.Exec(program, args[1:], os.Environ())
}

// failing is a system call that fails: always, or if one of these bits is set in an argument.
type failing struct {
	nr, arg int
	bits    uint32
	errno   unix.Errno
}

// lacking is the filter of a machine without these parts.
func lacking(parts []string) ([]unix.SockFilter, error) {
	calls := map[string][]failing{
		"landlock": {
			{nr: unix.SYS_LANDLOCK_CREATE_RULESET, errno: unix.ENOSYS},
			{nr: unix.SYS_LANDLOCK_ADD_RULE, errno: unix.ENOSYS},
			{nr: unix.SYS_LANDLOCK_RESTRICT_SELF, errno: unix.ENOSYS},
		},
		"namespaces": {
			{nr: unix.SYS_UNSHARE, bits: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, errno: unix.EPERM},
			{nr: unix.SYS_CLONE, bits: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, errno: unix.EPERM},
			// Its flags are in memory, where a filter cannot look. Programs then use clone.
			{nr: unix.SYS_CLONE3, errno: unix.ENOSYS},
		},
		// As where a process is watched already: by a container's manager, say.
		"notify": {{nr: unix.SYS_SECCOMP, arg: 1, bits: unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, errno: unix.EBUSY}},
	}
	const number, arguments = 0, 16 // in struct seccomp_data
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	var out []unix.SockFilter
	for _, part := range parts {
		if calls[part] == nil {
			return nil, fmt.Errorf("%q is no part of the sandbox", part)
		}
		for _, f := range calls[part] {
			end := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(f.errno)}
			then := []unix.SockFilter{end}
			if f.bits != 0 {
				then = []unix.SockFilter{load(uint32(arguments + 8*f.arg)),
					{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: f.bits, Jf: 1}, end}
			}
			is := unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(f.nr), Jf: uint8(len(then))}
			out = slices.Concat(out, []unix.SockFilter{load(number), is}, then)
		}
	}
	return append(out, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}), nil
}

// offered is what doctor finds to confine commands with.
type offered struct{ landlock, namespaces, notify bool }

func (p *place) kernel() offered {
	p.t.Helper()
	r := p.troupe("doctor", "--json")
	var d wire.Diagnosis
	if err := json.Unmarshal([]byte(r.out), &d); err != nil {
		p.t.Fatalf("%v: %s%s", err, r.out, r.errOut)
	}
	return offered{d.Kernel.Landlock > 0, d.Kernel.Namespaces, d.Kernel.Notify}
}

// TestWithout: the binary finds that these parts are missing, and no variable has it do without them.
func TestWithout(t *testing.T) {
	t.Parallel()
	const variable = "TROUPE_SANDBOX=landlock=off,namespaces=off,notify=off" // which older ones obeyed
	plain, told := newPlace(t).kernel(), newPlace(t, variable).kernel()
	if plain != told {
		t.Errorf("%s makes %+v of %+v", variable, told, plain)
	}
	if plain != (offered{true, true, true}) {
		t.Skipf("this machine lacks some of it: %+v", plain)
	}
	for part, want := range map[string]offered{
		"landlock": {false, true, true}, "namespaces": {true, false, true}, "notify": {true, true, false},
		"namespaces,notify": {true, false, false},
	} {
		p := newPlace(t)
		p.lacks = part
		if got := p.kernel(); got != want {
			t.Errorf("without %s: %+v", part, got)
		}
	}
}
