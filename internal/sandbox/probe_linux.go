//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// Sandbox starts confined commands. It asks the kernel what there is when it is first needed.
type Sandbox struct {
	options  Options
	report   func() Support
	shapes   func() map[uintptr]shape
	nofile   func() *unix.Rlimit
	coverage func() coverage
	ownView  func() bool
	ownRoot  func() bool
	umask    func() uint32
	own      int      // our process
	filters  sync.Map // policy → []unix.SockFilter, which nobody changes
	rulesets rulesets
	works    works
	networks projectNetworks
	// changes is held by every listener while it makes a change: a folder that is looked through
	// and moved must not get something new meanwhile.
	changes sync.RWMutex
	// listener are the flags that make a listener; set by the probe.
	listener uintptr
}

// New returns a Sandbox. It does nothing yet.
func New(o Options) *Sandbox {
	s := &Sandbox{options: o, shapes: sync.OnceValue(shapes), nofile: sync.OnceValue(originalNofile),
		coverage: sync.OnceValue(tryCoverage), ownView: sync.OnceValue(tryProcesses),
		ownRoot: sync.OnceValue(tryRoot), umask: sync.OnceValue(umask),
		own:      os.Getpid(),
		rulesets: rulesets{calm: time.Second}}
	s.report = sync.OnceValue(s.probe)
	return s
}

// Probe asks the kernel. It changes nothing about this process: what has to be tried is
// tried by a child that does nothing else and ends at once.
func Probe(ctx context.Context) Support { return New(Options{}).Support(ctx) }

// Support is what there is to confine commands with. The kernel is asked once.
func (s *Sandbox) Support(context.Context) Support { return s.report() }

// Levels are the sandboxes that can be had, the closest first; none if there are none.
func (s *Sandbox) Levels() []troupe.Level { return s.report().Levels() }

// filter is made once for each policy.
func (s *Sandbox) filter(p policy) []unix.SockFilter {
	if f, ok := s.filters.Load(p); ok {
		if prog, ok := f.([]unix.SockFilter); ok {
			return prog
		}
	}
	prog := assemble(rules(p))
	s.filters.Store(p, prog)
	return prog
}

func (s *Sandbox) probe() Support {
	r := Support{OS: "linux", Root: os.Geteuid() == 0}
	r.Landlock, r.LandlockNote = landlockVersion()
	if r.Landlock > newestLandlock {
		r.LandlockNote = fmt.Sprintf("the kernel has %d; what that adds is not used", r.Landlock)
		r.Landlock = newestLandlock
	}
	switch most := s.options.Landlock; {
	case most < 0:
		r.Landlock, r.LandlockNote = 0, "switched off for a test"
	case most > 0 && most < r.Landlock:
		r.Landlock, r.LandlockNote = most, "held down for a test"
	}
	r.Filter = hasAction(unix.SECCOMP_RET_ERRNO)
	r.Notify, r.NotifyNote = s.tryNotify()
	if s.options.NoNotify {
		r.Notify, r.NotifyNote = false, "switched off for a test"
	}
	r.Namespaces, r.NamespacesNote = tryNamespaces()
	if s.options.NoNamespaces {
		r.Namespaces, r.NamespacesNote = false, "switched off for a test"
	}
	return r
}

func hasAction(a uint32) bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&a)))
	return errno == 0
}

// exits lets a child end well instead of becoming a program.
func (b *birth) exits() { b.call("end", unix.SYS_EXIT, 0) }

// tried makes a child that only shows whether it can.
func tried(b *birth, namespaces uintptr) error {
	b.exits()
	p, err := b.run(namespaces)
	if b.listener >= 0 {
		_ = unix.Close(b.listener)
	}
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

// tryNotify makes a filter that reports nothing. A process has one listener at most, so inside
// of some containers, and of our own sandbox, there can be no other.
func (s *Sandbox) tryNotify() (ok bool, why string) {
	try := func(flags uintptr) error {
		b := newBirth()
		b.call("give up gaining privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
		b.filter([]unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: uint32(pass)}}, flags)
		return tried(b, 0)
	}
	// Where only a signal that kills ends the wait for an answer, a call that we have answered
	// is never made again. Before Linux 5.19 it can be.
	s.listener = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	err := try(s.listener)
	if errors.Is(err, unix.EINVAL) {
		s.listener = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
		err = try(s.listener)
	}
	switch {
	case err == nil:
		return true, ""
	case errors.Is(err, unix.EBUSY):
		return false, "this process is itself watched in this way, and a process can be only once"
	default:
		return false, err.Error()
	}
}

// tryNamespaces makes a child in new namespaces and mounts there: some systems let anybody
// make a namespace and then forbid its use.
func tryNamespaces() (ok bool, why string) {
	b := newBirth()
	flags := b.namespaces()
	// In a user namespace a folder can be bound only with all that is mounted below it, so
	// what is bound here is one that nobody else can have mounted anything in.
	b.private("/tmp")
	tmp := b.text("/tmp")
	b.call("bind /tmp", unix.SYS_MOUNT, tmp, tmp, 0, unix.MS_BIND, 0)
	err := tried(b, flags)
	if err != nil {
		if why := forbiddenBy(os.ReadFile); why != "" {
			return false, why
		}
		return false, err.Error()
	}
	return true, ""
}

// forbiddenBy names the setting that explains a refusal, if one does.
func forbiddenBy(read func(string) ([]byte, error)) string {
	for _, s := range []struct{ file, value, name string }{
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone"},
		{"/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns"},
	} {
		if data, err := read(s.file); err == nil && strings.TrimSpace(string(data)) == s.value {
			return "forbidden by sysctl " + s.name + "=" + s.value
		}
	}
	return ""
}
